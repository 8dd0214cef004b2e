// Whether C++ passes objects of a class by address: the Itanium C++ ABI, "non-trivial for the purposes of calls".
//
// A class is passed in the caller's memory if its destructor, copy constructor or move constructor does something, or
// if all of its copy and move constructors are deleted. Debug information says so in one attribute (clang), or leaves
// it to the class' functions, bases and members (gcc).
#pragma once

namespace sonde {

struct Type;
class TypeReader;

// False for what is no class, and for C's structs.
bool is_passed_by_address(TypeReader& types, const Type* type);

} // namespace sonde
