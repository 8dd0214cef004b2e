// Extracts facts from C code without parsing C: names, pragmas and `extern` declarations.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// The names in a C text.
struct CNames {
    // A name, at its first use.
    struct Use {
        size_t at = 0;        // offset of the first use in the text
        size_t arguments = 0; // number of arguments in the parentheses after the first use
    };

    std::map<std::string, Use> uses;
    std::map<std::string, size_t> pragmas; // comments such as `pure` and `pragma:read:x`, with their offsets
    std::set<std::string> externs;         // variables that the text declares `extern`

    bool has(const std::string& name) const { return uses.contains(name); }
    bool has_pragma(const std::string& name) const { return pragmas.contains(name); }
};

// Scans a text. Never fails; unknown syntax is skipped.
CNames scan_c(std::string_view text);

// A function that the C code calls.
struct CCallee {
    std::string function; // name of a function of the script or the library
    size_t arguments;
};
// Returns the library functions that the prelude for C (codegen/c/headers/prelude.h) needs for these names.
std::vector<CCallee> library_callees(const CNames& names);
// Returns all functions of the script and the library that the code calls by these names.
std::vector<CCallee> c_callees(const CNames& names);
// Returns the kernel variables that the code declares, and those that the prelude needs for these names.
std::set<std::string> kernel_variables(const CNames& names);

} // namespace sonde
