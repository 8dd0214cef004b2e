// Type inference to a fixed point. Every declaration has one slot (long, string, statistic); expressions push what they
// know into slots and pull from them, until nothing changes. A contradiction names both places.
#include <fmt/format.h>

#include "frontend/sema/analyzer.h"

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
} // namespace

class Inference {
  public:
    explicit Inference(Analyzer& analyzer) : a_(analyzer) {}

    void run() {
        do {
            changed_ = false;
            pass();
        } while (changed_ && !a_.diags_.has_errors());
        if (a_.diags_.has_errors())
            return;
        settle();
        pass();
    }

  private:
    void pass() {
        for (hir::Function* function : a_.program_->functions) {
            function_ = function;
            statement(*function->body);
        }
        function_ = nullptr;
        for (const auto* handlers : {&a_.program_->handlers, &a_.never_handlers_})
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

    // What is still open: unused things are numbers, used ones are an error.
    void settle() {
        auto locals = [&](const std::vector<hir::Local*>& list) {
            for (hir::Local* local : list) {
                bool library = a_.diags_.sources().is_tapset(local->range.file);
                if (!a_.assigned_.count(local) && !library)
                    a_.diags_.report(DiagId::NeverAssigned, local->range,
                                     fmt::format("local variable `{}` is never assigned", local->name));
                else if (!a_.read_.count(local) && !library)
                    a_.diags_.report(DiagId::UnusedVariable, local->range,
                                     fmt::format("local variable `{}` is never read", local->name));
                if (local->type != ValueType::Unknown)
                    continue;
                if (a_.assigned_.count(local) && a_.read_.count(local))
                    unresolved(local->range, local->name);
                local->type = ValueType::Long;
            }
        };
        for (hir::Function* function : a_.program_->functions) {
            locals(function->params);
            locals(function->locals);
            if (function->result == ValueType::Unknown) {
                unresolved(function->range, function->name);
                function->result = ValueType::Long;
            }
        }
        for (const auto* handlers : {&a_.program_->handlers, &a_.never_handlers_})
            for (hir::Handler* handler : *handlers)
                locals(handler->locals);
        for (const Analyzer::GlobalEntry& entry : a_.global_entries_) {
            if (entry.hir->type == ValueType::Unknown && used_.count(entry.hir))
                unresolved_global(*entry.hir);
            if (entry.hir->type == ValueType::Unknown)
                entry.hir->type = ValueType::Long;
            for (ValueType& key : entry.hir->keys)
                if (key == ValueType::Unknown)
                    key = ValueType::Long;
        }
    }

    void unresolved_global(const hir::Global& global) {
        if (assigned_globals_.count(&global))
            unresolved(global.range, global.name);
    }

    void unresolved(Range range, const std::string& name) {
        a_.diags_.report(DiagId::UnresolvedType, range,
                         fmt::format("nothing says whether `{}` is a number or a string", name));
    }

    // Brings `slot` and `type` together; `owner` keys the place where the slot was fixed.
    ValueType unify(ValueType& slot, const void* owner, ValueType type, Range range, const std::string& name) {
        if (type == ValueType::Unknown || slot == type)
            return slot;
        if (slot == ValueType::Unknown) {
            slot = type;
            a_.fixed_at_[owner] = range;
            changed_ = true;
            return slot;
        }
        DiagId id = slot == ValueType::Stats || type == ValueType::Stats ? DiagId::BadStatistic : DiagId::TypeMismatch;
        if (reported_.insert({owner, range.begin}).second) {
            auto report = a_.diags_.report(
                id, range, fmt::format("`{}` is {}, and is used as {} here", name, type_word(slot), type_word(type)));
            if (auto fixed = a_.fixed_at_.find(owner); fixed != a_.fixed_at_.end())
                report.note(fixed->second, fmt::format("`{}` is {} because of this", name, type_word(slot)));
            if (slot == ValueType::Stats)
                report.help(fmt::format("read it with @count({}), @sum({}), @avg({}) ...", name, name, name));
        }
        return slot;
    }

    void want(hir::Expr& expr, ValueType type) {
        ValueType have = infer(expr, type);
        if (have == ValueType::Unknown || have == type)
            return;
        if (!reported_.insert({&expr, expr.range.begin}).second)
            return;
        if (have == ValueType::Void)
            a_.diags_.report(DiagId::TypeMismatch, expr.range, "this function returns no value");
        else
            a_.diags_.report(have == ValueType::Stats ? DiagId::BadStatistic : DiagId::TypeMismatch, expr.range,
                             fmt::format("expected {}, got {}", type_word(type), type_word(have)));
    }

    // The two must have one type, a number or a string.
    ValueType same(hir::Expr& left, hir::Expr& right, ValueType expected) {
        ValueType type = infer(left, expected);
        ValueType other = infer(right, type == ValueType::Unknown ? expected : type);
        if (type == ValueType::Unknown && other != ValueType::Unknown)
            type = infer(left, other);
        bool clash = type != ValueType::Unknown && other != ValueType::Unknown && type != other;
        if (clash && reported_.insert({&right, right.range.begin}).second)
            a_.diags_
                .report(type == ValueType::Stats || other == ValueType::Stats ? DiagId::BadStatistic
                                                                              : DiagId::TypeMismatch,
                        right.range, fmt::format("expected {}, got {}", type_word(type), type_word(other)))
                .note(left.range, fmt::format("because this is {}", type_word(type)));
        if (type == ValueType::Stats && reported_.insert({&left, left.range.begin}).second)
            a_.diags_.report(DiagId::BadStatistic, left.range,
                             "a statistic is read through @count, @sum, @avg and their relatives");
        return type;
    }

    ValueType infer(hir::Expr& expr, ValueType expected) {
        expr.type = infer_kind(expr, expected);
        return expr.type;
    }

    ValueType global_slot(hir::Global& global, ValueType expected, Range range) {
        used_.insert(&global);
        return expected == ValueType::Unknown || expected == ValueType::Void
                   ? global.type
                   : unify(global.type, &global, expected, range, global.name);
    }

    void keys(hir::Global& array, const std::vector<hir::Expr*>& list) {
        for (size_t i = 0; i < list.size() && i < array.keys.size(); i++) {
            if (!list[i])
                continue;
            ValueType type = infer(*list[i], array.keys[i]);
            if (type == ValueType::Void)
                want(*list[i], ValueType::Long);
            else if (type == ValueType::Stats)
                want(*list[i], ValueType::Long);
            else
                unify(array.keys[i], &array.keys[i], type, list[i]->range,
                      fmt::format("key {} of {}", i + 1, array.name));
        }
    }

    ValueType infer_kind(hir::Expr& expr, ValueType expected) {
        using namespace hir;
        switch (expr.kind) {
        case ExprKind::ConstLong:
        case ExprKind::Register:
            return ValueType::Long;
        case ExprKind::ConstString:
            return ValueType::String;
        case ExprKind::LocalRef: {
            Local& local = *as_mutable<LocalRef>(expr).local;
            if (expected == ValueType::Unknown || expected == ValueType::Void)
                return local.type;
            if (expected == ValueType::Stats) {
                a_.diags_.report(DiagId::BadStatistic, expr.range,
                                 fmt::format("`{}` is a local variable, and statistics are global", local.name));
                return local.type;
            }
            return unify(local.type, &local, expected, expr.range, local.name);
        }
        case ExprKind::GlobalRef: {
            Global& global = *as_mutable<GlobalRef>(expr).global;
            if (global.is_array() && reported_.insert({&expr, expr.range.begin}).second)
                a_.diags_.report(DiagId::TypeMismatch, expr.range, fmt::format("`{}` is an array", global.name))
                    .note(a_.fixed_at_[&global.keys], "used as an array here");
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
                if (same(*binary.left, *binary.right, ValueType::Unknown) == ValueType::Void)
                    want(*binary.left, ValueType::Long);
            } else {
                want(*binary.left, ValueType::Long);
                want(*binary.right, ValueType::Long);
            }
            return ValueType::Long;
        }
        case ExprKind::Logical:
            want(*as_mutable<Logical>(expr).left, ValueType::Long);
            want(*as_mutable<Logical>(expr).right, ValueType::Long);
            return ValueType::Long;
        case ExprKind::Concat:
            want(*as_mutable<Concat>(expr).left, ValueType::String);
            want(*as_mutable<Concat>(expr).right, ValueType::String);
            return ValueType::String;
        case ExprKind::Ternary:
            want(*as_mutable<Ternary>(expr).condition, ValueType::Long);
            return same(*as_mutable<Ternary>(expr).then_value, *as_mutable<Ternary>(expr).else_value,
                        expected == ValueType::Stats ? ValueType::Unknown : expected);
        case ExprKind::Assign:
            return assign(as_mutable<Assign>(expr), expected);
        case ExprKind::StatAdd: {
            auto& add = as_mutable<StatAdd>(expr);
            infer(*add.target, ValueType::Stats);
            note_assigned(*add.target);
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
            used_.insert(as_mutable<Contains>(expr).array);
            return ValueType::Long;
        case ExprKind::Call: {
            auto& call = as_mutable<Call>(expr);
            for (size_t i = 0; i < call.args.size(); i++) {
                Local& param = *call.callee->params[i];
                ValueType type = infer(*call.args[i], param.type);
                if (type == ValueType::Stats || type == ValueType::Void)
                    want(*call.args[i], ValueType::Long);
                else
                    unify(param.type, &param, type, call.args[i]->range, param.name);
            }
            if (call.callee->result == ValueType::Unknown &&
                (expected == ValueType::Long || expected == ValueType::String))
                unify(call.callee->result, call.callee, expected, expr.range, call.callee->name + "()");
            return call.callee->result;
        }
        case ExprKind::Intrinsic: {
            auto& call = as_mutable<Intrinsic>(expr);
            auto found = a_.functions_.find(call.name);
            const ast::Function* declared = nullptr;
            if (found != a_.functions_.end())
                for (const Analyzer::FunctionEntry* entry : found->second)
                    if (!entry->ast->body && entry->ast->params.size() == call.args.size())
                        declared = entry->ast;
            for (size_t i = 0; i < call.args.size(); i++) {
                bool text = declared ? declared->params[i].type == ast::DeclaredType::String
                                     : call.args[i]->type == ValueType::String;
                want(*call.args[i], text ? ValueType::String : ValueType::Long);
            }
            return call.type;
        }
        case ExprKind::Print:
            return print(as_mutable<Print>(expr));
        case ExprKind::Load:
            want(*as_mutable<Load>(expr).address, ValueType::Long);
            return ValueType::Long;
        case ExprKind::Retype:
            want(*as_mutable<Retype>(expr).operand, ValueType::Long);
            return ValueType::Long;
        case ExprKind::EntryRead:
            return handler_ ? infer(*handler_->entry_values[as<EntryRead>(expr).index], ValueType::Unknown) : expr.type;
        }
        UNREACHABLE("expression kind");
    }

    void note_assigned(const hir::Expr& target) {
        if (target.kind == hir::ExprKind::GlobalRef)
            assigned_globals_.insert(hir::as<hir::GlobalRef>(target).global);
        else if (target.kind == hir::ExprKind::Element)
            assigned_globals_.insert(hir::as<hir::Element>(target).array);
    }

    ValueType assign(hir::Assign& expr, ValueType expected) {
        note_assigned(*expr.target);
        if (expr.op || expr.concat) {
            ValueType type = expr.concat ? ValueType::String : ValueType::Long;
            infer(*expr.target, type);
            want(*expr.value, type);
            return type;
        }
        ValueType hint = expected == ValueType::Void || expected == ValueType::Stats ? ValueType::Unknown : expected;
        ValueType target = infer(*expr.target, hint);
        if (target == ValueType::Stats) {
            if (reported_.insert({&expr, expr.range.begin}).second)
                a_.diags_.report(DiagId::BadStatistic, expr.target->range,
                                 "a statistic takes values with `<<<`, not with `=`");
            return ValueType::Long;
        }
        ValueType value = infer(*expr.value, target == ValueType::Unknown ? hint : target);
        if (value == ValueType::Void || value == ValueType::Stats) {
            want(*expr.value, ValueType::Long);
            return ValueType::Long;
        }
        // The contradiction is the value's: it is what does not fit into the variable.
        if (value != ValueType::Unknown && target != ValueType::Unknown && value != target) {
            const void* owner = owner_of(*expr.target);
            if (reported_.insert({owner, expr.range.begin}).second) {
                auto report = a_.diags_.report(DiagId::TypeMismatch, expr.range,
                                               fmt::format("cannot assign {} to `{}`, which is {}", type_word(value),
                                                           name_of(*expr.target), type_word(target)));
                if (auto fixed = a_.fixed_at_.find(owner); fixed != a_.fixed_at_.end())
                    report.note(fixed->second,
                                fmt::format("`{}` is {} because of this", name_of(*expr.target), type_word(target)));
            }
            return target;
        }
        if (target == ValueType::Unknown && value != ValueType::Unknown)
            target = infer(*expr.target, value);
        return target;
    }

    static const void* owner_of(const hir::Expr& target) {
        if (target.kind == hir::ExprKind::LocalRef)
            return hir::as<hir::LocalRef>(target).local;
        if (target.kind == hir::ExprKind::GlobalRef)
            return hir::as<hir::GlobalRef>(target).global;
        return hir::as<hir::Element>(target).array;
    }
    static const std::string& name_of(const hir::Expr& target) {
        if (target.kind == hir::ExprKind::LocalRef)
            return hir::as<hir::LocalRef>(target).local->name;
        if (target.kind == hir::ExprKind::GlobalRef)
            return hir::as<hir::GlobalRef>(target).global->name;
        return hir::as<hir::Element>(target).array->name;
    }

    ValueType print(hir::Print& print) {
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
            } else if (d.conversion == 'v') {
                ValueType type = infer(arg, ValueType::Unknown);
                if (type == ValueType::String)
                    d.kind = Directive::String, d.conversion = 's';
                else if (type == ValueType::Long)
                    d.kind = Directive::Integer, d.conversion = 'd';
                else if (type != ValueType::Unknown)
                    want(arg, ValueType::Long);
            } else if (d.kind == Directive::String) {
                argument(arg, ValueType::String, d);
            } else {
                argument(arg, ValueType::Long, d);
            }
        }
        return print.to_string ? ValueType::String : ValueType::Void;
    }

    void argument(hir::Expr& arg, ValueType type, const plan::Directive& d) {
        ValueType have = infer(arg, ValueType::Unknown);
        if (have == ValueType::Unknown)
            have = infer(arg, type);
        if (have == type || have == ValueType::Unknown || have == ValueType::Void || have == ValueType::Stats) {
            want(arg, type);
            return;
        }
        if (!reported_.insert({&arg, arg.range.begin}).second)
            return;
        a_.diags_
            .report(DiagId::TypeMismatch, arg.range,
                    fmt::format("`%{}` takes {}, and this is {}", d.conversion, type_word(type), type_word(have)))
            .help(type == ValueType::Long ? "write `%s` for a string" : "write `%d` for a number");
    }

    void statement(hir::Stmt& stmt) {
        using namespace hir;
        switch (stmt.kind) {
        case StmtKind::Block:
            for (Stmt* s : as_mutable<Block>(stmt).body)
                statement(*s);
            break;
        case StmtKind::Expression: {
            Expr& expr = *as_mutable<ExprStmt>(stmt).expr;
            if (infer(expr, ValueType::Unknown) == ValueType::Stats)
                want(expr, ValueType::Long);
            break;
        }
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
                infer(*s.init, ValueType::Unknown);
            if (s.condition)
                want(*s.condition, ValueType::Long);
            if (s.step)
                infer(*s.step, ValueType::Unknown);
            if (s.body)
                statement(*s.body);
            break;
        }
        case StmtKind::Foreach: {
            auto& s = as_mutable<Foreach>(stmt);
            if (s.limit)
                want(*s.limit, ValueType::Long);
            if (s.histogram) {
                infer(*s.histogram, ValueType::Stats);
                unify(s.keys[0]->type, s.keys[0], ValueType::Long, s.keys[0]->range, s.keys[0]->name);
            } else {
                used_.insert(s.array);
                keys(*s.array, s.slice);
                for (size_t i = 0; i < s.keys.size(); i++) {
                    unify(s.keys[i]->type, s.keys[i], s.array->keys[i], s.keys[i]->range, s.keys[i]->name);
                    unify(s.array->keys[i], &s.array->keys[i], s.keys[i]->type, s.keys[i]->range, s.array->name);
                }
                if (s.value && s.array->type == ValueType::Stats) {
                    if (reported_.insert({s.value, s.range.begin}).second)
                        a_.diags_
                            .report(DiagId::Unsupported, s.range,
                                    fmt::format("`{}` cannot hold a statistic", s.value->name))
                            .help("walk over the keys and use @count(array[key])");
                } else if (s.value) {
                    unify(s.value->type, s.value, s.array->type, s.value->range, s.value->name);
                }
            }
            statement(*s.body);
            break;
        }
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

    void returns(hir::Return& stmt) {
        if (!stmt.value || !function_)
            return;
        ValueType result = function_->result == ValueType::Void ? ValueType::Unknown : function_->result;
        ValueType type = infer(*stmt.value, result);
        if (type == ValueType::Void || type == ValueType::Stats)
            want(*stmt.value, ValueType::Long);
        else
            unify(function_->result, function_, type, stmt.value->range, function_->name + "()");
    }

    Analyzer& a_;
    hir::Function* function_ = nullptr;
    hir::Handler* handler_ = nullptr;
    bool changed_ = false;
    std::set<std::pair<const void*, uint32_t>> reported_; // each contradiction is said once
    std::set<const hir::Global*> used_, assigned_globals_;
};

void Analyzer::infer() { Inference(*this).run(); }

} // namespace sonde
