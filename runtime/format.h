// From records to text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/plan.h"

namespace sonde {

class Symbols;

// The text of a Print record's payload. A record that is too short gives what is there.
std::string render_print(const plan::Format& format, std::span<const uint8_t> payload, Symbols* symbols = nullptr);

} // namespace sonde
