// Names of symbols as their languages write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sonde {

// "ns::C::f(int)" for C++ (Itanium ABI); "shop::Item::total", "<shop::Item as core::fmt::Display>::fmt" for Rust, in
// its older mangling (without the hash) and in v0 (RFC 2603). nullopt: no such symbol.
std::optional<std::string> demangle(std::string_view symbol);

// The symbol as stacks show it: demangled, without its parameters and a template's result; as it is where it is not
// mangled.
std::string readable_symbol(std::string_view symbol);

} // namespace sonde
