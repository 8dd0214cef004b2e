// Checks whether the breakpoints of armed probes are in the memory of a process.
//
// The problem: the kernel sets a probe's breakpoints when a file is mapped, and when the probe is attached. Afterwards
// a process can lose them: it drops a page of its code (MADV_DONTNEED), and the kernel reads the page from the file
// again, without breakpoints. And the kernel sets no breakpoints in some mappings: in those that are shared, and in
// those that are writable at that moment (measured on 6.1, 6.18 and 7.2).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/process_maps.h"
#include "runtime/plan/plan.h"
#include "runtime/processes/memory_check.h"
#include "runtime/processes/probed_files.h"

namespace sonde {

// File offsets of instructions with a uprobe, by path.
using ArmedPlaces = std::map<std::string, std::set<uint64_t>>;

// The result for one process.
struct BreakpointCheck {
    ArmedPlaces lost; // places without a breakpoint, in mappings where the kernel sets breakpoints
    std::optional<UnprobedMapping> unprobed; // in which the kernel sets none
    bool maps_files = false;                 // it maps one of the files
};

class BreakpointChecker {
  public:
    // Only files of the plan are checked. `files` must outlive the result.
    BreakpointChecker(const plan::Plan& plan, const ProbedFiles& files);
    // Checks the mappings that overlap [from, to).
    BreakpointCheck check(int64_t process, const ArmedPlaces& armed, uint64_t from = 0, uint64_t to = UINT64_MAX) const;
    // Whether the mapping is of a file of the plan.
    bool is_probed_file(const ProcessMapping& mapping) const {
        return paths_.contains({mapping.device, mapping.inode});
    }

  private:
    std::map<std::pair<uint64_t, uint64_t>, std::string> paths_; // by device and inode
    std::set<uint64_t> inodes_;
};

} // namespace sonde
