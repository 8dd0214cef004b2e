// Whether the processes that run a probed file have in memory what the file has.
//
// A program's code belongs to others too: hot patches and instrumentation (frida, XRay) replace instructions, a
// debugger puts breakpoints, and some programs move their code to large pages. The kernel puts its own breakpoint over
// whatever is there, and the file's byte when the probe goes: the patch would be undone for good, and nothing would
// tell. So each place is compared before it is armed, in every process that has the file mapped, as breakpoints are for
// all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/processes/probed_files.h"

namespace sonde {

// Places by file; they must not be armed.
using LeftOut = std::map<std::string, std::set<uint64_t>>;

struct MemoryCheck {
    LeftOut changed;
    std::string first_change; // the first of these: the place, the process, the bytes
    // Processes that run a copy of a file's code in memory of their own, where no breakpoint goes, with the file.
    std::map<int64_t, std::string> moved;
    // Processes that this user may not look at.
    uint64_t hidden = 0;

    size_t changes() const;
};

// `stop`: asked between processes; true ends the check.
MemoryCheck check_memory_of_processes(const plan::Plan& plan, const ProbedFiles& files,
                                      const std::function<bool()>& stop);

} // namespace sonde
