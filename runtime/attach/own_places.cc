#include "runtime/attach/own_places.h"

#include "arch/architecture.h"
#include "runtime/attach/instruction_trial.h"

namespace sonde {

bool is_sound(std::string_view code) {
    const Hazard hazard = host_architecture().hazard(code);
    return hazard == Hazard::None || (is_tried_out(hazard) && !try_hazards({hazard}).contains(hazard));
}

std::optional<size_t> first_sound(std::string_view code) {
    const Architecture& architecture = host_architecture();
    for (size_t at = 0;;) {
        const std::optional<Instruction> found = architecture.decode(code.substr(at));
        if (!found)
            return std::nullopt;
        if (architecture.hazard(code.substr(at)) == Hazard::None)
            return at;
        if (found->flow != Flow::Next)
            return std::nullopt;
        at += found->length;
    }
}

} // namespace sonde
