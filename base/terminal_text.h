// Text that others made, for a terminal: it is shown, and cannot act on the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sonde {

// Bytes of the UTF-8 character that begins there; 0: none does (RFC 3629, section 4). The text is not empty.
size_t utf8_length(std::string_view text);

// How many columns of a terminal the text takes. A byte that is not UTF-8 takes one.
size_t text_width(std::string_view text);

// Whether a descriptor is a terminal that knows control sequences: colours, a line that is written anew. Those whose
// TERM is not set, or `dumb`, do not.
bool is_capable_terminal(int fd);

// The text with \ooo, in octal, for each byte of what a terminal may take for a command: control characters (C0 but for
// newline and tab, DEL, C1) and bytes that are not UTF-8.
std::string terminal_text(std::string_view text);

} // namespace sonde
