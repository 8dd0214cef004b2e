// Decides which of the plan's instructions are safe to probe on the running kernel.
//
// The kernel's uprobes execute some instructions incorrectly (arch/instruction_hazards.h). The plan stores the class of
// each probed instruction, and often a replacement: a nearby instruction at which a handler sees the same values. So an
// instruction has one of three outcomes:
//
// * It is safe: sonde probes it.
// * It is not safe, but has a replacement (ProbedCode::instead): sonde probes the replacement.
// * It is not safe and has no replacement: the point is refused. This is an error for a point that the script names,
//   and a warning for one of many points of a pattern.
//
// The decision happens at the start of a session, not during translation: a saved plan may run on another kernel.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/result.h"
#include "runtime/plan/plan.h"

namespace sonde {

// The unsafe instructions of one plan.
class SoundPlaces {
  public:
    // Tests the doubtful classes of instructions (instruction_trial.h), and warns about each pattern that loses points.
    // Returns an error in two cases. A probe that would change the program is an error if the script names the point,
    // or if all points of its pattern are affected. A probe that the kernel would refuse is an error if the plan has no
    // other point left. The result refers to `plan`.
    static Result<SoundPlaces> find(const plan::Plan& plan);

    // Returns the file offset to probe for the instruction at `offset`: `offset` itself or its replacement. Returns
    // nullopt if no instruction is safe.
    std::optional<uint64_t> place_of(const std::string& path, uint64_t offset) const;
    // Returns whether both programs of the probe can be attached: the one at the point, and the one at the function's
    // entry if the probe has one.
    bool can_attach(const plan::Probe& probe, const plan::Point& point) const;

  private:
    // Returns the instruction, or null if it is safe.
    const plan::ProbedCode* unsound_at(const std::string& path, uint64_t offset) const;
    // Returns the instruction because of which the point cannot be probed, or null if it can.
    const plan::ProbedCode* why_not(const plan::Probe& probe, const plan::Point& point) const;
    // Warns about refused points. Returns an error instead if one of them must not be skipped.
    Result<void> report(const plan::Plan& plan) const;

    // Only instructions that are not safe; all others have no entry. The values point into the plan.
    std::map<std::pair<std::string, uint64_t>, const plan::ProbedCode*> unsound_;
};

} // namespace sonde
