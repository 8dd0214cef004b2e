// `$filename`, `$return` and the summaries of a system call. Pointers are the caller's: they lead to user memory.
#include <fmt/format.h>

#include "base/glob.h"
#include "base/suggest.h"
#include "frontend/probes/bind_impl.h"

namespace sonde {
namespace {

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

// Arguments that say more than their number does.
struct ArgumentText {
    const char *call, *parameter, *function, *second;
};
constexpr ArgumentText argument_texts[] = {
#define TEXT(call, parameter, function, second) {call, parameter, function, second},
#include "frontend/probes/syscall_texts.def"
#undef TEXT
};

// Null: it is what its type says.
const ArgumentText* find_argument_text(std::string_view call, const std::string& parameter) {
    for (const ArgumentText& row : argument_texts)
        if (glob_match(row.parameter, parameter) && glob_match(row.call, call))
            return &row;
    return nullptr;
}

bool is_mode(const Type* type) { return type && type->kind == Type::Typedef && type->name == "umode_t"; }

} // namespace

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

std::optional<Place> TargetBinder::syscall_argument(const SyscallVariable& variable, size_t index) {
    auto* at = make<hir::Load>(
        expr_.range, plus(make<hir::Argument>(expr_.range, tracepoint_regs), argument_offsets[index]), 8u, false);
    at->user = false;
    Place place;
    place.type = variable.type;
    place.parts.push_back({0, 8, PlacePart::Value, at, ""});
    return place;
}

std::optional<Place> TargetBinder::syscall_result() {
    Place place;
    place.type = point_.kernel->find_type("long");
    place.parts.push_back({0, 8, PlacePart::Value, make<hir::Argument>(expr_.range, tracepoint_result), ""});
    return place;
}

std::optional<Place> TargetBinder::syscall_variable() {
    std::string name = expr_.name.substr(1);
    if (name == "return") {
        if (point_.is_exit && binder_.inside_entry) {
            fail(DiagId::WrongContext, base_range(), "`$return` is not known when the system call begins");
            return std::nullopt;
        }
        if (point_.is_exit)
            return syscall_result();
        fail(DiagId::WrongContext, base_range(), "`$return` is for .return probes");
        return std::nullopt;
    }
    std::vector<SyscallVariable> variables = syscall_variables(point_);
    std::vector<std::string> names;
    std::string list;
    for (size_t i = 0; i < variables.size(); i++) {
        if (variables[i].name == name || fmt::format("arg{}", i + 1) == name)
            return syscall_argument(variables[i], i);
        names.push_back(variables[i].name);
        list += (list.empty() ? "$" : " $") + variables[i].name;
    }
    if (point_.is_exit) {
        names.emplace_back("return");
        list += list.empty() ? "$return" : " $return";
    }
    DiagBuilder report =
        binder_.diags.report(DiagId::UnknownVariable, base_range(),
                             fmt::format("the system call `{}` has no `{}`", point_.syscall->name, expr_.name));
    if (std::string nearest = nearest_name(name, names); !nearest.empty())
        report.suggest("$" + nearest);
    report.help(list.empty() ? "it has no parameters" : fmt::format("it has `{}`", list));
    return std::nullopt;
}

// Adds what the library says of an argument, with the separator before it; false if it says nothing.
bool TargetBinder::add_argument_text(Text& text, const std::vector<SyscallVariable>& variables, size_t index) {
    const ArgumentText* row = find_argument_text(point_.syscall->name, variables[index].name);
    if (!row || !binder_.call)
        return false;
    std::vector<hir::Expr*> args;
    for (size_t i = 0; i < variables.size(); i++)
        if (i == index || (row->second[0] && variables[i].name == row->second))
            args.insert(i == index ? args.begin() : args.end(), load(*syscall_argument(variables[i], i), expr_.range));
    bool has_separator = row->function[0] == '+';
    hir::Expr* said = binder_.call(row->function + has_separator, args);
    if (!said)
        return false;
    if (index > 0 && !has_separator)
        text.literal(", ");
    add_text(text, said);
    return true;
}

// `$$name`; `$$vars` and `$$parms`; `$$return`; `$$argstr`: the arguments as one would write them.
hir::Expr* TargetBinder::syscall_summary() {
    static const std::vector<std::string> names = {"$$vars", "$$parms", "$$return", "$$name", "$$argstr"};
    if (expr_.name == "$$name")
        return make<hir::Intrinsic>(expr_.range, "ppfunc", hir::ValueType::String, std::vector<hir::Expr*>());
    std::vector<SyscallVariable> variables = syscall_variables(point_);
    Text text;
    if (expr_.name == "$$argstr") {
        for (size_t i = 0; i < variables.size(); i++) {
            if (add_argument_text(text, variables, i))
                continue;
            if (i > 0)
                text.literal(", ");
            const Type* type = strip(variables[i].type);
            hir::Expr* value = load(*syscall_argument(variables[i], i), expr_.range);
            if (!value)
                text.literal("?");
            else if (variables[i].is_text)
                add_user_text(text, value);
            else if (variables[i].name == "fd")
                add_integer(text, make<hir::Retype>(expr_.range, value, 4u, true), 'd', 0);
            else if (is_mode(variables[i].type))
                add_integer(text, value, 'o', '#');
            else if (type->kind == Type::Pointer)
                add_integer(text, value, 'x', '#');
            else
                add_integer(text, value, type->is_signed || type->size < 8 ? 'd' : 'x', type->size < 8 ? 0 : '#');
        }
    } else if (expr_.name == "$$vars" || expr_.name == "$$parms") {
        for (size_t i = 0; i < variables.size(); i++)
            add_variable(text, variables[i].name, [&] { return syscall_argument(variables[i], i); });
    } else if (expr_.name == "$$return") {
        if (point_.is_exit)
            add_variable(text, "return", [&] { return syscall_result(); });
    } else {
        binder_.diags.report(DiagId::UnknownVariable, base_range(), fmt::format("unknown variable `{}`", expr_.name))
            .suggest(nearest_name(expr_.name, names));
        return nullptr;
    }
    return finish(std::move(text));
}

// In quotes, or its address where it cannot be read: a page that has to be waited for is not here.
void TargetBinder::add_user_text(Text& text, hir::Expr* address) {
    plan::Directive directive;
    directive.kind = plan::Directive::String;
    directive.conversion = 's';
    text.format.directives.push_back(directive);
    text.args.push_back(
        make<hir::Intrinsic>(expr_.range, "__user_text", hir::ValueType::String, std::vector<hir::Expr*>{address}));
}

} // namespace sonde
