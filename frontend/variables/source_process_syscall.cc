// `$syscall`, `$arg1` to `$arg6` and `$return` at a system call.
//
// Registers: System V psABI for x86-64, A.2.1 ("Calling Conventions" of the Linux kernel).
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/variables/binding.h"

namespace sonde {
namespace {

struct Register {
    const char* name;
    int number; // as in hir::Register
    bool at_entry, at_return;
};
constexpr Register registers[] = {
    {"$syscall", hir::Register::syscall_number, true, true},
    {"$arg1", 5, true, false},
    {"$arg2", 4, true, false},
    {"$arg3", 1, true, false},
    {"$arg4", 10, true, false},
    {"$arg5", 8, true, false},
    {"$arg6", 9, true, false},
    {"$return", 0, false, true},
};

} // namespace

std::vector<std::string> process_syscall_variables(plan::ProbeKind kind) {
    std::vector<std::string> names;
    for (const Register& one : registers)
        if (plan::traits(kind).at_return ? one.at_return : one.at_entry)
            names.push_back(one.name);
    return names;
}

std::optional<Place> TargetBinder::process_syscall_variable() {
    static const Type type = integer_type("long", 8, true);
    std::vector<std::string> names = process_syscall_variables(point_.kind);
    for (const Register& one : registers)
        if (one.name == expr_.name && std::find(names.begin(), names.end(), one.name) != names.end()) {
            Place place;
            place.type = &type;
            place.parts.push_back({0, 8, PlacePart::Value, make<hir::Register>(expr_.range, one.number), ""});
            return place;
        }
    fail(DiagId::UnknownVariable, base_range(), fmt::format("a system call's probe has no `{}`", expr_.name),
         fmt::format("it has `{}`", fmt::join(names, "`, `")));
    return std::nullopt;
}

} // namespace sonde
