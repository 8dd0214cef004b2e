// Parses the value of -G.
//
// Whether the value is a number depends on the global's type, which is not known yet. So both forms are kept. The text
// is cut at MAXSTRINGLEN - 1 bytes as all strings are, and the user gets a message about that.
#include "base/global_value.h"

#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

namespace sonde {

GlobalValue read_global_value(const std::string& given, uint64_t max_string) {
    GlobalValue out;
    out.text = given.substr(0, max_string - 1);
    out.given = given.size();
    const bool is_negative = given.starts_with('-');
    char* end = nullptr;
    errno = 0;
    const uint64_t number = is_negative ? static_cast<uint64_t>(std::strtoll(given.c_str(), &end, 0))
                                        : std::strtoull(given.c_str(), &end, 0);
    // strtoull would skip blanks.
    if (!given.empty() && !*end && errno == 0 && (is_negative || (given[0] >= '0' && given[0] <= '9')))
        out.number = static_cast<int64_t>(number);
    return out;
}

Result<int64_t> number_of_global(const std::string& name, const GlobalValue& value) {
    if (value.number)
        return *value.number;
    return Error(
        fmt::format("-G {}={}: `{}` is a number, but `{}` is not a number", name, value.text, name, value.text));
}

std::string cut_of_global(const std::string& name, const GlobalValue& value) {
    if (value.given == value.text.size())
        return "";
    return fmt::format("-G {}: the text has {} bytes, and sonde keeps only the first {}; use a larger -D MAXSTRINGLEN",
                       name, value.given, value.text.size());
}

} // namespace sonde
