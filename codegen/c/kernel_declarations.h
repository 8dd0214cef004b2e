// The kernel's types and the functions that it has for BPF (kfuncs) as C declarations, as many as a text needs.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sonde {

// What clang says, before the type's name, where members lie elsewhere in C than in the kernel.
constexpr std::string_view c_other_layout = "C cannot lay out the kernel type";

// `names`: all identifiers of the text. Declared are the types and enumerators of those names, and to a fixed point the
// types of members of those names, through pointers. `btf` may go on after the kernel's own types with those of modules
// (codegen/c/module_types.h); of these, `chosen` are declared, by their numbers, and what members lead to. `hidden`:
// names that the text has for something of its own; the kernel's types and enumerators get others. Errors: what is
// wrong with `btf`.
Result<std::string> declare_kernel_types(const std::string& btf, const std::set<std::string>& names,
                                         uint32_t kernel_count, const std::set<uint32_t>& chosen,
                                         const std::set<std::string>& hidden = {});

} // namespace sonde
