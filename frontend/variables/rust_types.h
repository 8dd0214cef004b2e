// Types of Rust's library by their names, and the pointers inside of them. The names of private members differ between
// versions of the compiler, so a value that only wraps a pointer is read by the first pointer in it.
#pragma once

#include <string>
#include <string_view>

#include "frontend/variables/elements.h"

namespace sonde {

// For example "alloc::vec::Vec", without the arguments.
std::string rust_name(const Type* type);

// Whether the type is a reference or a Box of Rust, which the language follows by itself. Accepts null.
bool is_rust_reference(const Type* type);
// Whether the record is a reference or pointer to a slice or `str`: `&[T]`, `*const str`, `Box<[T]>`. In other
// languages, records can have members with the same names.
bool is_rust_slice(const Type* type);
// Whether it is the name of `Rc` or `Arc`.
bool is_rust_shared(std::string_view name);

// The first pointer inside of a value, depth first. A `Vec<T>` has it in `buf.inner.ptr.pointer.pointer` or a similar
// chain of structures, depending on the version.
std::optional<Place> first_pointer(Binding& b, const Place& place, int depth = 0);
// The pointer inside of a value, if it has a length or a table of methods with it.
std::optional<Place> wide_rust_pointer(Binding& b, const Place& place, int depth = 0);
// The value of an `Rc` or `Arc` with a plain pointer.
std::optional<Place> rust_shared_value(Binding& b, const Place& place);

} // namespace sonde
