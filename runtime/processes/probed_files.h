// Keeps the files that a plan probes open, from the first check until the session ends.
//
// The problem: an offset is valid in one build of a file only. A breakpoint at an offset of an old build can be in the
// middle of an instruction, or in another function. And a path can refer to a new file at any time, for example during
// a package update.
//
// The idea: open each file once, compare it with the plan (plan::ProbedFile), and attach through the same descriptor.
// Then it does not matter if the path refers to another file later.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "runtime/plan/plan.h"

namespace sonde {

// The result refers to the plan, so the plan must outlive it.
class ProbedFiles {
  public:
    // Opens all files and compares them with the plan. `saved_as` is the name of the saved plan, or empty if the script
    // was translated just now. Errors name the file, the build that the plan expects, the build that was found, and a
    // solution.
    static Result<ProbedFiles> open(const plan::Plan& plan, const std::string& saved_as);

    // Returns a path by which the kernel opens the very file that was compared (/proc/self/fd/N).
    std::string attach_name(const std::string& path) const;

    // Returns the descriptor of a compared file, or -1 if the plan does not probe the file.
    int fd(const std::string& path) const;

    // Call this after all probes are attached. Returns an error if a file was modified or replaced since it was
    // compared.
    Result<void> compare_again();

    // Returns messages about files that were modified, replaced or removed since the last call. Reports each file once.
    std::vector<std::string> notice_changes();

  private:
    struct Held {
        const plan::ProbedFile* file; // in the plan
        Fd fd;
        struct stat status;           // when the file was compared
        std::optional<uint64_t> hash; // of the contents at that time; nullopt for large files
        bool told = false;
    };
    static bool only_time_changed(Held& held, const struct stat& now);
    std::vector<Held> held_;
};

} // namespace sonde
