// Where `@cast` and `@var` search types and variables: in the probed program, in other programs and libraries, in
// headers, or in the kernel.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontend/variables/binding.h"

namespace sonde {

// Where `@cast` searches types.
struct TypeScope {
    std::function<const Type*(const std::string&)> find;
    std::function<std::vector<std::string>()> names;
    std::string where; // for messages
};
std::optional<TypeScope> type_scope(Binding& b);

// The modules that `@var` names, which may be a list separated by `:`. Without a name, the probed program. Empty after
// a report.
std::vector<DwarfModule*> variable_modules(Binding& b);

// Whether the expression is about the kernel: it names the kernel as its module, as in "kernel<linux/sched.h>", or it
// names no module and the point is in the kernel.
// A list of names means the kernel if that is the first one with the type.
bool is_kernels(Binding& b);

} // namespace sonde
