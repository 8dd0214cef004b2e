// Compares the probed instructions in the memory of running processes with the file.
//
// The problem: the code in memory may differ from the file. Hot patches and instrumentation (frida, XRay) replace
// instructions, debuggers insert breakpoints, and some programs move their code to large pages. A uprobe overwrites
// whatever is in memory with a breakpoint. When the probe is removed, the kernel restores the file's byte, not the
// patch. The patch is lost, or half of it, and nothing reports this.
//
// The idea: before sonde attaches a probe, it compares its instruction with the memory of every process that maps the
// file, because a uprobe affects all of them. Instructions that differ are not probed.
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

// File offsets by path. These instructions must not be probed.
using LeftOut = std::map<std::string, std::set<uint64_t>>;

// A mapping into which the kernel inserts no breakpoints.
struct UnprobedMapping {
    std::string path; // of a probed file
    bool shared = false;
    // A warning for the user: what is wrong in this process, and what to do.
    std::string text(int64_t process) const;
};

// The result of a check.
struct MemoryCheck {
    LeftOut changed;
    std::string first_change; // a message about the first of them: place, process and bytes
    // Processes that run a copy of a file's code in anonymous memory, which the kernel does not probe. The value is the
    // file.
    std::map<int64_t, std::string> moved;
    // Processes with executable mappings of a file that the kernel does not probe.
    std::map<int64_t, UnprobedMapping> unprobed;
    // The number of processes that this user is not permitted to read.
    uint64_t hidden = 0;

    // The number of places in `changed`.
    size_t changes() const;
};

// Checks all processes except this one. `stop` is called before each process and ends the check by returning true.
MemoryCheck check_memory_of_processes(const plan::Plan& plan, const ProbedFiles& files,
                                      const std::function<bool()>& stop);

} // namespace sonde
