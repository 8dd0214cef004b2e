// Lines of the C preprocessor in scripts of bpftrace and DTrace: names for values, and parts that are left out.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace sonde::bridge {

struct Preprocessed {
    std::string text;                          // as long as the original: what is done with is blank
    std::map<std::string, std::string> values; // of `#define NAME VALUE`
};

// Conditions that cannot be decided stay as they are, with their first branch; so do macros with parameters, #include
// and #pragma.
Preprocessed preprocess(std::string_view text);

} // namespace sonde::bridge
