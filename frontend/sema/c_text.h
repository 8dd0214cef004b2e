// What a text in C says to the analysis, which does not parse C: its names, its pragmas, what it declares elsewhere.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

struct CNames {
    struct Use {
        size_t at = 0;        // of the first one, in the text
        size_t arguments = 0; // in the parentheses after it
    };

    std::map<std::string, Use> uses;
    std::map<std::string, size_t> pragmas; // comments such as `pure` and `pragma:read:x`, and where they stand
    std::set<std::string> externs;         // variables that are declared `extern`

    bool has(const std::string& name) const { return uses.contains(name); }
    bool has_pragma(const std::string& name) const { return pragmas.contains(name); }
};

CNames scan_c(std::string_view text);

struct CCallee {
    std::string function; // of the script or the library
    size_t arguments;
};
// The library's functions that the prelude for C (codegen/c/prelude.cc) needs for these names.
std::vector<CCallee> library_callees(const CNames& names);
// All functions of the script and the library that are called by these names.
std::vector<CCallee> c_callees(const CNames& names);
// Of the kernel: those that are declared, and what the prelude needs for these names.
std::set<std::string> kernel_variables(const CNames& names);

} // namespace sonde
