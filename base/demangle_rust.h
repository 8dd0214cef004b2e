// Demangles Rust symbols, in the older mangling (without the hash) and in v0 (RFC 2603).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sonde {

// For example "shop::Item::total" or "<shop::Item as core::fmt::Display>::fmt". nullopt if it is not such a symbol.
std::optional<std::string> demangle_rust(std::string_view symbol);

// Demangles C++ with LLVM, whose headers conflict with those of demangle.cc.
std::optional<std::string> demangle_cxx_by_llvm(std::string_view symbol);

} // namespace sonde
