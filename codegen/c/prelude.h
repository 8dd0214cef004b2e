// What every text in C begins with: macros and small functions by the names that the kernel has for them.
#pragma once

namespace sonde {

// Integer types; they stand before the kernel's own, which may say the same again.
extern const char* const c_basic_types;
// Everything else; stands after the kernel's types. Needs MAXSTRINGLEN.
extern const char* const c_prelude;

} // namespace sonde
