// Sizes and kinds of types. All functions accept null types, for which they return 0, false, empty or null.
#pragma once

#include <cstdint>
#include <string_view>

#include "frontend/types/type.h"

namespace sonde {

// In bytes; 0 if unknown.
uint64_t size_of(const Type* type);
// The alignment of addresses, in bytes.
uint64_t alignment_of(const Type* type, int depth = 0);
// Whether it is a char, signed or unsigned, of one byte.
bool is_char(const Type* type);
bool is_record(const Type* type);
// The name without template arguments.
std::string_view template_name(const Type* type);
// The template's argument at `index`, or null.
const Type* template_argument(const Type* type, size_t index);

} // namespace sonde
