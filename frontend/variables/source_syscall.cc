// `$filename`, `$return` and the summaries of a system call. Pointers point to memory of the calling program.
//
// The prototypes are texts in a table of sonde. The kernel's types lack them: there, the function behind a system call
// has one parameter, a pointer to the registers. An entry such as
//
//     const char *filename, int flags, umode_t mode
//
// is parsed for each use. Types are then looked up in the kernel's types, which also have the structures that pointers
// point to.
//
// 32-bit programs can make system calls on a 64-bit kernel, too. Numbers and texts are the same for them, but a
// structure in their memory may have another layout. keep_readable_calls() removes their calls from a point whose
// handler reads such a structure.
#include <algorithm>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/variables/call_texts.h"
#include "frontend/variables/readable_calls.h"
#include "frontend/variables/sources.h"
#include "frontend/variables/summary.h"

namespace sonde {
namespace {

// An argument of a system call.
struct SyscallVariable {
    std::string name;
    const Type* type;
    bool is_text; // a string, according to its declaration
};

constexpr int tracepoint_result = 1; // argument of sys_exit

// Parses "const char *filename" to a type and a name.
SyscallVariable parse(std::string_view text, KernelTypes& kernel) {
    size_t begin = text.find_last_of(" *") + 1;
    SyscallVariable out;
    out.name = text.substr(begin);
    std::string type(text.substr(0, begin));
    for (size_t at; (at = type.find("const")) != std::string::npos;)
        type.erase(at, 5);
    type.erase(0, type.find_first_not_of(' '));
    out.type = kernel.find_type(type);
    if (!out.type) // of a structure that this kernel does not have
        out.type = kernel.find_type(type.find('*') == std::string::npos ? "long" : "void*");
    // Some `char` pointers are not strings: buffers that the call writes or fills have an explicit length.
    bool is_name = text.starts_with("const char *") || out.name == "filename" || out.name.ends_with("_name") ||
                   out.name == "type" || out.name == "name";
    out.is_text = is_name && text.find("char *") != std::string_view::npos &&
                  text.find("**") == std::string_view::npos && text.find("*const") == std::string_view::npos &&
                  out.name != "buf" && out.name != "u_msg_ptr";
    return out;
}

bool is_mode(const Type* type) { return type && type->kind == Type::Typedef && type->name == "umode_t"; }

std::vector<SyscallVariable> syscall_variables(const ResolvedPoint& point) {
    std::vector<SyscallVariable> out;
    std::string_view rest = point.syscall->parameters;
    while (!rest.empty()) {
        size_t comma = rest.find(", ");
        out.push_back(parse(rest.substr(0, comma), *point.kernel));
        rest = comma == std::string_view::npos ? "" : rest.substr(comma + 2);
    }
    return out;
}

// An argument's register with all 64 bits. Arguments of 32-bit programs have been copied to the places of 64-bit ones.
hir::Expr* syscall_register(Binding& b, size_t index) {
    return call_register(b, b.make<hir::Argument>(b.expr.range, hir::Argument::call_registers), index);
}

Place syscall_argument(Binding& b, const SyscallVariable& variable, size_t index) {
    return value_place(variable.type, syscall_register(b, index));
}

// A result that a 32-bit tracer has set lacks the upper half. Errors are recognized as in the kernel
// (arch/x86/include/asm/syscall.h, syscall_get_error()).
Place syscall_result(Binding& b) {
    using enum hir::BinaryOp;
    auto result = [&] { return b.make<hir::Argument>(b.expr.range, tracepoint_result); };
    auto half = [&](bool is_signed) { return b.make<hir::Retype>(b.expr.range, result(), 4u, is_signed); };
    hir::Expr* value = result();
    if (!b.point.point.narrow_calls.empty()) {
        constexpr int64_t before_errors = 0xfffff000;
        hir::Expr* is_narrow =
            b.make<hir::Intrinsic>(b.expr.range, "__in_32_bit_call", hir::ValueType::Long, std::vector<hir::Expr*>());
        hir::Expr* is_error = b.binary(Gt, half(false), b.number(before_errors));
        value = b.ternary(b.binary(And, is_narrow, is_error), half(true), value);
    }
    return value_place(b.point.kernel->find_type("long"), value);
}

std::optional<Place> syscall_variable(Binding& b) {
    std::string name = b.expr.name.substr(1);
    if (name == "return") {
        if (b.point.is_exit && b.binder.inside_entry) {
            b.fail(DiagId::WrongContext, b.base_range(), "`$return` is not known when the system call begins");
            return std::nullopt;
        }
        if (b.point.is_exit)
            return syscall_result(b);
        b.fail(DiagId::WrongContext, b.base_range(), "`$return` can be used only in .return probes");
        return std::nullopt;
    }
    std::vector<SyscallVariable> variables = syscall_variables(b.point);
    std::vector<std::string> names;
    std::string list;
    for (size_t i = 0; i < variables.size(); i++) {
        if (variables[i].name == name || fmt::format("arg{}", i + 1) == name)
            return syscall_argument(b, variables[i], i);
        names.push_back(variables[i].name);
        list += (list.empty() ? "$" : " $") + variables[i].name;
    }
    if (b.point.is_exit) {
        names.emplace_back("return");
        list += list.empty() ? "$return" : " $return";
    }
    DiagBuilder report =
        b.binder.diags.report(DiagId::UnknownVariable, b.base_range(),
                              fmt::format("the system call `{}` has no `{}`", b.point.syscall->name, b.expr.name));
    if (std::string nearest = nearest_name(name, names); !nearest.empty())
        report.suggest("$" + nearest);
    report.help(list.empty() ? "it has no parameters" : fmt::format("it has `{}`", list));
    return std::nullopt;
}

// Items according to the arguments' types, for calls whose row has no text.
std::vector<TextItem> items_by_type(const ResolvedPoint& point) {
    std::vector<TextItem> items;
    for (const SyscallVariable& variable : syscall_variables(point)) {
        const Type* type = strip(variable.type);
        const bool is_id = variable.name == "fd" || (variable.type && variable.type->name.ends_with("id_t"));
        const char letter = variable.is_text                  ? 'Q'
                            : is_mode(variable.type)          ? 'o'
                            : type->kind == Type::Pointer     ? 'p'
                            : is_id                           ? 'd'
                            : type->size < 8                  ? (type->is_signed ? 'd' : 'u')
                            : type->is_signed                 ? 'D'
                            : variable.type->name == "size_t" ? 'U'
                                                              : 'X';
        items.push_back({std::string(1, letter), {items.size()}});
    }
    return items;
}

// `$$name`; `$$vars` and `$$parms`; `$$return`; `$$argstr`: the arguments as in source code.
hir::Expr* syscall_summary(Binding& b) {
    static const std::vector<std::string> names = {"$$vars", "$$parms", "$$return", "$$name", "$$argstr"};
    if (b.expr.name == "$$name")
        return b.binder.call("ppfunc", {});
    std::vector<SyscallVariable> variables = syscall_variables(b.point);
    Text text;
    if (b.expr.name == "$$argstr") {
        const std::string_view row = b.point.syscall->text;
        return call_text(b, row.empty() ? items_by_type(b.point) : text_items(row));
    } else if (b.expr.name == "$$vars" || b.expr.name == "$$parms") {
        for (size_t i = 0; i < variables.size(); i++)
            add_variable(b, text, variables[i].name, [&] { return syscall_argument(b, variables[i], i); });
    } else if (b.expr.name == "$$return") {
        if (b.point.is_exit)
            add_variable(b, text, "return", [&] { return syscall_result(b); });
    } else {
        return refuse_summary(b, names);
    }
    return std::move(text).finish(b);
}

std::string list_syscall_variables(const ResolvedPoint& point) {
    std::string line = point.is_exit ? " $return:long int" : "";
    for (const SyscallVariable& variable : syscall_variables(point))
        line += fmt::format(" ${}:{}", variable.name, type_name(variable.type));
    return line;
}

// The layout of a type in i386's ABI: a long and a pointer have 4 bytes, and no alignment is larger than 4.
//
// A record is the same for both if each member is, and if i386 places each member at the same offset. `expected` is the
// offset on i386, if all members before this one agree:
//
//     struct { int a; long long b; }           b is at 8, on i386 at 4: different
//     struct { int a; long long b; } packed    b is at 4, on i386 at 4: the same
//     struct { long a; }                       `a` has 8 bytes, on i386 4: different
struct NarrowLayout {
    bool is_same = true; // the same as in a 64-bit program
    uint64_t align = 1;
};
NarrowLayout narrow_layout(const Type* written) {
    const Type* type = strip(written);
    if (!type)
        return {};
    switch (type->kind) {
    case Type::Pointer:
        return {.is_same = false};
    case Type::Array:
        return narrow_layout(type->target);
    case Type::Struct:
    case Type::Union:
        break;
    default:
        return {.is_same = type->size < 8 || type->name.find("long long") != std::string::npos,
                .align = std::clamp<uint64_t>(type->size, 1, 4)};
    }
    NarrowLayout layout;
    uint64_t end = 0;
    for (const TypeMember& member : complete(type)->members) {
        const NarrowLayout inner = narrow_layout(member.type);
        // Packed structures have no gaps here, either.
        const uint64_t expected = (end + inner.align - 1) / inner.align * inner.align;
        layout.is_same = layout.is_same && inner.is_same && (member.bit_size || member.byte_offset <= expected);
        layout.align = std::max(layout.align, inner.align);
        end = type->kind == Type::Union ? 0 : member.byte_offset + strip(member.type)->size;
    }
    return layout;
}

} // namespace

void keep_readable_calls(ResolvedPoint& point, const std::vector<const ast::TargetExpr*>& targets) {
    if (!point.syscall || point.point.number < 0 || point.point.narrow_calls.empty())
        return;
    const std::vector<SyscallVariable> variables = syscall_variables(point);
    auto is_other = [&](const SyscallVariable& variable) {
        const Type* type = strip(variable.type);
        return type->kind == Type::Pointer && type->target && !narrow_layout(type->target).is_same;
    };
    // A value of the script may have the type of any variable.
    auto reads_other = [&](const ast::TargetExpr* target) {
        const bool is_any = target->base == ast::TargetExpr::Value || target->name.starts_with("$$") ||
                            target->name.starts_with("$arg");
        return !target->components.empty() && std::ranges::any_of(variables, [&](const SyscallVariable& variable) {
            return (is_any || target->name == "$" + variable.name) && is_other(variable);
        });
    };
    if (std::ranges::any_of(targets, reads_other))
        point.point.narrow_calls.clear();
}

const VariableSource syscall_source = {
    .find = syscall_variable, .summary = syscall_summary, .list = list_syscall_variables};

} // namespace sonde
