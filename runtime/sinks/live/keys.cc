#include "runtime/sinks/live/keys.h"

#include <algorithm>
#include <optional>

#include "base/terminal_text.h"

namespace sonde {
namespace {

struct Sequence {
    std::string_view bytes; // after the Escape byte
    Key::Kind kind;
};
// Terminals send different sequences for some keys, depending on their mode.
constexpr Sequence sequences[] = {
    {"[A", Key::Up},        {"OA", Key::Up},   {"[B", Key::Down},    {"OB", Key::Down},  {"[5~", Key::PageUp},
    {"[6~", Key::PageDown}, {"[H", Key::Home}, {"OH", Key::Home},    {"[1~", Key::Home}, {"[F", Key::End},
    {"OF", Key::End},       {"[4~", Key::End}, {"[Z", Key::BackTab},
};

// Returns the length of the control sequence (CSI or SS3) at the front of `text`, which follows an Escape byte. Returns
// 0 if the sequence is incomplete.
size_t sequence_length(std::string_view text) {
    if (text.starts_with('O'))
        return text.size() > 1 ? 2 : 0;
    const auto end = std::ranges::find_if(text.substr(1), [](char c) { return c >= 0x40 && c <= 0x7e; });
    return end == text.end() ? 0 : static_cast<size_t>(end - text.begin()) + 1;
}

// True if `text` is a UTF-8 character whose last bytes are missing.
bool is_cut(std::string_view text) {
    const auto first = static_cast<unsigned char>(text[0]);
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
    return first < 0xf5 && text.size() < length &&
           std::ranges::all_of(text.substr(1), [](char c) { return (c & 0xc0) == 0x80; });
}

// Returns the key for a control character, if it has a meaning.
std::optional<Key::Kind> control_key(char c) {
    switch (c) {
    case '\r':
    case '\n':
        return Key::Enter;
    case '\t':
        return Key::Tab;
    case 0x7f:
    case '\b':
        return Key::Backspace;
    default:
        return {};
    }
}

} // namespace

// Unknown sequences and invalid bytes are skipped. Examples:
//
//     ESC [ A          Up
//     ESC [ 1 ; 5 A    Control-Up, unknown: skipped as a whole
//     ESC [            incomplete: stays in `bytes`
//     ESC              Escape
//     0xc3             the first byte of a character: stays in `bytes`
std::vector<Key> take_keys(std::string& bytes) {
    std::vector<Key> keys;
    std::string_view rest = bytes;
    while (!rest.empty()) {
        size_t taken = 1;
        if (rest[0] == '\x1b' && rest.size() > 1 && (rest[1] == '[' || rest[1] == 'O')) {
            const size_t length = sequence_length(rest.substr(1));
            if (length == 0)
                break;
            taken = length + 1;
            const auto known = std::ranges::find(sequences, rest.substr(1, length), &Sequence::bytes);
            if (known != std::end(sequences))
                keys.push_back({known->kind, ""});
        } else if (rest[0] == '\x1b') {
            keys.push_back({Key::Escape, ""});
        } else if (const std::optional<Key::Kind> kind = control_key(rest[0])) {
            keys.push_back({*kind, ""});
        } else if (const size_t length = utf8_length(rest); length && static_cast<unsigned char>(rest[0]) >= ' ') {
            taken = length;
            keys.push_back({Key::Text, std::string(rest.substr(0, length))});
        } else if (is_cut(rest)) {
            break;
        }
        rest.remove_prefix(taken);
    }
    bytes.erase(0, bytes.size() - rest.size());
    return keys;
}

} // namespace sonde
