// Programs of the target that move their code to other memory while they are probed: `node --use-largepages`, hugify
// and the like. The copy has the breakpoints and no uprobe behind them.
//
// The process is stopped where the copy is about to run (codegen/rtlib/moved.bpf.c), the instructions are put back into
// it, and it goes on. Its hits are not seen from there on, which is said. SIGSTOP is seen by a parent that asks for
// stops; the program would be ended by SIGTRAP otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/attach/attach.h"
#include "runtime/load/load.h"
#include "runtime/plan/plan.h"
#include "runtime/processes/probed_files.h"

namespace sonde {

class MovedText {
  public:
    // `program`: the file that the process runs or will run; empty: nothing is known of it, and nothing is followed.
    // Errors: the kernel refuses the places.
    static Result<std::unique_ptr<MovedText>> start(const plan::Plan& plan, const KernelObject& kernel,
                                                    const ProbedFiles& files, const std::string& program,
                                                    int64_t process, bool uprobe_multi);
    // Each turn of the session.
    void look();

  private:
    MovedText(const plan::Plan& plan, const KernelObject& kernel, const ProbedFiles& files)
        : plan_(plan), kernel_(kernel), files_(files) {}
    // Gives how many instructions were put back.
    size_t mend(int64_t process, uint64_t code, uint64_t from, uint64_t size, uint64_t to) const;

    const plan::Plan& plan_;
    const KernelObject& kernel_;
    const ProbedFiles& files_;
    Attachments places_;
};

} // namespace sonde
