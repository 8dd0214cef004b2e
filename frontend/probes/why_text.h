// Locations in words. Private to why*.cc.
#pragma once

#include <string>

#include "frontend/types/location.h"

namespace sonde {

// "in the register rdi", "in memory, on the stack (rsp+24)", "nowhere: optimized out"
std::string location_text(const Location& location);
bool is_there(const Location& location);

} // namespace sonde
