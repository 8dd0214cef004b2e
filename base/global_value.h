// What -G gives a global: a text, and the number that it is, if it is one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace sonde {

struct GlobalValue {
    std::optional<int64_t> number; // as the language writes numbers, with a sign too; up to 2^64 - 1, which is -1
    std::string text;              // at most max_string - 1 bytes of what was given
    size_t given = 0;              // bytes that were
};

// `max_string` is MAXSTRINGLEN.
GlobalValue read_global_value(const std::string& given, uint64_t max_string);

// Of a global that is a number. Error: the value is none, in words.
Result<int64_t> number_of_global(const std::string& name, const GlobalValue& value);

// That the text of a global was cut, in words; empty if it was not.
std::string cut_of_global(const std::string& name, const GlobalValue& value);

} // namespace sonde
