// Points that were never hit, each with the reason that the session can show: a script that prints nothing must not
// look like a program that does nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/processes/target_files.h"

namespace sonde {

// The marks of handlers in the kernel (plan::Mark).
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

// The probed files as they were when the probes were armed, by path: their inodes, 0 for what is not there.
std::map<std::string, uint64_t> probed_inodes(const plan::Plan& plan);

struct UnhitContext {
    const plan::Plan& plan;
    const Marks marks;
    const TargetFiles& files;
    const std::map<std::string, uint64_t>& inodes; // probed_inodes()
    std::string target;                            // "the command", "process 42", "a process" of all
    bool everybody;                                // the session looks at all processes; `files` is what they have now
    std::string program;                           // that it begins with; empty: not known
    // How many inlined copies a function of a file has that its points are not in; null: nobody knows.
    std::function<uint64_t(const plan::Point&)> inlined_copies;
};

// A line for each point, as the script has it, that nothing has hit, in the script's order: "POINT (PLACE) was never
// hit: REASON". Empty if all were. Points of what the session itself runs (begin, timers ...) are none.
std::vector<std::string> explain_unhit(const UnhitContext& context);
// Whether some event was hit.
bool any_hit(const plan::Plan& plan, const Marks& marks);

} // namespace sonde
