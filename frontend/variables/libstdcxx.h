// The library of gcc for C++, whose private members have names that begin with `_M_`.
#pragma once

#include <string_view>

#include "frontend/variables/elements.h"

namespace sonde {

// Namespaces such as `std::__cxx11::` belong to versions of the binary interface. The namespace of libc++,
// `std::__1::`, matches as well, so libc++ must be asked earlier.
bool is_libstdcxx(const Type& record);

// The class that a pointer points to; null if it is not a pointer.
const Type* target_of(const std::optional<Place>& pointer);
// The offset of the value in a node that begins with a `base`.
int64_t value_offset(const Type* base, const Type* value);

constexpr size_t most_tuple_elements = 32;
// The elements of a tuple; after the first `most_tuple_elements`, one more at most. Returns nullopt if the layout is
// unknown: an element that is not found must not be missing in the text.
std::optional<std::vector<Place>> tuple_elements(Binding& b, const Place& place);

// The pointer of a shared_ptr or unique_ptr.
std::optional<Place> owned_pointer(Binding& b, const Place& place);
bool is_pointer_to_array(const Place& place);

} // namespace sonde
