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
    // Some texts are no strings: what is written has a length of its own.
    out.is_text = text.starts_with("const char *") && text.find("**") == std::string_view::npos &&
                  text.find("*const") == std::string_view::npos && out.name != "buf" && out.name != "u_msg_ptr";
    return out;
}

// Arguments that have names for their values: which function of the library (stdlib/syscall_text.stp, names.stp) says
// them. Calls and parameters are patterns; the first row that fits counts.
struct Named {
    const char *call, *parameter, *function;
};
constexpr Named named[] = {
    {"*", "dfd", "_dfd_str"},
    {"*", "*dirfd", "_dfd_str"},
    {"*", "olddfd", "_dfd_str"},
    {"*", "newdfd", "_dfd_str"},
    {"open", "flags", "_open_flag_str"},
    {"openat", "flags", "_open_flag_str"},
    {"open_by_handle_at", "flags", "_open_flag_str"},
    {"access", "mode", "_access_mode_str"},
    {"faccessat*", "mode", "_access_mode_str"},
    {"mmap", "prot", "_mprot_str"},
    {"*mprotect", "prot", "_mprot_str"},
    {"mmap", "flags", "_mmap_flags_str"},
    {"clone", "clone_flags", "_clone_flags_str"},
    {"unshare", "unshare_flags", "_clone_flags_str"},
    {"setns", "flags", "_clone_flags_str"},
    {"wait*", "options", "__wait_options_text"},
    {"mount", "flags", "_mount_flags_str"},
    {"send*", "flags", "_msg_flags_str"},
    {"recv*", "flags", "_msg_flags_str"},
    {"socket*", "family", "__family_text"},
    {"socket*", "type", "_sock_type_str"},
    {"lseek", "whence", "_seek_whence_str"},
    {"*", "which_clock", "_clock_str"},
    {"fcntl", "cmd", "_fcntl_cmd_str"},
    {"futex", "op", "_futex_op_str"},
    {"epoll_ctl", "op", "_epoll_op_str"},
    {"rt_sigprocmask", "how", "_sigprocmask_how_str"},
    {"*", "sig", "__signal_text"},
    {"sched_setscheduler", "policy", "_sched_policy_str"},
    {"*", "resource", "_rlimit_resource_str"},
    {"madvise", "behavior", "_madvice_str"},
};

// Null: its values have no names.
const char* names_of(std::string_view call, const std::string& parameter) {
    for (const Named& row : named)
        if (glob_match(row.parameter, parameter) && glob_match(row.call, call))
            return row.function;
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

// The name of what an argument says, as text; null if it has none.
hir::Expr* TargetBinder::syscall_name_of(const std::string& parameter, hir::Expr* value) {
    const char* function = names_of(point_.syscall->name, parameter);
    return function && binder_.call ? binder_.call(function, {value}) : nullptr;
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
            if (i > 0)
                text.literal(", ");
            std::optional<Place> place = syscall_argument(variables[i], i);
            const Type* type = strip(variables[i].type);
            hir::Expr* value = load(*place, expr_.range);
            if (!value)
                text.literal("?");
            else if (hir::Expr* name = syscall_name_of(variables[i].name, value))
                add_text(text, name);
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
