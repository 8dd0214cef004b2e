// Formats the records of print statements as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/plan/plan.h"

namespace sonde {

class Symbolizer;

// Returns the text of a Print record. A record that was cut gives the text of the values that it has. `symbols` may be
// null if the format has no stacks. `for_terminal` escapes control characters in all strings but the script's own text
// (base/terminal_text.h), since a traced program could otherwise send commands to the terminal.
std::string render_print(const plan::Format& format, std::span<const uint8_t> payload, Symbolizer* symbols = nullptr,
                         bool for_terminal = false);

} // namespace sonde
