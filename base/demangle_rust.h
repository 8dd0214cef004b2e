// Names of Rust's symbols, in its older mangling (without the hash) and in v0 (RFC 2603).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sonde {

// "shop::Item::total", "<shop::Item as core::fmt::Display>::fmt". nullopt: no such symbol.
std::optional<std::string> demangle_rust(std::string_view symbol);

// C++'s names by LLVM's demangler, whose headers the other file cannot include.
std::optional<std::string> demangle_cxx_by_llvm(std::string_view symbol);

} // namespace sonde
