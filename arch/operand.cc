#include "arch/operand.h"

#include <charconv>

namespace sonde {

std::optional<int64_t> take_number(std::string_view& text) {
    std::string_view rest = text;
    bool negative = !rest.empty() && rest[0] == '-';
    if (negative || (!rest.empty() && rest[0] == '+'))
        rest.remove_prefix(1);
    int base = 10;
    if (rest.starts_with("0x") || rest.starts_with("0X")) {
        base = 16;
        rest.remove_prefix(2);
    }
    uint64_t value = 0;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
    if (error != std::errc())
        return std::nullopt;
    text = rest.substr(static_cast<size_t>(end - rest.data()));
    return static_cast<int64_t>(negative ? 0 - value : value);
}

} // namespace sonde
