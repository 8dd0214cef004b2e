// Preprocessor lines in scripts of bpftrace and DTrace: names for values, and conditional parts.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace sonde::bridge {

struct Preprocessed {
    std::string text;                          // as long as the original; processed lines are blank
    std::map<std::string, std::string> values; // of `#define NAME VALUE`
};

// Processes the preprocessor lines of a script. A condition that cannot be evaluated remains, with its first branch.
// Macros with parameters, #include and #pragma remain, too.
Preprocessed preprocess(std::string_view text);

} // namespace sonde::bridge
