// The @operators that are no target expressions: @choose_defined, @enum, @enumname, @probewrite, registers and memory.
#include <algorithm>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/suggest.h"
#include "frontend/ast/walk.h"
#include "frontend/hir/walk.h"
#include "frontend/sema/body_builder.h"

namespace sonde {

using hir::ValueType;

const std::vector<BodyBuilder::Operator>& BodyBuilder::operators() {
    static const std::vector<Operator> all = {
        {"@choose_defined", &BodyBuilder::build_choose_defined},
        {"@const", &BodyBuilder::build_const},
        {"@enum", &BodyBuilder::build_enum},
        {"@enumname", &BodyBuilder::build_enumname},
        {"@probewrite", &BodyBuilder::build_probewrite},
        {"@uregister", &BodyBuilder::build_register},
        {"@kregister", &BodyBuilder::build_register},
        {"@uderef", &BodyBuilder::build_deref},
        {"@kderef", &BodyBuilder::build_deref},
        {"@perf", &BodyBuilder::build_perf},
    };
    return all;
}

hir::Expr* BodyBuilder::build_at(const ast::AtOperatorExpr& expr) {
    // The parser has looked at the name and at the arguments.
    return (this->*std::ranges::find(operators(), expr.name, &Operator::name)->build)(expr);
}

const std::string& BodyBuilder::literal(const ast::AtOperatorExpr& expr, size_t index) {
    return ast::as<ast::StringExpr>(*expr.args[index]).value;
}

// @perf("name"): the counter may be declared further down, and is looked for among all perf probes.
hir::Expr* BodyBuilder::build_perf(const ast::AtOperatorExpr& expr) {
    const std::string& name = literal(expr, 0);
    if (!context_ || !plan::is_uprobe(context_->kind)) {
        c_.report_once(DiagId::WrongContext, expr.range,
                       point_ ? "`@perf` is for probes in a process, as `process(\"PATH\").function(\"NAME\")`"
                              : "`@perf` cannot stand in a function")
            .help("a counter goes on while its thread runs: what a call has counted is the difference between "
                  "`@entry(@perf(\"NAME\"))` and `@perf(\"NAME\")` at its return");
        return zero(expr.range);
    }
    std::vector<std::string> names;
    for (size_t i = 0; i < c_.env.counters.size(); i++) {
        names.push_back(c_.env.counters[i].name);
        if (names.back() == name) {
            std::vector<hir::Expr*> args = {make<hir::ConstLong>(expr.range, static_cast<int64_t>(i))};
            return make<hir::Intrinsic>(expr.range, "__counter", ValueType::Long, std::move(args));
        }
    }
    DiagBuilder report =
        c_.report_once(DiagId::NoMatch, expr.args[0]->range, fmt::format("there is no counter `{}`", name));
    if (std::string near = nearest_name(name, names); !near.empty())
        report.suggest(near);
    else
        report.help(fmt::format("`probe perf.sw.page_faults.counter(\"{}\") {{}}` would be one", name));
    return zero(expr.range);
}

hir::Expr* BodyBuilder::build_choose_defined(const ast::AtOperatorExpr& expr) {
    return build(is_defined(*expr.args[0]) ? *expr.args[0] : *expr.args[1]);
}

BodyBuilder::EnumSource BodyBuilder::enum_source(const ast::AtOperatorExpr& expr, size_t argument) {
    const std::string* name = expr.args.size() > argument ? &literal(expr, argument) : nullptr;
    auto of_program = [this](DwarfModule& module) {
        DieOffset near = point_ && &module == point_->module ? point_->function.die : 0;
        return EnumSource{module.path(), [&module, near](const std::string& n) { return module.enumerator(n, near); },
                          [&module, near](const std::string& n) { return module.find_type(n, near); }, nullptr};
    };
    std::string why;
    if (name ? *name == "kernel" || name->starts_with("kernel<") : point_ && point_->kernel && !point_->module) {
        if (Result<KernelTypes*> kernel = c_.env.kernel()) {
            c_.env.relies_on_kernel = true;
            auto find_enum = [types = *kernel](const std::string& n) {
                return types->find_type(n.starts_with("enum ") ? n : "enum " + n);
            };
            return {"kernel", [types = *kernel](const std::string& n) { return types->enumerator(n); }, find_enum,
                    [types = *kernel] { return types->enumerator_names(); }};
        } else {
            why = kernel.error().message;
        }
    } else if (!name) {
        if (point_ && point_->module && point_->module->has_debug_info())
            return of_program(*point_->module);
        why = point_ && point_->module ? "the probed program has no debug information"
                                       : "no program with debug information is probed here";
    } else if (is_header(*name)) {
        bool is_32_bit = point_ && point_->module && point_->module->file().is_32_bit();
        if (Result<HeaderTypes*> header = c_.env.header(name->substr(1, name->size() - 2), is_32_bit))
            return {*name, [types = *header](const std::string& n) { return types->constant(n); },
                    [types = *header](const std::string& n) { return types->find_type(n); },
                    [types = *header] { return types->constant_names(); }};
        else
            why = header.error().message;
    } else if (Result<std::string> path = find_file(*name); !path) {
        why = path.error().message;
    } else if (Result<DwarfModule*> module = c_.env.module(*path); !module) {
        why = module.error().message;
    } else {
        return of_program(**module);
    }
    c_.report_once(DiagId::WrongContext, expr.range, fmt::format("`{}` has no enumerators here: {}", expr.name, why));
    return {};
}

hir::Expr* BodyBuilder::build_enum(const ast::AtOperatorExpr& expr) {
    const std::string& name = literal(expr, 0);
    EnumSource source = enum_source(expr, 1);
    if (!source)
        return zero(expr.range);
    if (std::optional<int64_t> value = source.value(name))
        return make<hir::ConstLong>(expr.range, *value);
    DiagBuilder report = c_.report_once(DiagId::UnknownType, expr.args[0]->range,
                                        fmt::format("no enumerator `{}` in `{}`", name, source.name));
    if (source.names)
        report.suggest(nearest_name(name, source.names()));
    return zero(expr.range);
}

// @const("C"): an enumerator of the kernel's, else a constant expression of what the system's headers define.
hir::Expr* BodyBuilder::build_const(const ast::AtOperatorExpr& expr) {
    const std::string& text = literal(expr, 0);
    std::string why;
    if (Result<KernelTypes*> kernel = c_.env.kernel())
        if (std::optional<int64_t> value = (*kernel)->enumerator(text)) {
            c_.env.relies_on_kernel = true;
            return make<hir::ConstLong>(expr.range, *value);
        }
    if (Result<HeaderTypes*> headers = c_.env.system_headers(); !headers)
        why = headers.error().message;
    else if (std::optional<int64_t> value = (*headers)->constant(text))
        return make<hir::ConstLong>(expr.range, *value);
    else
        why = "the kernel's types have no enumerator of that name, and the system's headers give it no value";
    c_.report_once(DiagId::UnknownType, expr.args[0]->range, fmt::format("`{}` is not known: {}", text, why))
        .help("`@enum(\"NAME\", \"<HEADER>\")` looks in a header, without -g");
    return zero(expr.range);
}

// The enumerator's name, or the number as text where none has that value.
hir::Expr* BodyBuilder::build_enumname(const ast::AtOperatorExpr& expr) {
    auto* nothing = make<hir::ConstString>(expr.range, "");
    hir::Expr* value = build(*expr.args[0]);
    const Type* type = nullptr;
    if (expr.args.size() > 1) {
        const std::string& name = literal(expr, 1);
        EnumSource source = enum_source(expr, 2);
        if (!source)
            return nothing;
        type = strip(source.type(name));
        if (!type || type->kind != Type::Enum) {
            c_.report_once(DiagId::UnknownType, expr.args[1]->range,
                           fmt::format("no enumeration `{}` in `{}`", name, source.name));
            return nothing;
        }
    } else {
        type = c_type_of(notes_, *value) ? strip(c_type_of(notes_, *value)) : nullptr;
        if (!type || type->kind != Type::Enum) {
            c_.report_once(DiagId::UnknownType, expr.args[0]->range,
                           fmt::format("`{}` is no value of an enumeration", ast::to_source(*expr.args[0])))
                .help(fmt::format("name it: `@enumname({}, \"enum NAME\")`", ast::to_source(*expr.args[0])));
            return nothing;
        }
    }
    hir::Local* local = hidden("enum", expr.range);
    auto read = [&] { return make<hir::LocalRef>(expr.range, local); };
    plan::Format number;
    number.directives.emplace_back();
    number.directives[0].kind = plan::Directive::Integer;
    number.directives[0].conversion = 'd';
    hir::Expr* text = make<hir::Print>(expr.range, std::move(number), std::vector<hir::Expr*>{read()}, true);
    for (auto one = type->enumerators.rbegin(); one != type->enumerators.rend(); ++one) {
        auto* equal =
            make<hir::Binary>(expr.range, hir::BinaryOp::Eq, read(), make<hir::ConstLong>(expr.range, one->value));
        text = make<hir::Ternary>(expr.range, equal, make<hir::ConstString>(expr.range, one->name), text);
    }
    // `assigned || 1` is true, and evaluates the value first.
    auto* held = make<hir::Assign>(expr.range, read(), value);
    auto* first = make<hir::Logical>(expr.range, false, held, make<hir::ConstLong>(expr.range, 1));
    return make<hir::Ternary>(expr.range, first, text, nothing);
}

// In an alias' prologue or epilogue: whether the probe's own body sets that variable.
hir::Expr* BodyBuilder::build_probewrite(const ast::AtOperatorExpr& expr) {
    std::string wanted = ast::to_source(*expr.args[0]);
    bool written = false;
    auto look = [&](const ast::Expr& e) {
        if (e.kind == ast::ExprKind::Assign)
            written = written || ast::to_source(*ast::as<ast::AssignExpr>(e).target) == wanted;
        else if (e.kind == ast::ExprKind::IncDec)
            written = written || ast::to_source(*ast::as<ast::IncDecExpr>(e).target) == wanted;
    };
    if (user_body_)
        for_each_expr(*user_body_, look);
    else
        c_.report_once(DiagId::WrongContext, expr.range, "`@probewrite` is for the body of a probe alias");
    return make<hir::ConstLong>(expr.range, written);
}

hir::Expr* BodyBuilder::build_register(const ast::AtOperatorExpr& expr) {
    constexpr int64_t last = 16;
    bool of_kernel = expr.name == "@kregister";
    int64_t number = ast::as<ast::NumberExpr>(*expr.args[0]).value;
    if (number < 0 || number > last) {
        c_.report_once(DiagId::UnknownVariable, expr.args[0]->range,
                       fmt::format("there is no register {}: DWARF numbers of x86-64 are 0 to {}", number, last));
        return zero(expr.range);
    }
    if (of_kernel && point_ && plan::is_trampoline(point_->kind)) {
        c_.report_once(DiagId::Unsupported, expr.range,
                       "registers are kept by breakpoints only, which this kernel does not have")
            .help("parameters are there by their names, and as `int_arg(N)`");
        return zero(expr.range);
    }
    bool is_kernel = point_ && plan::is_kernel_breakpoint(point_->kind);
    // Elsewhere there are none, which is an error of the run: a script may try.
    if (of_kernel ? !is_kernel : is_kernel || !point_ || !point_->module)
        return call(*known_.find_function("__no_registers", 0, file_, expr.range), {}, expr.range);
    return make<hir::Register>(expr.range, static_cast<int>(number));
}

hir::Expr* BodyBuilder::build_deref(const ast::AtOperatorExpr& expr) {
    bool user = expr.name == "@uderef";
    static const std::vector<int64_t> sizes = {1, 2, 4, 8};
    const int64_t size = ast::as<ast::NumberExpr>(*expr.args[0]).value;
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) {
        c_.report_once(DiagId::TypeMismatch, expr.args[0]->range,
                       fmt::format("`{}` reads 1, 2, 4 or 8 bytes: its first argument is that number", expr.name));
        return zero(expr.range);
    }
    auto* load = make<hir::Load>(expr.range, build(*expr.args[1]), static_cast<uint32_t>(size), false);
    load->user = user;
    return load;
}

} // namespace sonde
