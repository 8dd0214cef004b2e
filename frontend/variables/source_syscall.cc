// `$filename`, `$return` and the summaries of a system call. Pointers are the caller's: they lead to user memory.
#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/variables/sources.h"
#include "frontend/variables/summary.h"

namespace sonde {
namespace {

// What a system call gets.
struct SyscallVariable {
    std::string name;
    const Type* type;
    bool is_text; // a string, as far as its declaration says
};

// Where struct pt_regs of x86-64 has the arguments: rdi, rsi, rdx, r10, r8, r9 (arch/x86/include/asm/ptrace.h).
constexpr int64_t argument_offsets[] = {112, 104, 96, 56, 72, 64};
constexpr int tracepoint_regs = 0, tracepoint_result = 1; // arguments of sys_exit

// "const char *filename" as a type and a name.
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
    // Some texts are no strings: what is written has a length of its own, and so has what is filled in.
    bool is_name = text.starts_with("const char *") || out.name == "filename" || out.name.ends_with("_name") ||
                   out.name == "type" || out.name == "name";
    out.is_text = is_name && text.find("char *") != std::string_view::npos &&
                  text.find("**") == std::string_view::npos && text.find("*const") == std::string_view::npos &&
                  out.name != "buf" && out.name != "u_msg_ptr";
    return out;
}

// One item of a call's text.
struct TextItem {
    std::string what;              // a letter, or a function of the library
    std::vector<size_t> arguments; // which ones it is given, from 0 on
    bool gives_separator = false;
};
std::vector<TextItem> text_items(std::string_view text) {
    std::vector<TextItem> items;
    size_t next = 0;
    while (!text.empty()) {
        size_t blank = text.find(' ');
        std::string_view word = text.substr(0, blank);
        text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
        TextItem item;
        item.gives_separator = word.starts_with('+');
        word.remove_prefix(item.gives_separator);
        size_t colon = word.find(':');
        item.what = word.substr(0, colon);
        if (colon == std::string_view::npos)
            item.arguments.push_back(next);
        else
            for (char digit : word.substr(colon + 1))
                if (digit != ',')
                    item.arguments.push_back(static_cast<size_t>(digit - '1'));
        if (item.what == "B")
            item.arguments.push_back(item.arguments.front() + 1);
        next = item.arguments.front() + 1;
        items.push_back(std::move(item));
    }
    return items;
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

// An argument's register, all 64 bits of it.
hir::Expr* syscall_register(Binding& b, size_t index) {
    auto* at = b.make<hir::Load>(
        b.expr.range, b.plus(b.make<hir::Argument>(b.expr.range, tracepoint_regs), argument_offsets[index]), 8u, false);
    at->user = false;
    return at;
}

Place syscall_argument(Binding& b, const SyscallVariable& variable, size_t index) {
    return value_place(variable.type, syscall_register(b, index));
}

Place syscall_result(Binding& b) {
    return value_place(b.point.kernel->find_type("long"), b.make<hir::Argument>(b.expr.range, tracepoint_result));
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
        b.fail(DiagId::WrongContext, b.base_range(), "`$return` is for .return probes");
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

// In quotes, or its address where it cannot be read: a page that has to be waited for is not here.
void add_user_text(Binding& b, Text& text, hir::Expr* address) {
    text.add(
        b.make<hir::Intrinsic>(b.expr.range, "__user_text", hir::ValueType::String, std::vector<hir::Expr*>{address}));
}

// A number as an item's letter says; false if it is none of them.
bool add_by_letter(Binding& b, Text& text, char letter, hir::Expr* value) {
    const auto low = [&](bool is_signed) { return b.make<hir::Retype>(b.expr.range, value, 4u, is_signed); };
    switch (letter) {
    case 'd':
        text.add_integer(low(true), 'd', 0);
        return true;
    case 'D':
        text.add_integer(value, 'd', 0);
        return true;
    case 'u':
        text.add_integer(low(false), 'u', 0);
        return true;
    case 'U':
        text.add_integer(value, 'u', 0);
        return true;
    case 'x':
        text.literal("0x");
        text.add_integer(low(false), 'x', 0);
        return true;
    case 'p':
    case 'X':
        text.literal("0x");
        text.add_integer(value, 'x', 0);
        return true;
    case 'o':
        text.literal("0");
        text.add_integer(low(false), 'o', 0);
        return true;
    case 'Q':
        add_user_text(b, text, value);
        return true;
    default:
        return false;
    }
}

// The arguments as the call's row has them.
void add_syscall_text(Binding& b, Text& text) {
    bool is_first = true;
    for (const TextItem& item : text_items(b.point.syscall->text)) {
        if (!is_first && !item.gives_separator)
            text.literal(", ");
        is_first = false;
        if (item.what.size() == 1 && add_by_letter(b, text, item.what[0], syscall_register(b, item.arguments[0])))
            continue;
        std::vector<hir::Expr*> args;
        for (size_t index : item.arguments)
            args.push_back(syscall_register(b, index));
        const char* function = item.what == "A" ? "_dfd_str" : item.what == "B" ? "__buffer_text" : item.what.c_str();
        if (hir::Expr* said = b.binder.call ? b.binder.call(function, args) : nullptr)
            text.add(said);
        else
            text.literal("?");
    }
}

// What the arguments' types say, for calls whose row has no text.
void add_arguments_by_type(Binding& b, Text& text) {
    std::vector<SyscallVariable> variables = syscall_variables(b.point);
    for (size_t i = 0; i < variables.size(); i++) {
        if (i > 0)
            text.literal(", ");
        const SyscallVariable& variable = variables[i];
        const Type* type = strip(variable.type);
        const bool is_id = variable.name == "fd" || (variable.type && variable.type->name.ends_with("id_t"));
        char letter = variable.is_text                  ? 'Q'
                      : is_mode(variable.type)          ? 'o'
                      : type->kind == Type::Pointer     ? 'p'
                      : is_id                           ? 'd'
                      : type->size < 8                  ? (type->is_signed ? 'd' : 'u')
                      : type->is_signed                 ? 'D'
                      : variable.type->name == "size_t" ? 'U'
                                                        : 'X';
        add_by_letter(b, text, letter, syscall_register(b, i));
    }
}

// `$$name`; `$$vars` and `$$parms`; `$$return`; `$$argstr`: the arguments as one would write them.
hir::Expr* syscall_summary(Binding& b) {
    static const std::vector<std::string> names = {"$$vars", "$$parms", "$$return", "$$name", "$$argstr"};
    if (b.expr.name == "$$name")
        return b.make<hir::Intrinsic>(b.expr.range, "ppfunc", hir::ValueType::String, std::vector<hir::Expr*>());
    std::vector<SyscallVariable> variables = syscall_variables(b.point);
    Text text;
    if (b.expr.name == "$$argstr") {
        if (b.point.syscall->text[0])
            add_syscall_text(b, text);
        else
            add_arguments_by_type(b, text);
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

} // namespace

const VariableSource syscall_source = {
    .find = syscall_variable, .summary = syscall_summary, .list = list_syscall_variables};

} // namespace sonde
