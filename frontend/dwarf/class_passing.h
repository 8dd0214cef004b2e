// Determines whether C++ passes objects of a class by address ("non-trivial for the purposes of calls" in the Itanium
// C++ ABI).
//
// A class is passed in the caller's memory if its destructor, copy constructor or move constructor does something, or
// if all its copy and move constructors are deleted. clang stores the answer in an attribute. With gcc, it must be
// derived from the class's functions, bases and members.
#pragma once

namespace sonde {

struct Type;
class TypeReader;

// Returns false for types that are not classes, and for structs in C.
bool is_passed_by_address(TypeReader& types, const Type* type);

} // namespace sonde
