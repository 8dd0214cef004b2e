// Expressions: trees to HIR.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/ast/walk.h"
#include "frontend/hir/walk.h"
#include "frontend/lex/token.h"
#include "frontend/sema/body_builder.h"

namespace sonde {

using hir::ValueType;

hir::Local* BodyBuilder::declare(const std::string& name, Range range) {
    auto [entry, fresh] = names_.try_emplace(name, nullptr);
    if (fresh) {
        entry->second = make<hir::Local>();
        entry->second->name = name;
        entry->second->range = range;
        entry->second->index = static_cast<uint32_t>(locals_.size());
        locals_.push_back(entry->second);
    }
    return entry->second;
}

hir::Local* BodyBuilder::find_local(const std::string& name) {
    auto found = names_.find(name);
    if (found == names_.end())
        return nullptr;
    const Sources& sources = c_.diags.sources();
    if (sources.is_tapset(found->second->range.file) && !sources.is_tapset(file_))
        if (const hir::Global* global = find_global(name); global && !sources.is_tapset(global->range.file))
            return nullptr;
    return found->second;
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
    case ExprKind::Index:
        return build_index(ast::as<ast::IndexExpr>(expr));
    case ExprKind::Wildcard:
        c_.report_once(DiagId::Syntax, range, "`*` stands for any key only in `foreach`, `delete` and `in`");
        return zero(range);
    case ExprKind::Call:
        return build_call(ast::as<ast::CallExpr>(expr));
    case ExprKind::Print:
        return build_print(ast::as<ast::PrintExpr>(expr));
    case ExprKind::Unary:
        return build_unary(ast::as<ast::UnaryExpr>(expr));
    case ExprKind::Binary:
        return build_binary(ast::as<ast::BinaryExpr>(expr));
    case ExprKind::Ternary:
        return build_ternary(ast::as<ast::TernaryExpr>(expr));
    case ExprKind::Assign:
        return build_assign(ast::as<ast::AssignExpr>(expr), false);
    case ExprKind::IncDec:
        return build_incdec(ast::as<ast::IncDecExpr>(expr), false);
    case ExprKind::In: {
        const auto& e = ast::as<ast::InExpr>(expr);
        if (e.histogram)
            return build_in_histogram(*e.histogram, *e.keys[0], range);
        hir::Global* global = array(e.array, e.array_range);
        if (!global)
            return zero(range);
        return make<hir::Contains>(range, global, build_keys(e.keys, true, *global, range));
    }
    case ExprKind::Target:
        return build_target(ast::as<ast::TargetExpr>(expr), false);
    case ExprKind::AddressOf:
        return build_address(ast::as<ast::AddressOfExpr>(expr));
    case ExprKind::Defined:
        return make<hir::ConstLong>(range, is_defined(*ast::as<ast::DefinedExpr>(expr).operand));
    case ExprKind::Entry:
        return build_entry(ast::as<ast::EntryExpr>(expr));
    case ExprKind::Statistic:
        return build_statistic(ast::as<ast::StatisticExpr>(expr));
    case ExprKind::HistIndex:
        return build_bucket(ast::as<ast::HistIndexExpr>(expr));
    case ExprKind::AtOperator:
        return build_at(ast::as<ast::AtOperatorExpr>(expr));
    case ExprKind::Member:
        return build_target(as_target(ast::as<ast::MemberExpr>(expr)), false);
    }
    UNREACHABLE("expression kind");
}

// ---- names and elements -----------------------------------------------------------------------------------------

hir::Expr* BodyBuilder::build_name(const ast::NameExpr& expr) {
    hir::Local* local = find_local(expr.name);
    if (!local)
        if (hir::Global* global = find_global(expr.name)) {
            if (!known_.use_as(*global, Shape::Scalar, expr.range))
                return zero(expr.range);
            return make<hir::GlobalRef>(expr.range, global);
        }
    // Declared by being read: "never assigned" if that stays so.
    if (!local)
        local = declare(expr.name, expr.range);
    notes_.read.insert(local);
    return make<hir::LocalRef>(expr.range, local);
}

hir::Expr* BodyBuilder::build_index(const ast::IndexExpr& expr) {
    hir::Global* global = array(expr.name, expr.name_range);
    if (!global)
        return zero(expr.range);
    return make<hir::Element>(expr.name_range, global, build_keys(expr.keys, false, *global, expr.range));
}

hir::Global* BodyBuilder::array(const std::string& name, Range range) {
    if (hir::Local* local = find_local(name)) {
        c_.report_once(DiagId::TypeMismatch, range,
                       fmt::format("`{}` is a local variable, and arrays are global", name))
            .note(local->range, "first used here")
            .help(fmt::format("declare `global {}`", name));
        return nullptr;
    }
    hir::Global* global = find_global(name);
    if (!global) {
        c_.report_once(DiagId::TypeMismatch, range, fmt::format("there is no global array `{}`", name))
            .suggest(nearest_name(name, known_.global_names()))
            .help(fmt::format("declare `global {}`", name));
        return nullptr;
    }
    return known_.use_as(*global, Shape::Array, range) ? global : nullptr;
}

bool BodyBuilder::check_key_count(hir::Global& array, size_t count, Range range) {
    constexpr size_t most_keys = 9;
    if (count > most_keys) {
        c_.report_once(DiagId::Arity, range, fmt::format("an array has at most {} keys, not {}", most_keys, count));
        return false;
    }
    if (array.keys.empty()) {
        array.keys.assign(count, ValueType::Unknown);
        notes_.fixed_at.try_emplace(&array.keys, range);
    }
    if (array.keys.size() == count)
        return true;
    c_.report_once(DiagId::Arity, range,
                   fmt::format("array `{}` has {} key{}, not {}", array.name, array.keys.size(),
                               array.keys.size() == 1 ? "" : "s", count))
        .note(notes_.fixed_at[&array.keys], "used with that many keys here");
    return false;
}

std::vector<hir::Expr*> BodyBuilder::build_keys(const std::vector<ast::Expr*>& keys, bool wildcards, hir::Global& array,
                                                Range range) {
    std::vector<hir::Expr*> out;
    out.reserve(keys.size());
    for (const ast::Expr* key : keys)
        out.push_back(key->kind == ast::ExprKind::Wildcard && wildcards ? nullptr : build(*key));
    if (!check_key_count(array, keys.size(), range))
        out.resize(array.keys.size(), zero(range));
    return out;
}

hir::Expr* BodyBuilder::build_lvalue(const ast::Expr& expr) {
    if (expr.kind == ast::ExprKind::Name) {
        const std::string& name = ast::as<ast::NameExpr>(expr).name;
        if (!find_local(name))
            if (hir::Global* global = find_global(name)) {
                if (!known_.use_as(*global, Shape::Scalar, expr.range))
                    return nullptr;
                return make<hir::GlobalRef>(expr.range, global);
            }
        hir::Local* local = declare(name, expr.range);
        notes_.assigned.insert(local);
        return make<hir::LocalRef>(expr.range, local);
    }
    if (expr.kind == ast::ExprKind::Index) {
        hir::Expr* element = build(expr);
        return element->kind == hir::ExprKind::Element ? element : nullptr;
    }
    c_.report_once(DiagId::NotAssignable, expr.range, fmt::format("cannot assign to `{}`", ast::to_source(expr)))
        .help("variables, globals and array elements can be assigned to");
    return nullptr;
}

// ---- operators --------------------------------------------------------------------------------------------------

namespace {
// What lies in the traced program's memory, and not in the script's.
bool is_memory(const ast::Expr& target) {
    return target.kind == ast::ExprKind::Target || target.kind == ast::ExprKind::Member;
}

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

hir::Expr* BodyBuilder::build_unary(const ast::UnaryExpr& expr) {
    hir::Expr* operand = build(*expr.operand);
    switch (expr.op) {
    case ast::UnaryOp::Plus:
        return operand;
    case ast::UnaryOp::Minus:
        if (operand->kind == hir::ExprKind::ConstLong) {
            uint64_t value = static_cast<uint64_t>(hir::as<hir::ConstLong>(*operand).value);
            return make<hir::ConstLong>(expr.range, static_cast<int64_t>(0 - value));
        }
        return make<hir::Unary>(expr.range, hir::UnaryOp::Minus, operand);
    case ast::UnaryOp::Not:
        return make<hir::Unary>(expr.range, hir::UnaryOp::Not, operand);
    case ast::UnaryOp::BitNot:
        return make<hir::Unary>(expr.range, hir::UnaryOp::BitNot, operand);
    }
    UNREACHABLE("unary operator");
}

hir::Expr* BodyBuilder::build_logical(const ast::BinaryExpr& expr) {
    if (std::optional<bool> value = known(expr))
        return make<hir::ConstLong>(expr.range, *value);
    // `@defined($x) && $x > 1`: a known left side that decides nothing leaves the right one.
    if (known(*expr.left) && expr.left->kind != ast::ExprKind::Number)
        return make<hir::Binary>(expr.op_range, hir::BinaryOp::Ne, build(*expr.right), zero(expr.range));
    hir::Expr* left = build(*expr.left);
    return make<hir::Logical>(expr.range, expr.op == ast::BinaryOp::And, left, build(*expr.right));
}

hir::Expr* BodyBuilder::build_binary(const ast::BinaryExpr& expr) {
    if (expr.op == ast::BinaryOp::And || expr.op == ast::BinaryOp::Or)
        return build_logical(expr);
    if (expr.op == ast::BinaryOp::Match || expr.op == ast::BinaryOp::NotMatch)
        return build_regex(expr);
    hir::Expr* left = build(*expr.left);
    hir::Expr* right = build(*expr.right);
    if (expr.op == ast::BinaryOp::Concat)
        return make<hir::Concat>(expr.range, left, right);
    return make<hir::Binary>(expr.op_range, *to_hir(expr.op), left, right);
}

hir::Expr* BodyBuilder::build_regex(const ast::BinaryExpr& expr) {
    hir::Expr* subject = build(*expr.left);
    const auto& literal = ast::as<ast::StringExpr>(*expr.right); // the parser has seen to that
    regex::Problem problem;
    std::optional<regex::Pattern> pattern = regex::parse(literal.value, problem);
    if (!pattern) {
        Range range = range_in_string(literal.range, problem.begin, problem.end, c_.diags.sources());
        DiagBuilder report = c_.report_once(DiagId::BadRegex, range, problem.message);
        if (!problem.help.empty())
            report.help(problem.help);
        return zero(expr.range);
    }
    auto* out = make<hir::Regex>(expr.op_range, subject, literal.value, std::move(*pattern),
                                 expr.op == ast::BinaryOp::NotMatch);
    notes_.regexes.emplace_back(out, literal.range);
    return out;
}

hir::Expr* BodyBuilder::build_ternary(const ast::TernaryExpr& expr) {
    if (expr.condition->kind != ast::ExprKind::Number)
        if (std::optional<bool> value = known(*expr.condition))
            return build(*value ? *expr.then_value : *expr.else_value);
    hir::Expr* condition = build(*expr.condition);
    hir::Expr* then_value = build(*expr.then_value);
    return make<hir::Ternary>(expr.range, condition, then_value, build(*expr.else_value));
}

hir::Expr* BodyBuilder::build_assign(const ast::AssignExpr& expr, bool value_unused) {
    if (expr.aggregate) {
        hir::Expr* target = build_stats_source(*expr.target);
        hir::Expr* value = build(*expr.value);
        return target ? static_cast<hir::Expr*>(make<hir::StatAdd>(expr.range, target, value)) : value;
    }
    if (std::optional<hir::Expr*> decision = build_decision(expr))
        return *decision;
    hir::Expr* value = build(*expr.value);
    if (is_memory(*expr.target)) {
        if (expr.op == ast::BinaryOp::Concat) {
            c_.report_once(DiagId::TypeMismatch, expr.range,
                           fmt::format("`.=` joins strings, and `{}` is a number", ast::to_source(*expr.target)))
                .help("`set_user_string(ADDRESS, TEXT)` writes a text");
            return value;
        }
        return build_store(*expr.target, {value, expr.op ? to_hir(*expr.op) : std::nullopt, false, expr.range});
    }
    hir::Expr* target = build_lvalue(*expr.target);
    if (!target)
        return value;
    if ((expr.op || !value_unused) && target->kind == hir::ExprKind::LocalRef)
        notes_.read.insert(hir::as<hir::LocalRef>(*target).local);
    auto* assign = make<hir::Assign>(expr.range, target, value);
    assign->value_unused = value_unused;
    if (!value_unused && target->kind == hir::ExprKind::LocalRef)
        hir::as<hir::LocalRef>(*target).local->assigned_within = true;
    if (!expr.op)
        note_c_type(notes_, variable_of(*target), *value);
    if (expr.op) {
        assign->concat = *expr.op == ast::BinaryOp::Concat;
        if (!assign->concat)
            assign->op = to_hir(*expr.op);
    }
    return assign;
}

std::optional<hir::Expr*> BodyBuilder::build_decision(const ast::AssignExpr& expr) {
    if (expr.target->kind != ast::ExprKind::Target || !point_)
        return std::nullopt;
    bool append = expr.op == ast::BinaryOp::Concat;
    if (expr.op && !append)
        return std::nullopt;
    const auto& target = ast::as<ast::TargetExpr>(*expr.target);
    if (!plan::is_file(point_->kind) && !plan::decides(point_->kind))
        return std::nullopt;
    hir::Expr* value = build(*expr.value);
    Binder with = binder(expr.range);
    std::optional<hir::Expr*> call = bind_assignment(target, append, value, *point_, with);
    if (call && !*call)
        return zero(expr.range);
    return call;
}

hir::Expr* BodyBuilder::build_incdec(const ast::IncDecExpr& expr, bool value_unused) {
    if (is_memory(*expr.target))
        return build_store(*expr.target, {make<hir::ConstLong>(expr.range, 1),
                                          expr.increment ? hir::BinaryOp::Add : hir::BinaryOp::Sub,
                                          !expr.prefix && !value_unused, expr.range});
    hir::Expr* target = build_lvalue(*expr.target);
    if (!target)
        return zero(expr.range);
    if (target->kind == hir::ExprKind::LocalRef)
        notes_.read.insert(hir::as<hir::LocalRef>(*target).local);
    auto* assign = make<hir::Assign>(expr.range, target, make<hir::ConstLong>(expr.range, 1));
    assign->op = expr.increment ? hir::BinaryOp::Add : hir::BinaryOp::Sub;
    assign->gives_old = !expr.prefix && !value_unused;
    assign->value_unused = value_unused;
    return assign;
}

hir::Expr* BodyBuilder::build_call(const ast::CallExpr& expr) {
    std::vector<hir::Expr*> args;
    FunctionEntry* entry = known_.find_function(expr.name, expr.args.size(), file_, expr.name_range);
    args.reserve(expr.args.size());
    for (const ast::Expr* arg : expr.args)
        args.push_back(build(*arg));
    if (!entry)
        return zero(expr.range);
    return call(*entry, std::move(args), expr.name_range);
}

hir::Expr* BodyBuilder::call(FunctionEntry& entry, std::vector<hir::Expr*> args, Range range) {
    const ast::Function& function = *entry.ast;
    const Sources& sources = c_.diags.sources();
    if (!c_.options.guru && function.name.starts_with("set_user_") && sources.is_tapset(entry.file) &&
        !sources.is_tapset(file_)) {
        c_.report_once(DiagId::NeedsGuru, range, fmt::format("`{}` changes the traced program", function.name))
            .help("-g allows it");
        return zero(range);
    }
    if (!function.embedded.empty()) {
        c_.report_once(
              DiagId::EmbeddedCode, range,
              fmt::format("`{}` is C code for SystemTap's kernel modules, which cannot run in BPF", function.name))
            .note(function.name_range, "declared here");
        return zero(range);
    }
    if (!function.body) {
        ValueType result = function.result == ast::DeclaredType::Long     ? ValueType::Long
                           : function.result == ast::DeclaredType::String ? ValueType::String
                                                                          : ValueType::Void;
        auto* primitive = make<hir::Intrinsic>(range, function.name, result, std::move(args));
        primitive->gives_nothing = result == ValueType::Void;
        notes_.primitives[primitive] = &function;
        return primitive;
    }
    // What arguments point at matters where the body can look.
    std::vector<const Type*> types;
    bool typed = false;
    for (const hir::Expr* arg : args) {
        types.push_back(c_type_of(notes_, *arg));
        typed = typed || types.back();
    }
    bool library = c_.diags.sources().is_tapset(entry.file);
    if (!point_ || !(in_.reaches.of_function(entry).point || (typed && !library))) {
        hir::Function* callee = in_.functions.instantiate(entry);
        return make<hir::Call>(range, callee, callee->result, std::move(args));
    }
    size_t said = c_.diags.all().size();
    Instance& instance = in_.functions.instantiate(entry, *point_, *context_, inside_entry_, std::move(types));
    if (!c_.diags.sources().is_tapset(range.file))
        c_.diags.note_in_library(said, range, fmt::format("`{}()` is called here", function.name));
    auto* made = make<hir::Call>(range, instance.function, instance.function->result, std::move(args));
    if (!instance.complete)
        instance.open_calls.push_back({made, function_});
    else
        add_entry_values(*made, instance);
    return made;
}

// What the callee wants to know from the probed function's entry goes along as arguments.
void BodyBuilder::add_entry_values(hir::Call& call, const Instance& callee) {
    for (hir::Expr* value : callee.entry_values)
        call.args.push_back(save_at_entry(value));
}

// `next` in a function: what the next function of that name and number of parameters gives for the same arguments.
hir::Stmt* BodyBuilder::build_next_overload(Range range) {
    const std::string& name = entry_->ast->name;
    size_t arity = entry_->ast->params.size();
    known_.pull_in_function(name);
    std::vector<FunctionEntry*> chain = known_.overloads(name, arity, file_);
    auto here = std::find(chain.begin(), chain.end(), entry_);
    auto* block = make<hir::Block>(range);
    if (here == chain.end() || here + 1 == chain.end()) {
        FunctionEntry* error = known_.find_function("error", 1, file_, range);
        std::string message = fmt::format("all functions exhausted: `{}`", name);
        block->body.push_back(
            make<hir::ExprStmt>(range, call(*error, {make<hir::ConstString>(range, message)}, range)));
        return block;
    }
    std::vector<hir::Expr*> args;
    for (size_t i = 0; i < arity; i++) {
        notes_.read.insert(function_->params[i]);
        args.push_back(make<hir::LocalRef>(range, function_->params[i]));
    }
    hir::Expr* value = call(**(here + 1), std::move(args), range);
    auto gives_value = [](const ast::Function& function) {
        bool gives = function.result != ast::DeclaredType::None;
        if (function.body)
            for_each_stmt(*function.body, [&](const ast::Stmt& stmt) {
                gives = gives || (stmt.kind == ast::StmtKind::Return && ast::as<ast::ReturnStmt>(stmt).value);
            });
        return gives;
    };
    bool gives =
        std::any_of(chain.begin(), chain.end(), [&](const FunctionEntry* entry) { return gives_value(*entry->ast); });
    (gives ? returns_value_ : returns_nothing_) = true;
    if (!gives)
        block->body.push_back(make<hir::ExprStmt>(range, value));
    block->body.push_back(make<hir::Return>(range, gives ? value : nullptr));
    return block;
}

} // namespace sonde
