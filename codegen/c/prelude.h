// Text at the beginning of all C: macros and small functions with the names that the kernel uses.
#pragma once

#include <string_view>
#include <vector>

namespace sonde {

// Integer types. They come before the kernel's types, which may define them again in the same way.
extern const char* const c_basic_types;
// Replaces `sizeof` where the operand may be a string of the script.
constexpr std::string_view c_size_of_string = "sIzEoF";
// Everything else. It comes after the kernel's types and needs MAXSTRINGLEN.
extern const char* const c_prelude;

// A part that follows if the script uses one of its names.
struct CPart {
    const char* names;      // separated by blanks
    const char* words;      // names of kernel types that it uses (codegen/c/kernel_declarations.h)
    const char* text;       // may call the functions that frontend/sema/c_text.cc finds for these names
    bool is_closed = false; // the names that it uses do not select other parts
};
// The parts, in the order in which the text must contain the chosen ones.
const std::vector<CPart>& c_parts();

// Parts of the kernel's headers: lines `#define NAME...`, each included if the script uses NAME, and larger parts.
extern const char* const c_kernel_macros;
const std::vector<CPart>& c_header_parts();

} // namespace sonde
