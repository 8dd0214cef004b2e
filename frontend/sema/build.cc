// Expressions: trees to HIR. Types are still open; infer.cc settles them.
#include <utility>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/parse/format.h"
#include "frontend/sema/body_builder.h"

namespace sonde {

using hir::ValueType;
using plan::Directive;

hir::Local* BodyBuilder::declare(const std::string& name, Range range) {
    auto [entry, fresh] = names_.try_emplace(name, nullptr);
    if (fresh) {
        entry->second = make<hir::Local>();
        entry->second->name = name;
        entry->second->range = range;
        entry->second->index = static_cast<uint32_t>(names_.size() - 1);
        locals_.push_back(entry->second);
    }
    return entry->second;
}

Binder BodyBuilder::binder() {
    Binder binder{a_.arena_, a_.diags_, [this](const ast::Expr& expr) { return build(expr); }, nullptr, inside_entry_};
    if (point_ && point_->is_return && handler_)
        binder.at_entry = [this](hir::Expr* expr) -> hir::Expr* {
            // The same expression is saved once.
            for (size_t i = 0; i < handler_->entry_values.size(); i++)
                if (handler_->entry_values[i] == expr)
                    return make<hir::EntryRead>(expr->range, expr->type, static_cast<uint32_t>(i));
            handler_->entry_values.push_back(expr);
            return make<hir::EntryRead>(expr->range, expr->type,
                                        static_cast<uint32_t>(handler_->entry_values.size() - 1));
        };
    return binder;
}

bool BodyBuilder::is_defined(const ast::Expr& expr) {
    Diagnostics::Suppress quiet(a_.diags_);
    size_t entries = handler_ ? handler_->entry_values.size() : 0;
    size_t locals = locals_.size();
    hir::Expr* built = nullptr;
    if (expr.kind == ast::ExprKind::Target) {
        Binder with = binder();
        built = point_ ? bind_target(ast::as<ast::TargetExpr>(expr), *point_, with) : nullptr;
    } else {
        built = build(expr);
    }
    bool defined = built && quiet.errors() == 0;
    // Nothing that the trial left behind may stay.
    if (handler_)
        handler_->entry_values.resize(entries);
    while (locals_.size() > locals) {
        names_.erase(locals_.back()->name);
        locals_.pop_back();
    }
    return defined;
}

std::optional<bool> BodyBuilder::known(const ast::Expr& expr) {
    switch (expr.kind) {
    case ast::ExprKind::Number:
        return ast::as<ast::NumberExpr>(expr).value != 0;
    case ast::ExprKind::Defined:
        return is_defined(*ast::as<ast::DefinedExpr>(expr).operand);
    case ast::ExprKind::Unary: {
        const auto& unary = ast::as<ast::UnaryExpr>(expr);
        std::optional<bool> value = unary.op == ast::UnaryOp::Not ? known(*unary.operand) : std::nullopt;
        return value ? std::optional(!*value) : std::nullopt;
    }
    case ast::ExprKind::Binary: {
        const auto& binary = ast::as<ast::BinaryExpr>(expr);
        if (binary.op != ast::BinaryOp::And && binary.op != ast::BinaryOp::Or)
            return std::nullopt;
        bool decisive = binary.op == ast::BinaryOp::Or;
        std::optional<bool> left = known(*binary.left);
        if (!left || *left == decisive)
            return left;
        return known(*binary.right);
    }
    default:
        return std::nullopt;
    }
}

hir::Expr* BodyBuilder::build_condition(const ast::Expr& expr, FileId file) {
    FileId saved = std::exchange(file_, file);
    hir::Expr* out = build(expr);
    file_ = saved;
    return out;
}

hir::Expr* BodyBuilder::effect(const ast::Expr& expr) {
    if (expr.kind == ast::ExprKind::Assign)
        return build_assign(ast::as<ast::AssignExpr>(expr), true);
    if (expr.kind == ast::ExprKind::IncDec)
        return build_incdec(ast::as<ast::IncDecExpr>(expr), true);
    return build(expr);
}

hir::Expr* BodyBuilder::build(const ast::Expr& expr) {
    using ast::ExprKind;
    Range range = expr.range;
    switch (expr.kind) {
    case ExprKind::Number:
        return make<hir::ConstLong>(range, ast::as<ast::NumberExpr>(expr).value);
    case ExprKind::String:
        return make<hir::ConstString>(range, ast::as<ast::StringExpr>(expr).value);
    case ExprKind::Name:
        return build_name(ast::as<ast::NameExpr>(expr));
    case ExprKind::Index: {
        const auto& e = ast::as<ast::IndexExpr>(expr);
        hir::Global* global = array(e.name, e.name_range);
        if (!global)
            return zero(range);
        return make<hir::Element>(e.name_range, global, build_keys(e.keys, false, *global, range));
    }
    case ExprKind::Wildcard:
        a_.diags_.report(DiagId::Syntax, range, "`*` stands for any key only in foreach, delete and `in`");
        return zero(range);
    case ExprKind::Call:
        return build_call(ast::as<ast::CallExpr>(expr));
    case ExprKind::Print:
        return build_print(ast::as<ast::PrintExpr>(expr));
    case ExprKind::Unary: {
        const auto& e = ast::as<ast::UnaryExpr>(expr);
        hir::Expr* operand = build(*e.operand);
        if (e.op == ast::UnaryOp::Plus)
            return operand;
        if (e.op == ast::UnaryOp::Minus && operand->kind == hir::ExprKind::ConstLong)
            return make<hir::ConstLong>(
                range, static_cast<int64_t>(0 - static_cast<uint64_t>(hir::as<hir::ConstLong>(*operand).value)));
        hir::UnaryOp op = e.op == ast::UnaryOp::Minus ? hir::UnaryOp::Minus
                          : e.op == ast::UnaryOp::Not ? hir::UnaryOp::Not
                                                      : hir::UnaryOp::BitNot;
        return make<hir::Unary>(range, op, operand);
    }
    case ExprKind::Binary:
        return build_binary(ast::as<ast::BinaryExpr>(expr));
    case ExprKind::Ternary: {
        const auto& e = ast::as<ast::TernaryExpr>(expr);
        if (std::optional<bool> value = known(*e.condition))
            return build(*value ? *e.then_value : *e.else_value);
        hir::Expr* condition = build(*e.condition);
        hir::Expr* then_value = build(*e.then_value);
        return make<hir::Ternary>(range, condition, then_value, build(*e.else_value));
    }
    case ExprKind::Assign:
        return build_assign(ast::as<ast::AssignExpr>(expr), false);
    case ExprKind::IncDec:
        return build_incdec(ast::as<ast::IncDecExpr>(expr), false);
    case ExprKind::In: {
        const auto& e = ast::as<ast::InExpr>(expr);
        hir::Global* global = array(e.array, e.array_range);
        if (!global)
            return zero(range);
        return make<hir::Contains>(range, global, build_keys(e.keys, true, *global, range));
    }
    case ExprKind::Target:
        return build_target(ast::as<ast::TargetExpr>(expr), false);
    case ExprKind::AddressOf: {
        const ast::Expr& operand = *ast::as<ast::AddressOfExpr>(expr).operand;
        if (operand.kind == ExprKind::Target)
            return build_target(ast::as<ast::TargetExpr>(operand), true);
        a_.diags_
            .report(DiagId::Unsupported, range, fmt::format("cannot take the address of `{}`", ast::to_source(operand)))
            .help("`&` takes a `$variable` or `@cast` with members");
        return zero(range);
    }
    case ExprKind::Defined:
        return make<hir::ConstLong>(range, is_defined(*ast::as<ast::DefinedExpr>(expr).operand));
    case ExprKind::Entry:
        return build_entry(ast::as<ast::EntryExpr>(expr));
    case ExprKind::Statistic:
        return build_statistic(ast::as<ast::StatisticExpr>(expr));
    case ExprKind::HistIndex: {
        const auto& e = ast::as<ast::HistIndexExpr>(expr);
        hir::Expr* source = build_stats_source(*e.histogram->operand);
        if (!source)
            return zero(range);
        plan::StatsNeeds needs;
        set_histogram(*source, *e.histogram, needs);
        return make<hir::HistBucket>(range, source, build(*e.index));
    }
    case ExprKind::AtOperator:
        return build_at(ast::as<ast::AtOperatorExpr>(expr));
    case ExprKind::Member:
        a_.diags_
            .report(DiagId::Unsupported, range,
                    fmt::format("`{}`: members of a script value need a type", ast::to_source(expr)))
            .help("write @cast(value, \"struct name\")->member");
        return zero(range);
    }
    UNREACHABLE("expression kind");
}

hir::Expr* BodyBuilder::build_name(const ast::NameExpr& expr) {
    if (auto found = names_.find(expr.name); found != names_.end()) {
        a_.read_.insert(found->second);
        return make<hir::LocalRef>(expr.range, found->second);
    }
    if (hir::Global* global = a_.find_global(expr.name, file_))
        return make<hir::GlobalRef>(expr.range, global);
    hir::Local* local = declare(expr.name, expr.range);
    a_.read_.insert(local);
    return make<hir::LocalRef>(expr.range, local);
}

hir::Global* BodyBuilder::array(const std::string& name, Range range) {
    if (auto found = names_.find(name); found != names_.end()) {
        a_.diags_
            .report(DiagId::TypeMismatch, range, fmt::format("`{}` is a local variable, and arrays are global", name))
            .note(found->second->range, "first used here")
            .help(fmt::format("declare `global {}`", name));
        return nullptr;
    }
    hir::Global* global = a_.find_global(name, file_);
    if (!global) {
        std::vector<std::string> names;
        for (const auto& [other, entries] : a_.globals_)
            names.push_back(other);
        a_.diags_.report(DiagId::TypeMismatch, range, fmt::format("there is no global array `{}`", name))
            .suggest(nearest_name(name, names))
            .help(fmt::format("declare `global {}`", name));
    }
    return global;
}

std::vector<hir::Expr*> BodyBuilder::build_keys(const std::vector<ast::Expr*>& keys, bool wildcards,
                                                const hir::Global& global, Range range) {
    std::vector<hir::Expr*> out;
    for (const ast::Expr* key : keys)
        out.push_back(key->kind == ast::ExprKind::Wildcard && wildcards ? nullptr : build(*key));
    auto& array = const_cast<hir::Global&>(global);
    if (keys.size() > 9)
        a_.diags_.report(DiagId::Arity, range, "an array has at most 9 keys");
    if (array.keys.empty() && !keys.empty()) {
        array.keys.assign(keys.size(), ValueType::Unknown);
        a_.fixed_at_.try_emplace(&array.keys, range);
    } else if (array.keys.size() != keys.size()) {
        a_.diags_
            .report(DiagId::Arity, range,
                    fmt::format("array `{}` has {} key{}, not {}", array.name, array.keys.size(),
                                array.keys.size() == 1 ? "" : "s", keys.size()))
            .note(a_.fixed_at_[&array.keys], "used with that many keys here");
        out.resize(array.keys.size(), zero(range));
    }
    return out;
}

hir::Expr* BodyBuilder::build_lvalue(const ast::Expr& expr) {
    if (expr.kind == ast::ExprKind::Name) {
        const auto& name = ast::as<ast::NameExpr>(expr);
        if (names_.find(name.name) == names_.end())
            if (hir::Global* global = a_.find_global(name.name, file_))
                return make<hir::GlobalRef>(expr.range, global);
        hir::Local* local = declare(name.name, expr.range);
        a_.assigned_.insert(local);
        return make<hir::LocalRef>(expr.range, local);
    }
    if (expr.kind == ast::ExprKind::Index) {
        hir::Expr* element = build(expr);
        return element->kind == hir::ExprKind::Element ? element : nullptr;
    }
    if (expr.kind == ast::ExprKind::Target) {
        if (!a_.options_.guru)
            a_.diags_
                .report(DiagId::NeedsGuru, expr.range,
                        fmt::format("writing to `{}` changes the traced program", ast::to_source(expr)))
                .help("allow it with -g");
        else
            a_.diags_.report(DiagId::Unsupported, expr.range,
                             fmt::format("writing to `{}` is not supported yet", ast::to_source(expr)));
        return nullptr;
    }
    a_.diags_.report(DiagId::NotAssignable, expr.range, fmt::format("cannot assign to `{}`", ast::to_source(expr)));
    return nullptr;
}

namespace {
std::optional<hir::BinaryOp> to_hir(ast::BinaryOp op) {
    using A = ast::BinaryOp;
    using H = hir::BinaryOp;
    switch (op) {
    case A::Mul:
        return H::Mul;
    case A::Div:
        return H::Div;
    case A::Mod:
        return H::Mod;
    case A::Add:
        return H::Add;
    case A::Sub:
        return H::Sub;
    case A::Shl:
        return H::Shl;
    case A::Shr:
        return H::Shr;
    case A::ShrLogical:
        return H::ShrLogical;
    case A::Lt:
        return H::Lt;
    case A::Le:
        return H::Le;
    case A::Eq:
        return H::Eq;
    case A::Ne:
        return H::Ne;
    case A::Ge:
        return H::Ge;
    case A::Gt:
        return H::Gt;
    case A::BitAnd:
        return H::And;
    case A::BitXor:
        return H::Xor;
    case A::BitOr:
        return H::Or;
    default:
        return std::nullopt;
    }
}
} // namespace

hir::Expr* BodyBuilder::build_binary(const ast::BinaryExpr& expr) {
    if (expr.op == ast::BinaryOp::And || expr.op == ast::BinaryOp::Or) {
        if (std::optional<bool> value = known(expr))
            return make<hir::ConstLong>(expr.range, *value);
        bool is_and = expr.op == ast::BinaryOp::And;
        // `@defined($x) && $x > 1`: a known left side that decides nothing leaves the right one.
        if (known(*expr.left)) {
            hir::Expr* right = build(*expr.right);
            return make<hir::Binary>(expr.range, hir::BinaryOp::Ne, right, zero(expr.range));
        }
        hir::Expr* left = build(*expr.left);
        return make<hir::Logical>(expr.range, is_and, left, build(*expr.right));
    }
    if (expr.op == ast::BinaryOp::Match || expr.op == ast::BinaryOp::NotMatch) {
        a_.diags_.report(DiagId::Unsupported, expr.op_range, "regular expressions are not supported yet");
        return zero(expr.range);
    }
    hir::Expr* left = build(*expr.left);
    hir::Expr* right = build(*expr.right);
    if (expr.op == ast::BinaryOp::Concat)
        return make<hir::Concat>(expr.range, left, right);
    return make<hir::Binary>(expr.op_range, *to_hir(expr.op), left, right);
}

hir::Expr* BodyBuilder::build_assign(const ast::AssignExpr& expr, bool value_unused) {
    if (expr.aggregate) {
        hir::Expr* target = build_stats_source(*expr.target);
        hir::Expr* value = build(*expr.value);
        return target ? static_cast<hir::Expr*>(make<hir::StatAdd>(expr.range, target, value)) : value;
    }
    hir::Expr* value = build(*expr.value);
    hir::Expr* target = build_lvalue(*expr.target);
    if (!target)
        return value;
    if (expr.op && target->kind == hir::ExprKind::LocalRef)
        a_.read_.insert(hir::as<hir::LocalRef>(*target).local);
    auto* assign = make<hir::Assign>(expr.range, target, value);
    assign->value_unused = value_unused;
    if (expr.op) {
        assign->concat = *expr.op == ast::BinaryOp::Concat;
        if (!assign->concat)
            assign->op = to_hir(*expr.op);
    }
    return assign;
}

hir::Expr* BodyBuilder::build_incdec(const ast::IncDecExpr& expr, bool value_unused) {
    hir::Expr* target = build_lvalue(*expr.target);
    if (!target)
        return zero(expr.range);
    if (target->kind == hir::ExprKind::LocalRef)
        a_.read_.insert(hir::as<hir::LocalRef>(*target).local);
    auto* assign = make<hir::Assign>(expr.range, target, make<hir::ConstLong>(expr.range, 1));
    assign->op = expr.increment ? hir::BinaryOp::Add : hir::BinaryOp::Sub;
    assign->gives_old = !expr.prefix;
    assign->value_unused = value_unused;
    return assign;
}

hir::Expr* BodyBuilder::build_call(const ast::CallExpr& expr) {
    std::vector<hir::Expr*> args;
    Analyzer::FunctionEntry* entry = a_.find_function(expr.name, expr.args.size(), file_, expr.name_range);
    for (const ast::Expr* arg : expr.args)
        args.push_back(build(*arg));
    if (!entry)
        return zero(expr.range);
    if (!entry->ast->body) {
        ValueType result = entry->ast->result == ast::DeclaredType::Long     ? ValueType::Long
                           : entry->ast->result == ast::DeclaredType::String ? ValueType::String
                                                                             : ValueType::Void;
        return make<hir::Intrinsic>(expr.name_range, expr.name, result, std::move(args));
    }
    if (!entry->ast->embedded.empty()) {
        a_.diags_
            .report(DiagId::EmbeddedCode, expr.name_range,
                    fmt::format("`{}` is embedded C code, which cannot run in BPF", expr.name))
            .note(entry->ast->name_range, "declared here");
        return zero(expr.range);
    }
    hir::Function* callee = a_.instantiate(*entry);
    return make<hir::Call>(expr.name_range, callee, callee->result, std::move(args));
}

hir::Expr* BodyBuilder::build_print(const ast::PrintExpr& expr) {
    plan::Format format;
    std::vector<hir::Expr*> args;
    auto literal = [&](const std::string& text) {
        Directive d;
        d.text = text;
        format.directives.push_back(std::move(d));
    };
    auto value = [&](const ast::Expr& arg) {
        Directive d;
        bool histogram = arg.kind == ast::ExprKind::Statistic &&
                         ast::as<ast::StatisticExpr>(arg).extractor >= ast::Extractor::HistLog;
        if (histogram) {
            const auto& statistic = ast::as<ast::StatisticExpr>(arg);
            hir::Expr* source = build_stats_source(*statistic.operand);
            if (!source)
                return;
            d.kind = Directive::Histogram;
            set_histogram(*source, statistic, d.stats);
            args.push_back(source);
        } else {
            // Integer or String: infer.cc decides by the argument's type.
            d.kind = Directive::Integer;
            d.conversion = 'v';
            args.push_back(build(arg));
        }
        format.directives.push_back(std::move(d));
    };
    if (expr.has_format) {
        Result<std::vector<Directive>> parsed = parse_format(expr.format);
        size_t wanted = 0;
        if (parsed.ok()) {
            for (const Directive& d : *parsed)
                if (d.kind != Directive::Literal)
                    wanted += 1u + d.width_is_arg + d.precision_is_arg;
            format.directives = *std::move(parsed);
        }
        for (const ast::Expr* arg : expr.args)
            args.push_back(build(*arg));
        if (parsed.ok() && wanted != args.size()) {
            a_.diags_
                .report(DiagId::Arity, expr.range,
                        fmt::format("the format takes {} argument{}, and there {} {}", wanted, wanted == 1 ? "" : "s",
                                    args.size() == 1 ? "is" : "are", args.size()))
                .note(expr.format_range, "the format");
            args.resize(wanted, zero(expr.range));
        }
    } else {
        for (size_t i = 0; i < expr.args.size(); i++) {
            if (i && expr.has_delimiter)
                literal(expr.format);
            value(*expr.args[i]);
        }
        if (expr.newline)
            literal("\n");
    }
    return make<hir::Print>(expr.range, std::move(format), std::move(args), expr.to_string);
}

hir::Expr* BodyBuilder::build_stats_source(const ast::Expr& expr) {
    if (expr.kind == ast::ExprKind::Index)
        return build_lvalue(expr);
    if (expr.kind == ast::ExprKind::Name) {
        const auto& name = ast::as<ast::NameExpr>(expr);
        if (names_.find(name.name) == names_.end())
            if (hir::Global* global = a_.find_global(name.name, file_))
                return make<hir::GlobalRef>(expr.range, global);
        a_.diags_
            .report(DiagId::BadStatistic, expr.range,
                    fmt::format("`{}` is a local variable, and statistics are global", name.name))
            .help(fmt::format("declare `global {}`", name.name));
        return nullptr;
    }
    a_.diags_.report(DiagId::BadStatistic, expr.range, fmt::format("`{}` is no statistic", ast::to_source(expr)));
    return nullptr;
}

void BodyBuilder::set_histogram(hir::Expr& source, const ast::StatisticExpr& expr, plan::StatsNeeds& needs) {
    hir::Global* global = source.kind == hir::ExprKind::GlobalRef ? hir::as<hir::GlobalRef>(source).global
                                                                  : hir::as<hir::Element>(source).array;
    plan::StatsNeeds wanted;
    wanted.histogram = expr.extractor == ast::Extractor::HistLog ? plan::StatsNeeds::Log : plan::StatsNeeds::Linear;
    if (expr.params.size() == 3) {
        wanted.low = expr.params[0];
        wanted.high = expr.params[1];
        wanted.width = expr.params[2];
    }
    plan::StatsNeeds& have = global->stats;
    if (have.histogram == plan::StatsNeeds::None) {
        have.histogram = wanted.histogram;
        have.low = wanted.low;
        have.high = wanted.high;
        have.width = wanted.width;
        a_.fixed_at_[&have] = expr.range;
    } else if (have.histogram != wanted.histogram || have.low != wanted.low || have.high != wanted.high ||
               have.width != wanted.width) {
        a_.diags_
            .report(DiagId::BadStatistic, expr.range,
                    fmt::format("`{}` has another histogram already; one statistic keeps one", global->name))
            .note(a_.fixed_at_[&have], "here");
    }
    needs = wanted;
}

hir::Expr* BodyBuilder::build_statistic(const ast::StatisticExpr& expr) {
    if (expr.extractor >= ast::Extractor::HistLog) {
        a_.diags_.report(DiagId::BadStatistic, expr.range, "a histogram is printed, indexed or walked over")
            .help("print(@hist_log(x)), @hist_log(x)[i], foreach (b in @hist_log(x))");
        return zero(expr.range);
    }
    hir::Expr* source = build_stats_source(*expr.operand);
    if (!source)
        return zero(expr.range);
    if (expr.extractor == ast::Extractor::Variance && !expr.params.empty()) {
        hir::Global* global = source->kind == hir::ExprKind::GlobalRef ? hir::as<hir::GlobalRef>(*source).global
                                                                       : hir::as<hir::Element>(*source).array;
        global->stats.variance_shift = expr.params[0];
    }
    return make<hir::StatRead>(expr.range, static_cast<hir::StatValue>(expr.extractor), source);
}

hir::Expr* BodyBuilder::build_target(const ast::TargetExpr& expr, bool address) {
    if (!point_) {
        a_.diags_
            .report(DiagId::Unsupported, expr.range,
                    fmt::format("`{}` in a function is not supported yet", ast::to_source(expr)))
            .help("pass it as an argument");
        return zero(expr.range);
    }
    Binder with = binder();
    hir::Expr* bound = address ? bind_address_of(expr, *point_, with) : bind_target(expr, *point_, with);
    if (bound)
        return bound;
    if (target_type(expr) == ValueType::String && !address)
        return make<hir::ConstString>(expr.range, "");
    return zero(expr.range);
}

hir::Expr* BodyBuilder::build_entry(const ast::EntryExpr& expr) {
    Binder with = binder();
    if (!with.at_entry) {
        a_.diags_.report(DiagId::WrongContext, expr.range, "`@entry` is for .return probes");
        return zero(expr.range);
    }
    if (inside_entry_) {
        a_.diags_.report(DiagId::WrongContext, expr.range, "`@entry` in `@entry`");
        return zero(expr.range);
    }
    inside_entry_ = true;
    hir::Expr* value = build(*expr.operand);
    inside_entry_ = false;
    return with.at_entry(value);
}

hir::Expr* BodyBuilder::build_at(const ast::AtOperatorExpr& expr) {
    if (expr.name == "@choose_defined" && expr.args.size() == 2)
        return build(is_defined(*expr.args[0]) ? *expr.args[0] : *expr.args[1]);
    static const std::vector<std::string> operators = {
        "@defined", "@entry", "@cast",     "@var",      "@count",       "@sum",           "@min",
        "@max",     "@avg",   "@variance", "@hist_log", "@hist_linear", "@choose_defined"};
    static const std::vector<std::string> later = {"@perf",      "@enum",   "@enumname", "@const",     "@kregister",
                                                   "@uregister", "@kderef", "@uderef",   "@probewrite"};
    for (const std::string& name : later)
        if (expr.name == name) {
            a_.diags_.report(DiagId::Unsupported, expr.range, fmt::format("`{}` is not supported yet", expr.name));
            return zero(expr.range);
        }
    a_.diags_.report(DiagId::UnknownOperator, expr.range, fmt::format("unknown operator `{}`", expr.name))
        .suggest(nearest_name(expr.name, operators));
    return zero(expr.range);
}

} // namespace sonde
