// From records to text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/plan/plan.h"

namespace sonde {

class Symbols;

// The text of a Print record's payload. A record that is too short gives what is there.
// For a terminal, what is not the script's own cannot act on it (base/terminal_text.h).
std::string render_print(const plan::Format& format, std::span<const uint8_t> payload, Symbols* symbols = nullptr,
                         bool for_terminal = false);

} // namespace sonde
