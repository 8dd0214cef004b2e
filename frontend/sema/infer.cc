// Type inference.
//
// Every declaration has one type: number, string or statistic. The script rarely declares it, so it follows from the
// uses. In `a = f(b)`, `a` has the type of f's result, which may come from f's parameter, which has the type of `b`.
//
// The pass visits all expressions. Each visit combines the types of an expression's parts with the requirements of the
// context: `x + 1` requires a number. This is repeated until no type changes (a fixed point). A type never changes once
// it is known, so the iteration ends.
//
// The place that first determined a type is recorded (SideTables::fixed_at). If another place contradicts it, the
// message shows both.
//
// Types that are still unknown at the end are settled: a variable that nobody reads, or only a statement without an
// effect such as `x = y`, becomes a number. Anything else is an error. Errors for values of functions without a result
// are only reported in the last pass, after settling, because an earlier pass may not have seen all uses.
#include <algorithm>

#include <fmt/format.h>

#include "frontend/ast/walk.h"
#include "frontend/hints/foreign_words.h"
#include "frontend/hir/walk.h"
#include "frontend/sema/phases.h"

namespace sonde {

using hir::ValueType;

namespace {
const char* type_word(ValueType type) {
    switch (type) {
    case ValueType::Long:
        return "a number";
    case ValueType::String:
        return "a string";
    case ValueType::Stats:
        return "a statistic";
    case ValueType::Void:
        return "nothing";
    case ValueType::Unknown:
        break;
    }
    return "of unknown type";
}

// Returns the range of the whole expression; for a binary operator, Expr::range is only the operator.
Range place(const hir::Expr& expr) {
    if (expr.kind != hir::ExprKind::Binary)
        return expr.range;
    const auto& binary = hir::as<hir::Binary>(expr);
    return Range::join(place(*binary.left), place(*binary.right));
}
} // namespace

class Inference {
  public:
    Inference(hir::Program& program, const Names& names, SideTables& tables, SemaContext& context)
        : program_(program), names_(names), tables_(tables), c_(context) {}

    // Errors end the iteration: with contradicting types it could go on forever, and further messages would be
    // consequences of the first.
    void run() {
        repeat();
        prefers_text_ = true;
        if (has_choice_ && !c_.diags.has_errors())
            repeat();
        if (c_.diags.has_errors())
            return;
        settle();
        is_settled_ = true;
        pass();
    }

  private:
    void repeat() {
        do {
            changed_ = false;
            pass();
        } while (changed_ && !c_.diags.has_errors());
    }

    // Visits everything once: first the functions, then the handlers that call them.
    void pass() {
        // Types flow to callees through arguments and back through results, so alternate the direction to converge
        // faster.
        std::vector<hir::Function*> functions = program_.functions;
        if (forth_ = !forth_; forth_)
            std::reverse(functions.begin(), functions.end());
        for (hir::Function* function : functions) {
            function_ = function;
            statement(*function->body);
        }
        function_ = nullptr;
        for (const auto* handlers : {&program_.handlers, &tables_.never_handlers})
            for (hir::Handler* handler : *handlers) {
                handler_ = handler;
                if (handler->condition)
                    want(*handler->condition, ValueType::Long);
                for (hir::Expr* value : handler->entry_values)
                    infer(*value, ValueType::Unknown);
                statement(*handler->body);
            }
        handler_ = nullptr;
    }

    // Settles the types that are still unknown.
    void settle() {
        for (hir::Function* function : program_.functions)
            find_idle_uses(*function->body);
        for (const auto* handlers : {&program_.handlers, &tables_.never_handlers})
            for (hir::Handler* handler : *handlers)
                find_idle_uses(*handler->body);
        for (hir::Function* function : program_.functions) {
            settle(function->params);
            settle(function->locals);
            if (function->result == ValueType::Unknown && function->may_give_nothing)
                function->result = ValueType::Void;
            if (function->result == ValueType::Unknown) {
                unresolved(function->range, function->name);
                function->result = ValueType::Long;
            }
        }
        for (const auto* handlers : {&program_.handlers, &tables_.never_handlers})
            for (hir::Handler* handler : *handlers)
                settle(handler->locals);
        for (const GlobalEntry& entry : names_.globals())
            settle(*entry.hir);
        for (hir::Global* global : tables_.python_entries.globals)
            settle(*global);
        for (const hir::Assign* reset : tables_.resets)
            if (reset->target->type == ValueType::String)
                const_cast<hir::Assign*>(reset)->value = c_.arena.make<hir::ConstString>(reset->range, "");
    }

    // Finds the locals in statements that do nothing, `x` and `x = y`, unless they are used elsewhere, too.
    void find_idle_uses(const hir::Stmt& body) {
        std::set<const hir::Expr*> idle;
        for_each_stmt(body, [&](const hir::Stmt& stmt) {
            if (stmt.kind == hir::StmtKind::Expression)
                for (const hir::Expr* at = hir::as<hir::ExprStmt>(stmt).expr; at;) {
                    const auto* assign = at->kind == hir::ExprKind::Assign && at->type == ValueType::Unknown
                                             ? &hir::as<hir::Assign>(*at)
                                             : nullptr;
                    idle.insert(assign ? assign->target : at);
                    at = assign ? assign->value : nullptr;
                }
        });
        for_each_expr(body, [&](const hir::Expr& expr) {
            if (expr.kind == hir::ExprKind::LocalRef)
                (idle.contains(&expr) ? idle_ : needed_).insert(hir::as<hir::LocalRef>(expr).local);
        });
    }
    bool is_idle(const hir::Local* local) const { return idle_.contains(local) && !needed_.contains(local); }

    // Also reports locals that are never assigned or never read. A local that is never assigned is most often a mistake
    // about a name, so the message says what else has this name.
    void settle(const std::vector<hir::Local*>& locals) {
        for (hir::Local* local : locals) {
            bool read = tables_.read.count(local) > 0;
            if (!tables_.assigned.count(local)) {
                DiagBuilder report = c_.report_once(DiagId::NeverAssigned, local->range,
                                                    fmt::format("local variable `{}` is never assigned", local->name));
                if (tables_.traced.contains(local))
                    report.help(fmt::format("the traced program's or kernel's variable is `${}`", local->name));
                else if (names_.has_function(local->name))
                    report.help(fmt::format("`{}()` calls the function", local->name));
                else if (is_assigned_in_a_handler(local->name))
                    report.help(fmt::format("another probe assigns a local variable of that name; `global {}` declares "
                                            "a variable of the whole script",
                                            local->name));
                else if (const std::string hint = hints::name_hint(local->name); !hint.empty())
                    report.help(hint);
            } else if (!read && !tables_.bound.count(local) && !c_.options.unoptimized) {
                c_.report_once(DiagId::UnusedVariable, local->range,
                               fmt::format("local variable `{}` is never read", local->name));
            }
            if (local->type != ValueType::Unknown)
                continue;
            if (read && !is_idle(local))
                unresolved(local->range, local->name);
            local->type = ValueType::Long;
        }
    }

    // Whether a handler has a local with this name, as in `probe f { n++ } probe end { println(n) }`.
    bool is_assigned_in_a_handler(std::string_view name) const {
        return std::ranges::any_of(program_.handlers, [&](const hir::Handler* handler) {
            return std::ranges::any_of(handler->locals, [&](const hir::Local* one) {
                return one->name == name && tables_.assigned.contains(one);
            });
        });
    }

    // A global that is used must have a type; an unused one becomes a number.
    void settle(hir::Global& global) {
        bool numeric = global.type != ValueType::String;
        if (global.type == ValueType::Unknown) {
            if (used_.count(&global))
                unresolved(global.range, global.name);
            global.type = ValueType::Long;
        }
        if (numeric)
            global.initial_string.clear(); // -G sets both
        else
            global.initial_long = 0;
        for (ValueType& key : global.keys) {
            if (key == ValueType::Unknown && used_.count(&global))
                unresolved(global.range, fmt::format("a key of {}", global.name));
            if (key == ValueType::Unknown)
                key = ValueType::Long;
        }
    }

    void unresolved(Range range, const std::string& name) {
        c_.report_once(DiagId::UnresolvedType, range,
                       fmt::format("cannot decide whether `{}` is a number or a string", name));
    }

    // Requires that the declaration with the type `slot` has the type `type`. `owner` is the declaration (the key in
    // SideTables::fixed_at). Reports a contradiction.
    ValueType unify(ValueType& slot, const void* owner, ValueType type, Range range, const std::string& name) {
        if (type == ValueType::Unknown || slot == type)
            return slot;
        if (slot == ValueType::Unknown) {
            slot = type;
            tables_.fixed_at[owner] = range;
            changed_ = true;
            return slot;
        }
        DiagId id = slot == ValueType::Stats || type == ValueType::Stats ? DiagId::BadStatistic : DiagId::TypeMismatch;
        DiagBuilder report = c_.report_once(
            id, range, fmt::format("`{}` is {}, but is used as {} here", name, type_word(slot), type_word(type)));
        note_fixed(report, owner, name, slot);
        if (slot == ValueType::Stats)
            report.help(fmt::format("read the statistic with @count({}), @sum({}), @avg({}) ...", name, name, name));
        return slot;
    }

    void note_fixed(DiagBuilder& report, const void* owner, const std::string& name, ValueType type) {
        if (auto fixed = tables_.fixed_at.find(owner); fixed != tables_.fixed_at.end())
            report.note(fixed->second, fmt::format("`{}` is {} because of this", name, type_word(type)));
    }

    static bool is_value(ValueType type) { return type == ValueType::Long || type == ValueType::String; }

    // Requires that the expression has this type. `is_sum`: it is an operand of `+`.
    void want(hir::Expr& expr, ValueType type, bool is_sum = false) {
        ValueType have = infer(expr, type);
        if (have == ValueType::Unknown || have == type || (have == ValueType::Void && !is_settled_))
            return;
        // For a variable, unify() has reported the error, with the place that determined the type.
        if (have != ValueType::Void && owner_of(expr))
            return;
        if (have == ValueType::Void)
            no_value(expr);
        else
            report_unwanted(expr, type, have, is_sum);
    }

    void report_unwanted(const hir::Expr& expr, ValueType type, ValueType have, bool is_sum) {
        DiagBuilder report =
            c_.report_once(have == ValueType::Stats ? DiagId::BadStatistic : DiagId::TypeMismatch, place(expr),
                           fmt::format("expected {}, got {}", type_word(type), type_word(have)));
        if (is_sum && have == ValueType::String)
            report.help("`a . b` joins strings, `a .= b` appends");
    }

    // `$x.member` and `1.5` parse as a concatenation, but the user means something else.
    void concat(hir::Concat& expr) {
        const std::string_view left = c_.diags.sources().text(place(*expr.left)),
                               right = c_.diags.sources().text(place(*expr.right));
        for (hir::Expr* part : {expr.left, expr.right}) {
            if (infer(*part, ValueType::String) != ValueType::Long || owner_of(*part)) {
                want(*part, ValueType::String);
                continue;
            }
            const bool numbers =
                expr.left->kind == hir::ExprKind::ConstLong && expr.right->kind == hir::ExprKind::ConstLong;
            c_.report_once(DiagId::TypeMismatch, place(*part), "`.` joins strings, and this is a number")
                .help(
                    numbers ? "numbers are integers; use `fp_add(a, b)` and its relatives for floating point"
                    : left.starts_with('$') && expr.right->kind == hir::ExprKind::LocalRef
                        ? fmt::format("write a member as `{}->{}`", left, right)
                        : fmt::format("`sprint({})` is the number as a string", c_.diags.sources().text(place(*part))));
            if (numbers)
                break;
        }
    }

    // Reports that a call without a result is used as a value. Where the function could have had a result, the message
    // shows why it has none.
    void no_value(const hir::Expr& expr) {
        std::string what = "this";
        Range declared, bare;
        if (expr.kind == hir::ExprKind::Call) {
            what = fmt::format("`{}`", hir::as<hir::Call>(expr).callee->name);
            declared = hir::as<hir::Call>(expr).callee->range;
            bare = hir::as<hir::Call>(expr).callee->bare_return;
        } else if (expr.kind == hir::ExprKind::Intrinsic) {
            what = fmt::format("`{}`", hir::as<hir::Intrinsic>(expr).name);
        }
        DiagBuilder report = c_.report_once(DiagId::TypeMismatch, place(expr), what + " returns no value");
        if (bare.valid())
            report.note(bare, "this `return` has no value");
        else if (declared.valid())
            report.note(declared, "declared here");
    }

    // Requires a number or a string, and returns which one. Returns Unknown if that is not known yet.
    ValueType want_value(hir::Expr& expr, ValueType hint) {
        ValueType type = infer(expr, is_value(hint) ? hint : ValueType::Unknown);
        if (type == ValueType::Void && !is_settled_)
            return ValueType::Unknown; // another use may determine the type
        if (type == ValueType::Void)
            no_value(expr);
        else if (type == ValueType::Stats)
            c_.report_once(DiagId::BadStatistic, place(expr), "a statistic is not a value")
                .help("read the statistic with @count, @sum, @min, @max or @avg");
        else
            return type;
        return ValueType::Unknown;
    }

    // Requires that both expressions are numbers or both are strings.
    ValueType same(hir::Expr& left, hir::Expr& right, ValueType expected) {
        ValueType type = want_value(left, expected);
        ValueType other = want_value(right, ValueType::Unknown);
        if (type == ValueType::Unknown)
            return other == ValueType::Unknown ? other : want_value(left, other);
        if (other == ValueType::Unknown)
            other = want_value(right, type);
        if (other != ValueType::Unknown && other != type) {
            DiagBuilder report = c_.report_once(DiagId::TypeMismatch, place(right),
                                                fmt::format("expected {}, got {}", type_word(type), type_word(other)));
            report.note(place(left), fmt::format("because this is {}", type_word(type)));
            if (const void* owner = owner_of(right))
                note_fixed(report, owner, name_of(right), other);
            // `$name == "tea"`, where $name is a `char *`.
            const hir::Expr& number = type == ValueType::Long ? left : right;
            says_text(report, c_type_of(tables_, number), std::string(c_.diags.sources().text(place(number))));
        }
        return type;
    }

    ValueType infer(hir::Expr& expr, ValueType expected) {
        expr.type = infer_kind(expr, expected);
        return expr.type;
    }

    // Records the use of a global, and requires the type `expected` unless that is Unknown. Returns the global's type.
    ValueType global_slot(hir::Global& global, ValueType expected, Range range) {
        used_.insert(&global);
        return expected == ValueType::Unknown ? global.type : unify(global.type, &global, expected, range, global.name);
    }

    // Types flow in both directions: a key of known type determines the type of the array's key, and the other way
    // round.
    void keys(hir::Global& array, const std::vector<hir::Expr*>& list) {
        for (size_t i = 0; i < list.size() && i < array.keys.size(); i++) {
            if (!list[i])
                continue;
            ValueType type = want_value(*list[i], ValueType::Unknown);
            if (type == ValueType::Unknown)
                type = want_value(*list[i], array.keys[i]);
            unify(array.keys[i], &array.keys[i], type, place(*list[i]), fmt::format("key {} of {}", i + 1, array.name));
        }
    }

    // Infers one expression. `expected` is the type that the context requires, or Unknown; it determines the type of a
    // variable that has none yet. Returns the type, or Unknown.
    ValueType infer_kind(hir::Expr& expr, ValueType expected) {
        using namespace hir;
        switch (expr.kind) {
        case ExprKind::ConstLong:
        case ExprKind::Register:
        case ExprKind::Argument:
            return ValueType::Long;
        case ExprKind::ConstString:
            return ValueType::String;
        case ExprKind::LocalRef: {
            Local& local = *as_mutable<LocalRef>(expr).local;
            if (expected == ValueType::Unknown)
                return local.type;
            return unify(local.type, &local, expected, expr.range, local.name);
        }
        case ExprKind::GlobalRef: {
            Global& global = *as_mutable<GlobalRef>(expr).global;
            return global_slot(global, expected, expr.range);
        }
        case ExprKind::Element: {
            auto& element = as_mutable<Element>(expr);
            keys(*element.array, element.keys);
            return global_slot(*element.array, expected, expr.range);
        }
        case ExprKind::Unary:
            want(*as_mutable<Unary>(expr).operand, ValueType::Long);
            return ValueType::Long;
        case ExprKind::Binary: {
            auto& binary = as_mutable<Binary>(expr);
            if (binary.op >= BinaryOp::Eq) {
                // The order of two values of Python is that of numbers, because texts of numbers have another order.
                if (prefers_text_ && binary.op != BinaryOp::Eq && binary.op != BinaryOp::Ne)
                    for (Expr* side : {binary.left, binary.right})
                        if (is_undecided(*side))
                            infer(*side, ValueType::Long);
                same(*binary.left, *binary.right, ValueType::Unknown);
            } else {
                want(*binary.left, ValueType::Long, binary.op == BinaryOp::Add);
                want(*binary.right, ValueType::Long, binary.op == BinaryOp::Add);
            }
            return ValueType::Long;
        }
        case ExprKind::Logical:
            want(*as_mutable<Logical>(expr).left, ValueType::Long);
            // In `count && exit()`, the right side has no value and is run for its effect.
            if (infer(*as_mutable<Logical>(expr).right, ValueType::Long) != ValueType::Void)
                want(*as_mutable<Logical>(expr).right, ValueType::Long);
            return ValueType::Long;
        case ExprKind::Concat:
            concat(as_mutable<Concat>(expr));
            return ValueType::String;
        case ExprKind::Ternary:
            want(*as_mutable<Ternary>(expr).condition, ValueType::Long);
            return same(*as_mutable<Ternary>(expr).then_value, *as_mutable<Ternary>(expr).else_value, expected);
        case ExprKind::Guarded:
            want(*as_mutable<Guarded>(expr).text, ValueType::String);
            want(*as_mutable<Guarded>(expr).otherwise, ValueType::String);
            return ValueType::String;
        case ExprKind::Assign:
            return assign(as_mutable<Assign>(expr), expected);
        case ExprKind::StatAdd: {
            auto& add = as_mutable<StatAdd>(expr);
            infer(*add.target, ValueType::Stats);
            ValueType type = infer(*add.value, ValueType::Unknown);
            if (type == ValueType::String)
                c_.report_once(DiagId::BadStatistic, place(*add.value),
                               "a statistic accepts only numbers, and this is a string");
            else
                want(*add.value, ValueType::Long);
            return ValueType::Long;
        }
        case ExprKind::StatRead:
            infer(*as_mutable<StatRead>(expr).source, ValueType::Stats);
            return ValueType::Long;
        case ExprKind::HistBucket:
            infer(*as_mutable<HistBucket>(expr).source, ValueType::Stats);
            want(*as_mutable<HistBucket>(expr).index, ValueType::Long);
            return ValueType::Long;
        case ExprKind::Contains:
            keys(*as_mutable<Contains>(expr).array, as_mutable<Contains>(expr).keys);
            return ValueType::Long;
        case ExprKind::Regex:
            want(*as_mutable<Regex>(expr).subject, ValueType::String);
            return ValueType::Long;
        case ExprKind::Call:
            return call(as_mutable<Call>(expr), expected);
        case ExprKind::Intrinsic:
            return primitive(as_mutable<Intrinsic>(expr), expected);
        case ExprKind::Print:
            return print(as_mutable<Print>(expr), expected);
        case ExprKind::Load:
            want(*as_mutable<Load>(expr).address, ValueType::Long);
            return ValueType::Long;
        case ExprKind::Store:
            want(*as_mutable<Store>(expr).address, ValueType::Long);
            want(*as_mutable<Store>(expr).value, ValueType::Long);
            return ValueType::Long;
        case ExprKind::Retype:
            want(*as_mutable<Retype>(expr).operand, ValueType::Long);
            return ValueType::Long;
        case ExprKind::PointNumber:
            return ValueType::Long;
        case ExprKind::TableWord:
            want(*as_mutable<TableWord>(expr).index, ValueType::Long);
            return ValueType::Long;
        case ExprKind::EntryRead:
            return infer(*handler_->entry_values[as<EntryRead>(expr).index], expected);
        case ExprKind::TextNumber:
        case ExprKind::NumberedText:
            break; // their operands already have types
        }
        UNREACHABLE("expression kind");
    }

    // Arguments determine the types of parameters, and parameters those of arguments; the first one to be known wins.
    ValueType call(hir::Call& call, ValueType expected) {
        hir::Function& callee = *call.callee;
        for (size_t i = 0; i < call.args.size(); i++) {
            hir::Local& param = *callee.params[i];
            ValueType type = want_value(*call.args[i], ValueType::Unknown);
            if (type == ValueType::Unknown)
                type = want_value(*call.args[i], param.type);
            if (type == ValueType::Unknown || param.type == ValueType::Unknown || type == param.type) {
                unify(param.type, &param, type, place(*call.args[i]), param.name);
                continue;
            }
            DiagBuilder report = c_.report_once(DiagId::TypeMismatch, place(*call.args[i]),
                                                fmt::format("argument {} of `{}` must be {}, and this is {}", i + 1,
                                                            callee.name, type_word(param.type), type_word(type)));
            note_fixed(report, &param, param.name, param.type);
        }
        if (callee.result == ValueType::Unknown && is_value(expected))
            unify(callee.result, &callee, expected, call.range, callee.name);
        return callee.result;
    }

    static bool is_undecided(const hir::Expr& expr) {
        return expr.kind == hir::ExprKind::Intrinsic && expr.type == ValueType::Unknown &&
               hir::as<hir::Intrinsic>(expr).facts.by_context;
    }

    // The type of an expression that can be a number or a text: what its context needs, and in the end a text.
    ValueType chosen(ValueType expected) {
        has_choice_ = true;
        const ValueType type = is_value(expected) ? expected : prefers_text_ ? ValueType::String : ValueType::Unknown;
        changed_ = changed_ || type != ValueType::Unknown;
        return type;
    }

    // The declaration in prelude.stp has the types of a primitive's parameters.
    ValueType primitive(hir::Intrinsic& call, ValueType expected) {
        auto found = tables_.primitives.find(&call);
        if (found == tables_.primitives.end()) { // generated for a `$variable`: has correct types
            for (hir::Expr* arg : call.args)
                infer(*arg, ValueType::Unknown);
            return is_undecided(call) ? chosen(expected) : call.type;
        }
        const ast::Function& declared = *found->second;
        for (size_t i = 0; i < call.args.size(); i++) {
            ValueType wanted =
                declared.params[i].type == ast::DeclaredType::String ? ValueType::String : ValueType::Long;
            ValueType type = want_value(*call.args[i], ValueType::Unknown);
            if (type == ValueType::Unknown)
                type = want_value(*call.args[i], wanted);
            if (type == ValueType::Unknown || type == wanted)
                continue;
            DiagBuilder report = c_.report_once(DiagId::TypeMismatch, place(*call.args[i]),
                                                fmt::format("argument {} of `{}` must be {}, and this is {}", i + 1,
                                                            call.name, type_word(wanted), type_word(type)));
            if (const void* owner = owner_of(*call.args[i]))
                note_fixed(report, owner, name_of(*call.args[i]), type);
        }
        return call.gives_nothing ? of_nothing(call, expected) : call.type;
    }

    // Infers an assignment. `x .= y` and `x += y` determine the type of x by the operator; `x = y` makes both types
    // equal.
    ValueType assign(hir::Assign& expr, ValueType expected) {
        if (expr.op || expr.concat) {
            ValueType type = expr.concat ? ValueType::String : ValueType::Long;
            infer(*expr.target, type);
            want(*expr.value, type, expr.op == hir::BinaryOp::Add);
            return type;
        }
        ValueType target = infer(*expr.target, ValueType::Unknown);
        if (tables_.resets.count(&expr))
            return target;
        if (target == ValueType::Stats) {
            DiagBuilder report = c_.report_once(
                DiagId::BadStatistic, expr.range,
                fmt::format("`{}` is a statistic; add values with `<<<`, not `=`", name_of(*expr.target)));
            note_fixed(report, owner_of(*expr.target), name_of(*expr.target), target);
            return ValueType::Long;
        }
        ValueType value = want_value(*expr.value, ValueType::Unknown);
        if (value == ValueType::Unknown)
            value = want_value(*expr.value, target == ValueType::Unknown ? expected : target);
        if (value == ValueType::Unknown)
            return target;
        // Report the contradiction at the value, because it does not fit the variable.
        if (target != ValueType::Unknown && value != target) {
            DiagBuilder report = c_.report_once(DiagId::TypeMismatch, place(*expr.value),
                                                fmt::format("cannot assign {} to `{}`, which is {}", type_word(value),
                                                            name_of(*expr.target), type_word(target)));
            note_fixed(report, owner_of(*expr.target), name_of(*expr.target), target);
            return target;
        }
        return target == ValueType::Unknown ? slot_from(*expr.target, value, expr.range) : target;
    }

    // Determines the type of a target by the assignment at `range`.
    ValueType slot_from(hir::Expr& target, ValueType type, Range range) {
        if (target.kind == hir::ExprKind::LocalRef) {
            hir::Local& local = *hir::as_mutable<hir::LocalRef>(target).local;
            unify(local.type, &local, type, range, local.name);
        } else {
            hir::Global& global = *global_of(target);
            unify(global.type, &global, type, range, global.name);
        }
        return target.type = type;
    }

    // Returns the declaration that the expression names, or null if it is not a variable.
    static const void* owner_of(const hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::LocalRef)
            return hir::as<hir::LocalRef>(expr).local;
        return global_of(expr);
    }
    static std::string name_of(const hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::LocalRef)
            return hir::as<hir::LocalRef>(expr).local->name;
        const hir::Global* global = global_of(expr);
        return global ? global->name : "";
    }

    ValueType print(hir::Print& print, ValueType expected) {
        using plan::Directive;
        size_t next = 0;
        for (Directive& d : print.format.directives) {
            if (d.kind == Directive::Literal)
                continue;
            for (bool star : {d.width_is_arg, d.precision_is_arg})
                if (star && next < print.args.size())
                    want(*print.args[next++], ValueType::Long);
            if (next >= print.args.size())
                break;
            hir::Expr& arg = *print.args[next++];
            if (d.kind == Directive::Histogram) {
                infer(arg, ValueType::Stats);
            } else if (d.conversion == 0) { // print(x): the type of x decides
                ValueType type = want_value(arg, ValueType::Unknown);
                if (type == ValueType::Unknown)
                    continue;
                d.kind = type == ValueType::String ? Directive::String : Directive::Integer;
                d.conversion = type == ValueType::String ? 's' : 'd';
            } else if (d.kind == Directive::String) {
                argument(arg, ValueType::String, d);
            } else {
                argument(arg, ValueType::Long, d);
            }
        }
        return print.to_string ? ValueType::String : of_nothing(print, expected);
    }

    // Returns the type of an expression that has no value: where a value is needed, it is 0 or "".
    static ValueType of_nothing(const hir::Expr& expr, ValueType expected) {
        return is_value(expected) ? expected : is_value(expr.type) ? expr.type : ValueType::Void;
    }

    // Infers an expression whose value is not used. Both results of `?:` may then be without a value.
    void unused(hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::Ternary) {
            auto& choice = hir::as_mutable<hir::Ternary>(expr);
            want(*choice.condition, ValueType::Long);
            unused(*choice.then_value);
            unused(*choice.else_value);
            const ValueType type = choice.then_value->type;
            expr.type = type == choice.else_value->type ? type : ValueType::Void;
        } else if (infer(expr, ValueType::Unknown) == ValueType::Stats) {
            want_value(expr, ValueType::Unknown);
        }
    }

    // Adds advice if a string was expected and the type is a pointer to (or an array of) characters. Returns whether it
    // did.
    static bool says_text(DiagBuilder& report, const Type* type, const std::string& written) {
        type = type ? strip(type) : nullptr;
        if (!type || (type->kind != Type::Pointer && type->kind != Type::Array) || !type->target)
            return false;
        const Type* target = strip(type->target);
        if (!target || target->name != "char")
            return false;
        report.help(
            type->of_kernel
                ? fmt::format("read the string with `kernel_string({0})`, or `user_string({0})` in a program's memory",
                              written)
                : fmt::format("read the string with `user_string({})`", written));
        return true;
    }

    void argument(hir::Expr& arg, ValueType type, const plan::Directive& d) {
        ValueType have = want_value(arg, ValueType::Unknown);
        if (have == ValueType::Unknown)
            have = want_value(arg, type);
        if (have == type || have == ValueType::Unknown)
            return;
        std::string written(c_.diags.sources().text(place(arg)));
        DiagBuilder report = c_.report_once(
            DiagId::TypeMismatch, place(arg),
            fmt::format("`%{}` takes {}, but `{}` is {}", d.conversion, type_word(type), written, type_word(have)));
        if (const void* owner = owner_of(arg))
            note_fixed(report, owner, name_of(arg), have);
        if (have == ValueType::Long && says_text(report, c_type_of(tables_, arg), written))
            return;
        report.help(have == ValueType::String ? "`%s` prints a string" : "`%d` prints a number");
    }

    void statement(hir::Stmt& stmt) {
        using namespace hir;
        switch (stmt.kind) {
        case StmtKind::Block:
            for (Stmt* s : as_mutable<Block>(stmt).body)
                statement(*s);
            break;
        case StmtKind::Expression:
            unused(*as_mutable<ExprStmt>(stmt).expr);
            break;
        case StmtKind::If: {
            auto& s = as_mutable<If>(stmt);
            want(*s.condition, ValueType::Long);
            statement(*s.then_body);
            if (s.else_body)
                statement(*s.else_body);
            break;
        }
        case StmtKind::Loop: {
            auto& s = as_mutable<Loop>(stmt);
            if (s.init)
                unused(*s.init);
            if (s.condition)
                want(*s.condition, ValueType::Long);
            if (s.step)
                unused(*s.step);
            if (s.body)
                statement(*s.body);
            break;
        }
        case StmtKind::Foreach:
            walk_over(as_mutable<Foreach>(stmt));
            break;
        case StmtKind::Return:
            returns(as_mutable<Return>(stmt));
            break;
        case StmtKind::Delete: {
            auto& s = as_mutable<Delete>(stmt);
            keys(*s.global, s.keys);
            break;
        }
        case StmtKind::Try: {
            auto& s = as_mutable<Try>(stmt);
            if (s.message)
                unify(s.message->type, s.message, ValueType::String, s.message->range, s.message->name);
            if (s.body)
                statement(*s.body);
            if (s.handler)
                statement(*s.handler);
            break;
        }
        case StmtKind::Break:
        case StmtKind::Continue:
        case StmtKind::Next:
            break;
        }
    }

    void walk_over(hir::Foreach& s) {
        if (s.limit)
            want(*s.limit, ValueType::Long);
        if (s.histogram) {
            infer(*s.histogram, ValueType::Stats);
            unify(s.keys[0]->type, s.keys[0], ValueType::Long, s.keys[0]->range, s.keys[0]->name);
            if (s.value)
                unify(s.value->type, s.value, ValueType::Long, s.value->range, s.value->name);
            statement(*s.body);
            return;
        }
        hir::Global& array = *s.array;
        used_.insert(&array);
        keys(array, s.slice);
        for (size_t i = 0; i < s.keys.size(); i++) {
            hir::Local& key = *s.keys[i];
            unify(key.type, &key, array.keys[i], key.range, key.name);
            unify(array.keys[i], &array.keys[i], key.type, key.range, fmt::format("key {} of {}", i + 1, array.name));
        }
        if (auto sorted = tables_.stat_sorted.find(&s); sorted != tables_.stat_sorted.end())
            unify(array.type, &array, ValueType::Stats, sorted->second, array.name);
        if (s.value && array.type == ValueType::Stats)
            c_.report_once(DiagId::Unsupported, s.value->range,
                           fmt::format("`{}` cannot hold a statistic", s.value->name))
                .help(fmt::format("walk over the keys, and read `@count({}[...])`", array.name));
        else if (s.value)
            unify(s.value->type, s.value, array.type, s.value->range, s.value->name);
        statement(*s.body);
    }

    void returns(hir::Return& stmt) {
        if (!function_ || function_->result == ValueType::Void)
            return;
        if (!stmt.value) { // `return` without a value, in a function that returns a value elsewhere: 0 or ""
            if (function_->result == ValueType::Long)
                stmt.value = c_.arena.make<hir::ConstLong>(stmt.range, 0);
            else if (function_->result == ValueType::String)
                stmt.value = c_.arena.make<hir::ConstString>(stmt.range, "");
            return;
        }
        ValueType type = want_value(*stmt.value, ValueType::Unknown);
        if (type == ValueType::Unknown)
            type = want_value(*stmt.value, function_->result);
        if (type == ValueType::Unknown)
            return;
        if (function_->result != ValueType::Unknown && function_->result != type) {
            DiagBuilder report = c_.report_once(DiagId::TypeMismatch, place(*stmt.value),
                                                fmt::format("`{}` returns {}, but this is {}", function_->name,
                                                            type_word(function_->result), type_word(type)));
            note_fixed(report, function_, function_->name, function_->result);
            return;
        }
        unify(function_->result, function_, type, place(*stmt.value), function_->name);
    }

    hir::Program& program_;
    const Names& names_;
    SideTables& tables_;
    SemaContext& c_;
    hir::Function* function_ = nullptr;
    hir::Handler* handler_ = nullptr;
    bool changed_ = false;
    bool forth_ = false;
    bool is_settled_ = false;
    bool has_choice_ = false;                   // some expression can be a number or a text
    bool prefers_text_ = false;                 // such an expression is a text if its context does not decide
    std::set<const hir::Global*> used_;         // globals whose type matters
    std::set<const hir::Local*> idle_, needed_; // locals in statements that do nothing, and in others
};

void infer_types(hir::Program& program, const Names& names, SideTables& tables, SemaContext& context) {
    Inference(program, names, tables, context).run();
}

} // namespace sonde
