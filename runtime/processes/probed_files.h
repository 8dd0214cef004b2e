// The files that a plan probes, held open from the check until the session ends.
//
// Offsets mean something in one build of a file only: a breakpoint at an old build's offset lands inside an instruction
// or in another function. So each file is opened once, compared with what the plan says of it (plan::ProbedFile), and
// attached to through that same descriptor, whatever its name leads to by then.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "runtime/plan/plan.h"

namespace sonde {

class ProbedFiles {
  public:
    // Opens and compares all of them. `saved_as` is the name of the saved plan; empty: the script was translated just
    // now. Errors name the file, what the plan was made for, what is there, and how to go on.
    static Result<ProbedFiles> open(const plan::Plan& plan, const std::string& saved_as);

    // The name by which the kernel finds the very file that was compared.
    std::string attach_name(const std::string& path) const;

    // The descriptor of a file that was compared; -1: the plan does not probe it.
    int fd(const std::string& path) const;

    // After everything is attached: an error if a file has been written to or replaced since it was compared.
    Result<void> compare_again();

    // Now and then: what has happened to files since the last call, in words; empty: nothing. Each is told of once.
    std::vector<std::string> notice_changes();

  private:
    struct Held {
        const plan::ProbedFile* file; // of the plan
        Fd fd;
        struct stat status; // when it was compared
        bool told = false;
    };
    std::vector<Held> held_;
};

} // namespace sonde
