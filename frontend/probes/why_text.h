// Describes locations in words. Private to why*.cc.
#pragma once

#include <string>

#include "arch/registers.h"
#include "frontend/machine/location.h"

namespace sonde {

// Returns "in the register rdi" (by the names of the program's architecture), "in memory, on the stack (rsp+24)" or
// "nowhere: optimized out".
std::string location_text(const Location& location, const RegisterFile& registers);
// Whether a handler can read the variable at this location.
bool is_there(const Location& location);

} // namespace sonde
