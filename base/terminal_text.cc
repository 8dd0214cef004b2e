// Makes text from other programs safe for a terminal.
//
// A traced program controls the strings that a script prints: names of files, arguments, requests. On a terminal, such
// a string could move the cursor, change the title, or on some terminals insert input. All of these begin with a
// control character. C0 are the bytes below 0x20. C1 are the code points U+0080 to U+009F, which some terminals
// interpret as well. Bytes that are not UTF-8 are also escaped, because a terminal may interpret 0x9b as the beginning
// of a command.
#include "base/terminal_text.h"

#include <locale.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

#include <algorithm>

#include <fmt/format.h>

namespace sonde {

bool is_capable_terminal(int fd) {
    const char* kind = getenv("TERM");
    return isatty(fd) == 1 && kind && *kind && std::string_view(kind) != "dumb";
}

size_t utf8_length(std::string_view text) {
    auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    unsigned char first = byte(0);
    size_t length = first < 0x80                    ? 1
                    : first >= 0xc2 && first < 0xe0 ? 2
                    : first >= 0xe0 && first < 0xf0 ? 3
                    : first >= 0xf0 && first < 0xf5 ? 4
                                                    : 0;
    if (length > text.size())
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((byte(i) & 0xc0) != 0x80)
            return 0;
    // Reject overlong forms, surrogates, and numbers above U+10FFFF.
    if (length > 2 && ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) ||
                       (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90)))
        return 0;
    return length;
}

namespace {

// The code point of the UTF-8 character.
char32_t character_number(std::string_view text) {
    const auto first = static_cast<unsigned char>(text[0]);
    if (text.size() == 1)
        return first;
    char32_t out = first & (0x7f >> text.size());
    for (const char byte : text.substr(1))
        out = out << 6 | (static_cast<unsigned char>(byte) & 0x3f);
    return out;
}

// The number of columns according to the C library: 0 for combining marks, 2 for most Chinese, Japanese and Korean
// characters and for pictographs, otherwise 1. Also 1 if the C library lacks the locale.
size_t character_width(char32_t character) {
    static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (!locale)
        return 1;
    const locale_t before = uselocale(locale);
    const int width = wcwidth(static_cast<wchar_t>(character));
    uselocale(before);
    return width < 0 ? 1 : static_cast<size_t>(width);
}

} // namespace

size_t text_width(std::string_view text) {
    size_t out = 0;
    while (!text.empty()) {
        const size_t length = utf8_length(text);
        out += length ? character_width(character_number(text.substr(0, length))) : 1;
        text.remove_prefix(std::max<size_t>(length, 1));
    }
    return out;
}

std::string terminal_text(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto first = static_cast<unsigned char>(text[0]);
        const size_t length = utf8_length(text);
        const bool is_c0 = (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
        const bool is_c1 = length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
        const size_t taken = std::max<size_t>(length, 1);
        if (length && !is_c0 && !is_c1)
            out += text.substr(0, taken);
        else
            for (char byte : text.substr(0, taken))
                out += fmt::format("\\{:03o}", static_cast<unsigned char>(byte));
        text.remove_prefix(taken);
    }
    return out;
}

} // namespace sonde
