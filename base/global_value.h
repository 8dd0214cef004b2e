// The value that -G gives a global: a text, and if possible a number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace sonde {

// Both readings of the value.
struct GlobalValue {
    std::optional<int64_t> number; // in the language's syntax, with an optional sign; up to 2^64 - 1, which becomes -1
    std::string text;              // the first max_string - 1 bytes of the value
    size_t given = 0;              // length of the value in bytes
};

// `max_string`: MAXSTRINGLEN.
GlobalValue read_global_value(const std::string& given, uint64_t max_string);

// The value for a global that is a number. Errors: the value is not a number.
Result<int64_t> number_of_global(const std::string& name, const GlobalValue& value);

// A message if the global's text was truncated; otherwise empty.
std::string cut_of_global(const std::string& name, const GlobalValue& value);

} // namespace sonde
