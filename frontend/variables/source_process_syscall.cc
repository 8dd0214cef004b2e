// `$syscall`, `$arg1` to `$arg6` and `$return` at a system call.
//
// For the registers see the System V psABI for x86-64, A.2.1 ("Calling Conventions" of the Linux kernel). Calls of
// 32-bit programs use i386's registers and have other numbers.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/variables/sources.h"

namespace sonde {
namespace {

struct Register {
    const char* name;
    int number; // as in hir::Register
    bool at_entry, at_return;
    int narrow = -1; // for calls of 32-bit programs; -1: the same
};
constexpr Register registers[] = {
    {"$syscall", hir::Register::syscall_number, true, true},
    {"$arg1", 5, true, false, 3},
    {"$arg2", 4, true, false, 2},
    {"$arg3", 1, true, false, 1},
    {"$arg4", 10, true, false, 4},
    {"$arg5", 8, true, false, 5},
    {"$arg6", 9, true, false, 6},
    {"$return", 0, false, true},
};

std::vector<std::string> process_syscall_variables(plan::ProbeKind kind) {
    std::vector<std::string> names;
    for (const Register& one : registers)
        if (plan::traits(kind).at_return ? one.at_return : one.at_entry)
            names.push_back(one.name);
    return names;
}

hir::Expr* read(Binding& b, const Register& one) {
    const Range range = b.expr.range;
    hir::Expr* wide = b.make<hir::Register>(range, one.number);
    if (one.narrow < 0)
        return wide;
    hir::Expr* is_narrow =
        b.make<hir::Intrinsic>(range, "__in_32_bit_call", hir::ValueType::Long, std::vector<hir::Expr*>());
    hir::Expr* narrow = b.make<hir::Retype>(range, b.make<hir::Register>(range, one.narrow), 4u, false);
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
