#include "arch/system_calls.h"

namespace sonde {

std::span<const SystemCallRow> system_call_rows() {
    static constexpr SystemCallRow rows[] = {
#define CALL(name, parameters, text) {name, parameters, text},
#define NEW_CALL(number, name, parameters, text) {name, parameters, text, number},
#include "arch/system_calls.def"
#undef CALL
#undef NEW_CALL
    };
    return rows;
}

} // namespace sonde
