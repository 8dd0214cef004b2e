// Makes text from other programs safe for a terminal, so that it cannot control the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sonde {

// The length in bytes of the UTF-8 character at the beginning of the text; 0 if it is invalid (RFC 3629, section 4).
// The text must not be empty.
size_t utf8_length(std::string_view text);

// The number of columns that the text takes on a terminal. A byte that is not UTF-8 counts as one.
size_t text_width(std::string_view text);

// Whether the descriptor is a terminal that supports control sequences for colors and for rewriting lines. False if
// TERM is not set, or is `dumb`.
bool is_capable_terminal(int fd);

// The text with \ooo (octal) for each byte that a terminal may interpret as a command: control characters (C0 except
// newline and tab, DEL, C1) and bytes that are not UTF-8.
std::string terminal_text(std::string_view text);

} // namespace sonde
