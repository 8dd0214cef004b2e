// Handles traced programs that move their code to other memory, such as `node --use-largepages` or programs with
// hugify.
//
// The problem: the program copies its code, including the breakpoints of our uprobes, to large pages. The kernel has no
// uprobe for the copy's addresses. So the first breakpoint in the copy would end the program with SIGTRAP.
//
// The idea: a BPF program at mprotect() and mremap() holds the process in its handler before the copy can run
// (codegen/rtlib/moved.bpf.c). The session writes the original instructions into the copy, warns that it no longer sees
// hits there, and lets the process continue.
//
// Limits: if the session does not answer within a second, for example because it is stopped itself, the process gets
// SIGSTOP, which a parent can see (WUNTRACED), and SIGCONT later. Only the main program is followed, because shared
// libraries do not move their code.
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

// Follows the session's target process.
class MovedText {
  public:
    // Attaches to mprotect() and mremap() in the program and its libraries. `program` is the file that `process` runs
    // or will run. If it is empty or not probed, the result follows nothing. `uprobe_multi` selects the kind of link.
    // Returns an error if the kernel refuses the breakpoints. The references must outlive the result.
    static Result<std::unique_ptr<MovedText>> start(const plan::Plan& plan, const KernelObject& kernel,
                                                    const ProbedFiles& files, const std::string& program,
                                                    int64_t process, bool uprobe_multi);
    // Repairs the processes that wait now. The session calls this in each iteration of its loop.
    void look();

  private:
    MovedText(const plan::Plan& plan, const KernelObject& kernel, const ProbedFiles& files)
        : plan_(plan), kernel_(kernel), files_(files) {}
    // Restores the original instructions in a copy of `size` bytes at `from`, which will run at `to`. `code` is the
    // address at which the program's code begins. Returns the number of restored instructions.
    size_t mend(int64_t process, uint64_t code, uint64_t from, uint64_t size, uint64_t to) const;

    const plan::Plan& plan_;
    const KernelObject& kernel_;
    const ProbedFiles& files_;
    Attachments places_;
};

} // namespace sonde
