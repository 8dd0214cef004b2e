// Reading what is at a place.
#pragma once

#include <cstdint>
#include <string_view>

#include "frontend/variables/place.h"

namespace sonde {

// Loads `size` bytes (1, 2, 4 or 8) from memory of the same kind as the place's.
hir::Load* read(Binding& b, const Place& place, Range range, hir::Expr* address, uint64_t size, bool is_signed);
// A scalar's value.
hir::Expr* load(Binding& b, const Place& place, Range range);
// The number that a member is; null without a report where it is none (place.h, field()).
hir::Expr* field_value(Binding& b, const Place& place, std::string_view path);
// The place's own address; null without a report if it has none.
hir::Expr* address_of(Binding& b, const Place& place);
// A floating point value as the bits of a double.
hir::Expr* double_bits(Binding& b, const Place& place, Range range);
// Its value as the language has it: a number; of arrays and functions the address; references are followed.
hir::Expr* to_long(Binding& b, const Place& place, Range range);

} // namespace sonde
