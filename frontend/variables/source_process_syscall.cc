// `$syscall`, `$arg1` to `$arg6` and `$return` at a system call.
//
// Calls of 32-bit programs use other registers and have other numbers.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/architecture.h"
#include "frontend/variables/sources.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

struct Register {
    const char* name;
    int number; // of an argument, from 0; or one of the following
    bool at_entry, at_return;
};
constexpr int syscall_number = -1, syscall_result = -2;

constexpr Register registers[] = {
    {"$syscall", syscall_number, true, true},
    {"$arg1", 0, true, false},
    {"$arg2", 1, true, false},
    {"$arg3", 2, true, false},
    {"$arg4", 3, true, false},
    {"$arg5", 4, true, false},
    {"$arg6", 5, true, false},
    {"$return", syscall_result, false, true},
};

std::vector<std::string> process_syscall_variables(plan::ProbeKind kind) {
    std::vector<std::string> names;
    for (const Register& one : registers)
        if (plan::traits(kind).at_return ? one.at_return : one.at_entry)
            names.push_back(one.name);
    return names;
}

// The same handler is hit by 64-bit and 32-bit programs, so the choice of an argument's register is made at run time.
hir::Expr* read(Binding& b, const Register& one) {
    const Range range = b.expr.range;
    const SystemCalls& calls = b.binder.env.architecture->system_calls();
    if (one.number == syscall_number)
        return b.make<hir::Register>(range, hir::Register::syscall_number);
    if (one.number == syscall_result)
        return b.make<hir::Register>(range, calls.result);
    const auto argument = static_cast<size_t>(one.number);
    hir::Expr* wide = b.make<hir::Register>(range, calls.arguments[argument]);
    hir::Expr* is_narrow =
        b.make<hir::Intrinsic>(range, "__in_32_bit_call", hir::ValueType::Long, std::vector<hir::Expr*>());
    hir::Expr* narrow =
        b.make<hir::Retype>(range, b.make<hir::Register>(range, calls.narrow_arguments[argument]), 4u, false);
    return b.make<hir::Ternary>(range, is_narrow, narrow, wide);
}

std::optional<Place> process_syscall_variable(Binding& b) {
    static const Type type = integer_type("long", 8, true);
    std::vector<std::string> names = process_syscall_variables(b.point.kind);
    for (const Register& one : registers)
        if (one.name == b.expr.name && std::find(names.begin(), names.end(), one.name) != names.end())
            return value_place(&type, read(b, one));
    b.fail(DiagId::UnknownVariable, b.base_range(), fmt::format("a system call's probe has no `{}`", b.expr.name),
           fmt::format("it has `{}`", fmt::join(names, "`, `")));
    return std::nullopt;
}

std::string list_process_syscall_variables(const ResolvedPoint& point) {
    std::string line;
    for (const std::string& name : process_syscall_variables(point.kind))
        line += fmt::format(" {}:long", name);
    return line;
}

} // namespace

const VariableSource process_syscall_source = {.find = process_syscall_variable,
                                               .list = list_process_syscall_variables};

} // namespace sonde
