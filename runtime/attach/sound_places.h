// Where the plan's breakpoints go on the running kernel: an instruction that the kernel's uprobes would execute wrongly
// is not probed. Either another one has the same to show, or the point is refused.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/result.h"
#include "runtime/plan/plan.h"

namespace sonde {

class SoundPlaces {
  public:
    // Tries the instructions of the plan that may be executed wrongly (instruction_trial.h), and warns of the points
    // that are left out: of a pattern, or because the kernel refuses them. Errors: a probe at a point that is named by
    // itself, or at all of a pattern's, would change the program; no point is left.
    static Result<SoundPlaces> find(const plan::Plan& plan);

    // The offset at which an offset of the plan's file is probed; nullopt: nowhere.
    std::optional<uint64_t> place_of(const std::string& path, uint64_t offset) const;
    // Whether all that the probe needs for the point can be attached: the point itself, and its entry.
    bool can_attach(const plan::Probe& probe, const plan::Point& point) const;

  private:
    const plan::ProbedCode* unsound_at(const std::string& path, uint64_t offset) const;
    const plan::ProbedCode* why_not(const plan::Probe& probe, const plan::Point& point) const;
    Result<void> report(const plan::Plan& plan) const;

    // Only the places that cannot be probed as they are. They belong to the plan.
    std::map<std::pair<std::string, uint64_t>, const plan::ProbedCode*> unsound_;
};

} // namespace sonde
