// What is typed at a terminal, as keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

struct Key {
    enum Kind { Text, Up, Down, PageUp, PageDown, Home, End, Enter, Escape, Backspace, Tab, BackTab } kind = Text;
    std::string text; // Text: one character, in UTF-8
    bool operator==(const Key&) const = default;
};

// Takes whole keys off the front of `bytes`; the beginning of one whose rest has not come yet stays. A lone Escape is
// one: terminals send the bytes of a key at once (ECMA-48, xterm's control sequences).
std::vector<Key> take_keys(std::string& bytes);

} // namespace sonde
