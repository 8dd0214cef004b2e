// The pattern that selects functions or statements in a script: the string argument of .function() and .statement().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde {

// Examples: "f@dir/file.c:12", "f@file.c:10-20", "f@file.c+3", "f@file.c:*", "ns::f(int, char*)".
struct FunctionPattern {
    std::string function = "*"; // a pattern
    // The text between and after the parentheses in C++ syntax, such as "int) const"; "" without parentheses.
    std::string parameters;
    std::string file; // a pattern for the end of the path, beginning at a `/`; "" matches all files
    enum LineKind { None, Absolute, Relative, LineRange, Wildcard } line_kind = None;
    int line = 0;
    int line_end = 0;

    // Parses a pattern. Fails with the reason. parse_list() accepts lines and ranges separated by commas, which give
    // several patterns.
    static Result<FunctionPattern> parse(std::string_view text);
    static Result<std::vector<FunctionPattern>> parse_list(std::string_view text);
};

// Whether an end of `path` (the whole path, or the part after a `/`) matches `pattern`. An empty pattern matches all.
bool file_matches(const std::string& pattern, std::string_view path);

} // namespace sonde
