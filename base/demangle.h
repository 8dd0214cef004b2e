// Converts symbols to names as in the source code.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sonde {

// C++ (Itanium ABI): "ns::C::f(int)". Rust, in its older mangling (without the hash) and in v0 (RFC 2603):
// "shop::Item::total", "<shop::Item as core::fmt::Display>::fmt". nullopt if the symbol is not mangled.
std::optional<std::string> demangle(std::string_view symbol);

// The symbol as printed in stacks: demangled, without parameters and a template's result. Symbols that are not mangled
// remain unchanged.
std::string readable_symbol(std::string_view symbol);

} // namespace sonde
