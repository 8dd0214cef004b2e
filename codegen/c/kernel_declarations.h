// The kernel's types as C declarations, as many as a text needs.
#pragma once

#include <set>
#include <string>

#include "base/result.h"

namespace sonde {

// `names`: all identifiers of the text. Declared are the types and enumerators of those names, and to a fixed point the
// types of members of those names, through pointers. Errors: what is wrong with `btf`.
Result<std::string> declare_kernel_types(const std::string& btf, const std::set<std::string>& names);

} // namespace sonde
