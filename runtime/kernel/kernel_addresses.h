// Finds the addresses of kernel symbols that a script reads.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "runtime/plan/plan.h"

namespace sonde {

// Returns the addresses of all symbols that the plan's globals refer to (Global::address_of), from /proc/kallsyms. If
// several symbols have one name, returns the first. Returns an error if the kernel has no such symbol, or shows no
// addresses to this user.
Result<std::map<std::string, uint64_t>> find_addresses(const plan::Plan& plan);

} // namespace sonde
