#include "runtime/values/shown_value.h"

#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace sonde {
namespace {

constexpr std::string_view dots = "...";

// The size of the part in quotes, with the quotes; 0 if the text is not a string. `"a"...` was cut.
size_t size_in_quotes(std::string_view text) {
    const size_t size = text.ends_with(dots) && text.size() > dots.size() + 1 ? text.size() - dots.size() : text.size();
    return size >= 2 && text.front() == '"' && text[size - 1] == '"' ? size : 0;
}

void append_utf8(std::string& out, uint32_t code) {
    const auto more = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
    if (code < 0x80)
        return out.push_back(static_cast<char>(code));
    if (code < 0x800) {
        out += static_cast<char>(0xc0 | code >> 6);
    } else if (code < 0x10000) {
        out += static_cast<char>(0xe0 | code >> 12);
        more(6);
    } else {
        out += static_cast<char>(0xf0 | code >> 18);
        more(12);
        more(6);
    }
    more(0);
}

// Reads digits of the base: at least one and at most `most`.
std::optional<uint32_t> read_digits(std::string_view text, size_t& at, size_t most, int base) {
    const std::string_view digits = text.substr(at, most);
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
    if (error != std::errc())
        return {};
    at += static_cast<size_t>(end - digits.data());
    return number;
}

// Replaces the escape sequences of C by their characters.
std::string without_escapes(std::string_view text) {
    static constexpr std::string_view letters = "ntrabvf", characters = "\n\t\r\a\b\v\f";
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const char c = text[at++];
        if (c != '\\' || at == text.size()) {
            out += c;
            continue;
        }
        const char next = text[at];
        if (next == 'u' || next == 'U') {
            size_t behind = at + 1;
            if (const std::optional<uint32_t> code = read_digits(text, behind, next == 'u' ? 4 : 8, 16)) {
                append_utf8(out, *code);
                at = behind;
                continue;
            }
        }
        if (const std::optional<uint32_t> byte = read_digits(text, at, 3, 8)) {
            out += static_cast<char>(*byte);
            continue;
        }
        const size_t letter = letters.find(next);
        out += letter == std::string_view::npos ? next : characters[letter];
        at++;
    }
    return out;
}

// Reads a number without rest. from_chars() also accepts `inf` and `nan`, which JSON does not have.
template <typename Number> std::optional<Number> read_whole(const std::string& text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

} // namespace

std::string unquoted_value(std::string text) {
    const size_t size = size_in_quotes(text);
    return size == 0 ? std::move(text) : text.substr(1, size - 2) + text.substr(size);
}

Json shown_value_json(const std::string& text) {
    if (const size_t size = size_in_quotes(text))
        return without_escapes(std::string_view(text).substr(1, size - 2)) + text.substr(size);
    if (text == "true" || text == "false")
        return text == "true";
    const char last = text.empty() ? 'x' : text.back(), first = text.size() > 1 && text[0] == '-' ? text[1] : text[0];
    if (!isdigit(static_cast<unsigned char>(last)) || !isdigit(static_cast<unsigned char>(first)))
        return text;
    if (const std::optional<int64_t> number = read_whole<int64_t>(text))
        return *number;
    if (const std::optional<uint64_t> number = read_whole<uint64_t>(text))
        return *number;
    // An integer of 128 bits would lose digits.
    const std::optional<double> number = text.find('.') == std::string::npos ? std::nullopt : read_whole<double>(text);
    return number ? Json(*number) : Json(text);
}

} // namespace sonde
