// C declarations of the kernel types and kfuncs that a text needs.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sonde {

// Begins clang's message for a type whose layout in C differs from the kernel's.
constexpr std::string_view c_other_layout = "C cannot lay out the kernel type";

// Declares types and enumerators with these names, and repeatedly the types of members with these names, also through
// pointers.
//
// `names`: all identifiers of the text. `btf`: the kernel's types, `kernel_count` of them, and after them those of
// modules (codegen/c/module_types.h). `chosen`: numbers of types of modules to declare, with the types of their
// members. `hidden`: names that the text uses for something else; types and enumerators of the kernel with these names
// are renamed. Errors: `btf` is invalid.
Result<std::string> declare_kernel_types(const std::string& btf, const std::set<std::string>& names,
                                         uint32_t kernel_count, const std::set<uint32_t>& chosen,
                                         const std::set<std::string>& hidden = {});

} // namespace sonde
