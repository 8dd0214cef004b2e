// Functions in the source of a Python program, for listings.
//
// The text is only scanned, not parsed: nesting follows from the indentation, and strings, comments and brackets are
// skipped. So files of any version can be read, also wrong ones. Functions that a program makes while it runs (exec(),
// lambda) are not found.
//
// Source: "The Python Language Reference", 2. "Lexical analysis".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

struct PythonFunction {
    std::string name; // qualified: Order.total, outer.<locals>.inner
    int line = 0;     // of `def`
    std::vector<std::string> parameters;
};

// In the order of the source.
std::vector<PythonFunction> python_functions(std::string_view source);

// The whole paths that the pattern of `.python("...")` means, as patterns of glob_match(). The pattern is a path, the
// end of one, or the name of a module or package: `shop.py` means `/srv/app/shop.py`, and `json` means
// `/lib/json/__init__.py`.
struct PythonFilePattern {
    bool is_any = false;    // every file; the others are empty
    bool is_ending = false; // the patterns can also be ends of paths, after a slash
    std::vector<std::string> paths = {};
};
PythonFilePattern python_file_pattern(const std::string& pattern);

// Whether the pattern of `.python("...")` means the file.
bool is_python_file(const std::string& pattern, const std::string& path);

} // namespace sonde
