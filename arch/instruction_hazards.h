// Classes of instructions that a kernel's uprobes may execute wrongly, which would change the traced program.
//
// The kernel attaches to them without an error. So translation determines the class of each probed instruction
// (Architecture::hazard()), and the session tests samples of the class on the running kernel before it attaches.
// docs/kernels.md, "Instructions that cannot be probed", has the measured table.
#pragma once

#include <cstdint>

namespace sonde {

// The classes that each architecture has. The numbers of an architecture's own classes follow
// (Architecture::hazards()); only its folder has names for them.
enum class Hazard : uint8_t {
#define HAZARD(id, trial, effect, place, text) id,
#include "arch/instruction_hazards.def"
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

} // namespace sonde
