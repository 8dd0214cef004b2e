// How large values of a type are, and of what kind. Null types are none of these kinds.
#pragma once

#include <cstdint>
#include <string_view>

#include "frontend/types/type.h"

namespace sonde {

// In bytes; 0 if unknown.
uint64_t size_of(const Type* type);
// What its address is a multiple of.
uint64_t alignment_of(const Type* type, int depth = 0);
// char, signed or not, of one byte.
bool is_char(const Type* type);
bool is_record(const Type* type);
// Its name without template arguments.
std::string_view template_name(const Type* type);
// The template's argument at `index`; null: there is none.
const Type* template_argument(const Type* type, size_t index);

} // namespace sonde
