// What a script writes to choose functions and statements: the string argument of .function() and .statement().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde {

// "f@dir/file.c:12", "f@file.c:10-20", "f@file.c+3", "f@file.c:*", "ns::f(int, char*)".
struct FunctionPattern {
    std::string function = "*"; // glob
    // Between the parentheses, and what stands after them ("int) const"), as C++ writes it; empty without parentheses.
    std::string parameters;
    std::string file; // glob, matched against the path's end at a `/` border; empty: any
    enum LineKind { None, Absolute, Relative, LineRange, Wildcard } line_kind = None;
    int line = 0;
    int line_end = 0;

    // Errors: what is wrong with the text. Lines and ranges separated by commas are several patterns.
    static Result<FunctionPattern> parse(std::string_view text);
    static Result<std::vector<FunctionPattern>> parse_list(std::string_view text);
};

// Whether `path` ends in something that matches `pattern`, beginning at its start or after a `/`. Empty matches all.
bool file_matches(const std::string& pattern, std::string_view path);

} // namespace sonde
