// What every text in C begins with: macros and small functions by the names that the kernel has for them.
#pragma once

#include <string_view>
#include <vector>

namespace sonde {

// Integer types; they stand before the kernel's own, which may say the same again.
extern const char* const c_basic_types;
// In place of `sizeof`, where that is asked of what may be a string of the script.
constexpr std::string_view c_size_of_string = "sIzEoF";
// Everything else; stands after the kernel's types. Needs MAXSTRINGLEN.
extern const char* const c_prelude;

// What stands after that where one of its names is mentioned.
struct CPart {
    const char* names;      // with blanks between
    const char* words;      // that it needs of the kernel's types (codegen/c/kernel_declarations.h)
    const char* text;       // can call what frontend/sema/c_text.cc finds for these names
    bool is_closed = false; // what it mentions is no reason for another part
};
const std::vector<CPart>& c_parts();

// Of the kernel's headers: lines `#define NAME...`, each of which is there where its name is mentioned, and parts.
extern const char* const c_kernel_macros;
const std::vector<CPart>& c_header_parts();

} // namespace sonde
