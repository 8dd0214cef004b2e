// Explains probe points that were never hit. A script that prints nothing must not look like a program that does
// nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/engine/session_options.h"
#include "runtime/plan/counts.h"
#include "runtime/plan/plan.h"
#include "runtime/processes/target_files.h"

namespace sonde {

// Reads the marks that handlers in the kernel set when they run (plan::Mark).
class Marks {
  public:
    Marks(const plan::Plan& plan, const char* data) : plan_(plan), data_(data) {}
    bool has(plan::Mark what, uint64_t index) const {
        return plan_.marks && index < plan_.marks_size() &&
               data_[plan_.marks + static_cast<uint64_t>(what) * plan_.marks_size() + index];
    }

  private:
    const plan::Plan& plan_;
    const char* data_;
};

// Returns the inodes of the probed files, by path; 0: the file does not exist. Call it when the probes are armed: a
// file may be replaced later.
std::map<std::string, uint64_t> probed_inodes(const plan::Plan& plan);

// The facts that an explanation is based on.
struct UnhitContext {
    const plan::Plan& plan;
    const Marks marks;
    const TargetFiles& files;
    const std::map<std::string, uint64_t>& inodes; // result of probed_inodes()
    std::string target;                            // "the command", "process 42"; "a process" without a target
    bool everybody;                                // no target: `files` has the files of all current processes
    std::string program;                           // the first program of the target; empty: unknown
    const UnhitFacts& translation;
};

// Returns a line for each point of the script that was never hit, in the order of the script: "POINT (PLACE) was never
// hit: REASON". Ignores points of the session itself, such as begin and timers.
std::vector<std::string> explain_unhit(const UnhitContext& context);
// True if any event was hit.
bool any_hit(const plan::Plan& plan, const Marks& marks);

} // namespace sonde
