// Reads the value at a place.
#pragma once

#include <cstdint>
#include <string_view>

#include "frontend/variables/place.h"

namespace sonde {

// Loads `size` bytes (1, 2, 4 or 8) from the place's kind of memory.
hir::Load* read(Binding& b, const Place& place, Range range, hir::Expr* address, uint64_t size, bool is_signed);
// The value of a scalar.
hir::Expr* load(Binding& b, const Place& place, Range range);
// The value of a member that is a number; null without a report if it is not a number (see field() in place.h).
hir::Expr* field_value(Binding& b, const Place& place, std::string_view path);
// The place's address; null without a report if it has none.
hir::Expr* address_of(Binding& b, const Place& place);
// A floating point value as the bits of a double.
hir::Expr* double_bits(Binding& b, const Place& place, Range range);
// The value in the script language, which is a number. For arrays and functions it is the address; references are
// followed.
hir::Expr* to_long(Binding& b, const Place& place, Range range);

} // namespace sonde
