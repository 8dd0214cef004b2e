// Whose types and variables `@cast` and `@var` mean: those of the probed program, of other programs and libraries, of
// headers, or of the kernel.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontend/variables/binding.h"

namespace sonde {

// Where `@cast` looks for types.
struct TypeScope {
    std::function<const Type*(const std::string&)> find;
    std::function<std::vector<std::string>()> names;
    std::string where; // for messages
};
std::optional<TypeScope> type_scope(Binding& b);

// `@var`'s module, which may be a list with `:` between them; without it, the probed program. Empty after a report.
std::vector<DwarfModule*> variable_modules(Binding& b);

// True for what is the kernel's: it is named as the module, as in "kernel<linux/sched.h>", or none is and the point is
// there.
bool is_kernels(const Binding& b);

} // namespace sonde
