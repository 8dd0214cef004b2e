// Parses the input of a terminal into keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

struct Key {
    enum Kind { Text, Up, Down, PageUp, PageDown, Home, End, Enter, Escape, Backspace, Tab, BackTab } kind = Text;
    std::string text; // of kind Text: one character in UTF-8
    bool operator==(const Key&) const = default;
};

// Removes complete keys from the front of `bytes` and returns them. An incomplete key remains. A single Escape byte is
// the Escape key, because terminals send all bytes of a key at once (ECMA-48; xterm control sequences).
std::vector<Key> take_keys(std::string& bytes);

} // namespace sonde
