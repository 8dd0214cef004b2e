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

// Whether the pattern of `.python("...")` means the file: its whole path, the end of it, or a module's name.
bool is_python_file(const std::string& pattern, const std::string& path);

} // namespace sonde
