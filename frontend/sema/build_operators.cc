// Builds the @operators that are not target expressions: @choose_defined, @enum, @enumname, @probewrite, @perf,
// registers and memory access.
//
// Many of them are decided here and become a constant, because the answer depends only on the probe point and its debug
// information. The parser has already checked the number of arguments and which of them are literals.
#include <algorithm>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/glob.h"
#include "base/suggest.h"
#include "frontend/ast/walk.h"
#include "frontend/hir/walk.h"
#include "frontend/sema/build_call.h"
#include "frontend/sema/build_expr.h"
#include "frontend/sema/build_operators.h"
#include "frontend/sema/build_target.h"
#include "frontend/variables/async_chain.h"
#include "frontend/variables/signature.h"
#include "runtime/plan/kinds.h"

namespace sonde {

using hir::ValueType;

namespace {

// A source of enumerators: a program, a header or the kernel.
struct EnumSource {
    std::string name; // for messages
    std::function<std::optional<int64_t>(const std::string&)> value;
    std::function<const Type*(const std::string&)> type;
    std::function<std::vector<std::string>()> names; // for "did you mean"; null if the names cannot be listed
    explicit operator bool() const { return value != nullptr; }
};

const std::string& literal_argument(const ast::AtOperatorExpr& expr, size_t index) {
    return ast::as<ast::StringExpr>(*expr.args[index]).value;
}

// Builds @perf("name"). analyze() builds the probes that declare counters first, so the script may declare the counter
// further down.
hir::Expr* build_perf(Body& b, const ast::AtOperatorExpr& expr) {
    const std::string& name = literal_argument(expr, 0);
    if (!b.running() || !plan::is_uprobe(b.running()->kind)) {
        b.context
            .report_once(DiagId::WrongContext, expr.range,
                         b.point ? "`@perf` needs a probe in a process, as `process(\"PATH\").function(\"NAME\")`"
                                 : "`@perf` cannot be used in a function")
            .help("to count one call, subtract `@entry(@perf(\"NAME\"))` from `@perf(\"NAME\")` at its return");
        return b.zero(expr.range);
    }
    std::vector<std::string> names;
    const std::vector<plan::Counter>& counters = b.context.claims.counters();
    for (size_t i = 0; i < counters.size(); i++) {
        names.push_back(counters[i].name);
        if (names.back() == name) {
            std::vector<hir::Expr*> args = {b.make<hir::ConstLong>(expr.range, static_cast<int64_t>(i))};
            return b.make<hir::Intrinsic>(expr.range, "__counter", ValueType::Long, std::move(args));
        }
    }
    DiagBuilder report = b.context.report_once(DiagId::NoMatch, expr.args[0]->range,
                                               fmt::format("the script has no counter `{}`", name));
    if (std::string near = nearest_name(name, names); !near.empty())
        report.suggest(near);
    else
        report.help(fmt::format("declare a counter, as `probe perf.sw.page_faults.counter(\"{}\") {{}}`", name));
    return b.zero(expr.range);
}

// Builds only the operand that is chosen. The other one need not be valid at this point.
hir::Expr* build_choose_defined(Body& b, const ast::AtOperatorExpr& expr) {
    return build_expr(b, is_defined(b, *expr.args[0]) ? *expr.args[0] : *expr.args[1]);
}

// Finds where enumerators are searched: in the source that the argument names, otherwise where the probe is. Reports an
// error and returns an empty source if there is none. In the probed program, definitions near the probed function come
// first, because several sources of a program can define the same name.
EnumSource enum_source(Body& b, const ast::AtOperatorExpr& expr, size_t argument) {
    const std::string* name = expr.args.size() > argument ? &literal_argument(expr, argument) : nullptr;
    auto of_program = [&b](DwarfModule& module) {
        DieOffset near = b.point && &module == b.point->module ? b.point->function.die : 0;
        return EnumSource{module.path(), [&module, near](const std::string& n) { return module.enumerator(n, near); },
                          [&module, near](const std::string& n) { return module.find_type(n, near); }, nullptr};
    };
    std::string why;
    if (name ? *name == "kernel" || name->starts_with("kernel<") : b.point && b.point->kernel && !b.point->module) {
        if (Result<KernelTypes*> kernel = b.context.env.kernel()) {
            b.needs_same_types() = true;
            auto find_enum = [types = *kernel](const std::string& n) {
                return types->find_type(n.starts_with("enum ") ? n : "enum " + n);
            };
            return {"kernel", [types = *kernel](const std::string& n) { return types->enumerator(n); }, find_enum,
                    [types = *kernel] { return types->enumerator_names(); }};
        } else {
            why = kernel.error().message;
        }
    } else if (!name) {
        if (b.point && b.point->module && b.point->module->has_debug_info())
            return of_program(*b.point->module);
        why = b.point && b.point->module ? "the probed program has no debug information"
                                         : "this probe is not in a program with debug information";
    } else if (is_header(*name)) {
        bool is_32_bit = b.point && b.point->module && b.point->module->file().is_32_bit();
        if (Result<HeaderTypes*> header = b.context.env.header(name->substr(1, name->size() - 2), is_32_bit))
            return {*name, [types = *header](const std::string& n) { return types->constant(n); },
                    [types = *header](const std::string& n) { return types->find_type(n); },
                    [types = *header] { return types->constant_names(); }};
        else
            why = header.error().message;
    } else if (Result<std::string> path = find_file(*name); !path) {
        why = path.error().message;
    } else if (Result<DwarfModule*> module = b.context.env.module(*path); !module) {
        why = module.error().message;
    } else {
        return of_program(**module);
    }
    b.context.report_once(DiagId::WrongContext, expr.range,
                          fmt::format("`{}` has no enumerators here: {}", expr.name, why));
    return {};
}

// Builds @enum("NAME"[, "SOURCE"]): the value of an enumerator.
hir::Expr* build_enum(Body& b, const ast::AtOperatorExpr& expr) {
    const std::string& name = literal_argument(expr, 0);
    EnumSource source = enum_source(b, expr, 1);
    if (!source)
        return b.zero(expr.range);
    if (std::optional<int64_t> value = source.value(name))
        return b.make<hir::ConstLong>(expr.range, *value);
    DiagBuilder report = b.context.report_once(DiagId::UnknownType, expr.args[0]->range,
                                               fmt::format("no enumerator `{}` in `{}`", name, source.name));
    if (source.names)
        report.suggest(nearest_name(name, source.names()));
    return b.zero(expr.range);
}

// Builds @const("C"): an enumerator of the kernel, or else a constant expression over definitions in the system's
// headers.
hir::Expr* build_const(Body& b, const ast::AtOperatorExpr& expr) {
    const std::string& text = literal_argument(expr, 0);
    std::string why;
    if (Result<KernelTypes*> kernel = b.context.env.kernel())
        if (std::optional<int64_t> value = (*kernel)->enumerator(text)) {
            b.needs_same_types() = true;
            return b.make<hir::ConstLong>(expr.range, *value);
        }
    if (Result<HeaderTypes*> headers = b.context.env.system_headers(); !headers)
        why = headers.error().message;
    else if (std::optional<int64_t> value = (*headers)->constant(text))
        return b.make<hir::ConstLong>(expr.range, *value);
    else
        why = "neither the kernel's types nor the system's headers define it";
    b.context.report_once(DiagId::UnknownType, expr.args[0]->range, fmt::format("`{}` is not known: {}", text, why))
        .help("`@enum(\"NAME\", \"<HEADER>\")` searches a header, without -g");
    return b.zero(expr.range);
}

// Builds @enumname: the name of the enumerator with this value, or the number as text if none has it. The value is
// evaluated once, into a hidden local:
//
//     (enum.0 = VALUE) || 1 ? (enum.0 == 0 ? "RED" : enum.0 == 1 ? "GREEN" : sprintf("%d", enum.0)) : ""
hir::Expr* build_enumname(Body& b, const ast::AtOperatorExpr& expr) {
    auto* nothing = b.make<hir::ConstString>(expr.range, "");
    hir::Expr* value = build_expr(b, *expr.args[0]);
    const Type* type = nullptr;
    if (expr.args.size() > 1) {
        const std::string& name = literal_argument(expr, 1);
        EnumSource source = enum_source(b, expr, 2);
        if (!source)
            return nothing;
        type = strip(source.type(name));
        if (!type || type->kind != Type::Enum) {
            b.context.report_once(DiagId::UnknownType, expr.args[1]->range,
                                  fmt::format("no enumeration `{}` in `{}`", name, source.name));
            return nothing;
        }
    } else {
        type = c_type_of(b.tables, *value) ? strip(c_type_of(b.tables, *value)) : nullptr;
        if (!type || type->kind != Type::Enum) {
            b.context
                .report_once(DiagId::UnknownType, expr.args[0]->range,
                             fmt::format("`{}` is not a value of an enumeration", ast::to_source(*expr.args[0])))
                .help(
                    fmt::format("name the enumeration: `@enumname({}, \"enum NAME\")`", ast::to_source(*expr.args[0])));
            return nothing;
        }
    }
    hir::Local* local = b.declare_hidden("enum", expr.range);
    auto read = [&] { return b.make<hir::LocalRef>(expr.range, local); };
    plan::Format number;
    number.directives.emplace_back();
    number.directives[0].kind = plan::Directive::Integer;
    number.directives[0].conversion = 'd';
    hir::Expr* text = b.make<hir::Print>(expr.range, std::move(number), std::vector<hir::Expr*>{read()}, true);
    for (auto one = type->enumerators.rbegin(); one != type->enumerators.rend(); ++one) {
        auto* equal =
            b.make<hir::Binary>(expr.range, hir::BinaryOp::Eq, read(), b.make<hir::ConstLong>(expr.range, one->value));
        text = b.make<hir::Ternary>(expr.range, equal, b.make<hir::ConstString>(expr.range, one->name), text);
    }
    // `assigned || 1` is always true, but evaluates the assignment first.
    auto* held = b.make<hir::Assign>(expr.range, read(), value);
    auto* first = b.make<hir::Logical>(expr.range, false, held, b.make<hir::ConstLong>(expr.range, 1));
    return b.make<hir::Ternary>(expr.range, first, text, nothing);
}

// Builds @probewrite in an alias's prologue or epilogue: whether the probe's own body assigns the variable.
hir::Expr* build_probewrite(Body& b, const ast::AtOperatorExpr& expr) {
    std::string wanted = ast::to_source(*expr.args[0]);
    bool written = false;
    auto look = [&](const ast::Expr& e) {
        if (e.kind == ast::ExprKind::Assign)
            written = written || ast::to_source(*ast::as<ast::AssignExpr>(e).target) == wanted;
        else if (e.kind == ast::ExprKind::IncDec)
            written = written || ast::to_source(*ast::as<ast::IncDecExpr>(e).target) == wanted;
    };
    if (b.user_body)
        for_each_expr(*b.user_body, look);
    else
        b.context.report_once(DiagId::WrongContext, expr.range,
                              "`@probewrite` can be used only in the body of a probe alias");
    return b.make<hir::ConstLong>(expr.range, written);
}

// Builds @uregister(N) and @kregister(N). The numbers are those of DWARF.
hir::Expr* build_register(Body& b, const ast::AtOperatorExpr& expr) {
    const Architecture& architecture = *b.context.env.architecture;
    const int64_t last = architecture.registers().count() - 1;
    bool of_kernel = expr.name == "@kregister";
    int64_t number = ast::as<ast::NumberExpr>(*expr.args[0]).value;
    if (number < 0 || number > last) {
        b.context.report_once(DiagId::UnknownVariable, expr.args[0]->range,
                              fmt::format("register {} does not exist: the DWARF numbers of {} are 0 to {}", number,
                                          architecture.name(), last));
        return b.zero(expr.range);
    }
    if (of_kernel && b.point && plan::is_trampoline(b.point->kind)) {
        b.context
            .report_once(DiagId::Unsupported, expr.range,
                         "only breakpoints keep registers, and this kernel does not have breakpoints")
            .help("read parameters by their names, or as `int_arg(N)`");
        return b.zero(expr.range);
    }
    bool is_kernel = b.point && plan::is_kernel_breakpoint(b.point->kind);
    // Without these registers, reading one is a run-time error, so that a script can use `try`.
    if (of_kernel ? !is_kernel : is_kernel || !b.point || !b.point->module)
        return build_call_to(b, *b.names.find_function("__no_registers", 0, b.file, expr.range), {}, expr.range);
    return b.make<hir::Register>(expr.range, static_cast<int>(number));
}

// Builds @uderef(SIZE, ADDRESS) and @kderef(SIZE, ADDRESS): an unsigned number in memory.
hir::Expr* build_deref(Body& b, const ast::AtOperatorExpr& expr) {
    bool user = expr.name == "@uderef";
    static const std::vector<int64_t> sizes = {1, 2, 4, 8};
    const int64_t size = ast::as<ast::NumberExpr>(*expr.args[0]).value;
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) {
        b.context.report_once(
            DiagId::TypeMismatch, expr.args[0]->range,
            fmt::format("`{}` reads 1, 2, 4 or 8 bytes; pass one of these numbers as its first argument", expr.name));
        return b.zero(expr.range);
    }
    auto* load = b.make<hir::Load>(expr.range, build_expr(b, *expr.args[1]), static_cast<uint32_t>(size), false);
    load->user = user;
    return load;
}

hir::Expr* call_library(Body& b, const char* name, std::vector<hir::Expr*> args, Range range) {
    NamedFunction* function = b.names.find_function(name, args.size(), b.file, range);
    return function ? build_call_to(b, *function, std::move(args), range) : b.zero(range);
}

// Builds the n'th argument of the probed function. For C, the ABI defines its place. For Go, the types of all arguments
// define it. At a Go function's entry, the argument's number (a run-time value) selects one of the known places. For
// `func f(a int, s string, b int)`, the string takes two registers: `n == 1 ? rax : n == 3 ? rdi :
// __no_go_argument(n)`.
hir::Expr* build_argument(Body& b, const ast::AtOperatorExpr& expr) {
    if (!b.point || !b.point->is_go)
        return call_library(b, "__argument", {build_expr(b, *expr.args[0])}, expr.range);
    Binder with = make_binder(b, expr.range);
    const std::vector<hir::Expr*> arguments = bind_arguments(*b.point, expr.range, with);
    const char* refusal = arguments.empty() ? "__no_go_arguments" : "__no_go_argument";
    hir::Expr* value = nullptr;
    if (b.inside_entry) // a negative number is refused without memory for a message
        value = call_library(b, "__argument",
                             {b.make<hir::Unary>(expr.range, hir::UnaryOp::Minus, build_expr(b, *expr.args[0]))},
                             expr.range);
    else
        value = call_library(b, refusal, {build_expr(b, *expr.args[0])}, expr.range);
    for (size_t i = 0; i < arguments.size(); i++) {
        if (!arguments[i])
            continue;
        auto* same = b.make<hir::Binary>(expr.range, hir::BinaryOp::Eq, build_expr(b, *expr.args[0]),
                                         b.make<hir::ConstLong>(expr.range, static_cast<int64_t>(i + 1)));
        value = b.make<hir::Ternary>(expr.range, same, arguments[i], value);
    }
    return value;
}

// Builds the function's result, as its register holds it. For a narrow type only the low bytes of the register are
// defined.
hir::Expr* build_result(Body& b, const ast::AtOperatorExpr& expr) {
    hir::Expr* value = call_library(b, "__result", {}, expr.range);
    const Type* narrow = b.point ? narrow_result(*b.point) : nullptr;
    return narrow ? b.make<hir::Retype>(expr.range, value, static_cast<uint32_t>(narrow->size), narrow->is_signed)
                  : value;
}

// Builds the chain of futures or coroutines from an object, as a text for the library.
hir::Expr* build_async_walk(Body& b, const ast::AtOperatorExpr& expr) {
    hir::Expr* object = build_expr(b, *expr.args[0]);
    hir::Expr* chain = nullptr;
    if (b.point) {
        Binder binder = make_binder(b, expr.range);
        chain = bind_async_walk(object, *b.point, expr.range, binder);
    }
    return chain ? chain : b.make<hir::ConstString>(expr.range, "");
}

// Builds the same for the probed function. In Rust, the functions that wait are on the user stack, which is printed,
// and the chain is empty.
hir::Expr* build_own_async_walk(Body& b, const ast::AtOperatorExpr& expr) {
    const bool can_print = ast::as<ast::NumberExpr>(*expr.args[0]).value != 0;
    auto* none = b.make<hir::ConstString>(expr.range, "");
    if (!b.point || has_async_stack(*b.point)) {
        if (can_print)
            return call_library(b, "__print_async_stack", {}, expr.range);
        b.context
            .report_once(DiagId::Unsupported, expr.range,
                         "the async functions that run here are known only when the user stack is printed")
            .help("use `print_async_backtrace()`, or `sprint_async_backtrace(&$future)` for a future");
        return none;
    }
    Binder binder = make_binder(b, expr.range);
    hir::Expr* chain = bind_own_async_walk(*b.point, expr.range, binder);
    return chain ? chain : none;
}

hir::Expr* build_async_line(Body& b, const ast::AtOperatorExpr& expr) {
    hir::Expr* number = build_expr(b, *expr.args[0]);
    if (!b.point)
        return b.make<hir::ConstString>(expr.range, "");
    Binder binder = make_binder(b, expr.range);
    return b.make<hir::Intrinsic>(expr.range, "__async_line", ValueType::String,
                                  std::vector<hir::Expr*>{bind_async_lines(*b.point, expr.range, binder), number});
}

struct Operator {
    std::string_view name;
    hir::Expr* (*build)(Body& b, const ast::AtOperatorExpr& expr);
};
constexpr Operator operators[] = {
    {"@choose_defined", build_choose_defined},
    {"@const", build_const},
    {"@enum", build_enum},
    {"@enumname", build_enumname},
    {"@probewrite", build_probewrite},
    {"@uregister", build_register},
    {"@kregister", build_register},
    {"@uderef", build_deref},
    {"@kderef", build_deref},
    {"@perf", build_perf},
    {"@__argument", build_argument},
    {"@__result", build_result},
    {"@__async_walk", build_async_walk},
    {"@__async_own", build_own_async_walk},
    {"@__async_line", build_async_line},
};

} // namespace

hir::Expr* build_at(Body& b, const ast::AtOperatorExpr& expr) {
    return std::ranges::find(operators, expr.name, &Operator::name)->build(b, expr);
}

} // namespace sonde
