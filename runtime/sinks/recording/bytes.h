// Numbers and texts in the bytes of events. ByteCursor (base/byte_cursor.h) reads the numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/byte_cursor.h"

namespace sonde {

template <typename Number> void add_number(std::string& out, Number number) {
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
}
// A text is its size (u32) and its bytes.
inline void add_text(std::string& out, std::string_view text) {
    add_number(out, static_cast<uint32_t>(text.size()));
    out += text;
}
inline std::string_view take_text(ByteCursor& in) { return in.take_bytes(in.take<uint32_t>()); }

} // namespace sonde
