// Where the kernel has what a script reads by its symbol.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "runtime/plan/plan.h"

namespace sonde {

// The address of each symbol that a global of the plan holds the address of, from /proc/kallsyms; of a symbol that
// several things have, that of the first one. Errors: the kernel does not have or show one.
Result<std::map<std::string, uint64_t>> find_addresses(const plan::Plan& plan);

} // namespace sonde
