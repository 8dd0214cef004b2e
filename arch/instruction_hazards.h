// Classes of instructions that a kernel's uprobes may execute wrongly, which would change the traced program.
//
// The kernel attaches to them without an error. So translation determines the class of each probed instruction
// (Architecture::hazard()), and the session tests samples of the class on the running kernel before it attaches.
// docs/kernels.md, "Instructions that cannot be probed", has the measured table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde {

enum class Hazard : uint8_t {
    None,
#define HAZARD(id, trial, effect, place, text) id,
#include "arch/all_hazards.def"
#undef HAZARD
};

enum class HazardTrial : uint8_t { Certain, TriedOut };
enum class HazardEffect : uint8_t { Changes, Refused };
enum class HazardPlace : uint8_t { Anywhere, BehindEntries };

// Facts about a class. `text` continues "the instruction there".
struct HazardTraits {
    const char* name;
    HazardTrial trial;
    HazardEffect effect;
    HazardPlace place;
    const char* text;
};

inline constexpr HazardTraits hazard_traits[] = {
    {"None", HazardTrial::TriedOut, HazardEffect::Changes, HazardPlace::Anywhere, "is safe"},
#define HAZARD(id, trial, effect, place, text)                                                                         \
    {#id, HazardTrial::trial, HazardEffect::effect, HazardPlace::place, text},
#include "arch/all_hazards.def"
#undef HAZARD
};
inline constexpr size_t hazard_count = sizeof hazard_traits / sizeof *hazard_traits;

constexpr const HazardTraits& traits_of(Hazard hazard) { return hazard_traits[static_cast<size_t>(hazard)]; }
// Whether the session can test that the running kernel executes such instructions correctly.
constexpr bool is_tried_out(Hazard hazard) { return traits_of(hazard).trial == HazardTrial::TriedOut; }

} // namespace sonde
