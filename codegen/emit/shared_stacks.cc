// Finds the variables that can hold the shared text of a stack; shared_stacks.h explains the texts.
//
// A variable may hold the shared text only if no other use of it can show the difference. This is a flow analysis over
// the whole script:
//
// * stacks_: variables that get a stack of the hit
// * shown_: variables that are read anywhere else than in a key with stacks, or that get any other value
// * flows_: assignments from one variable to another
//
// A variable that flows into a shown one is shown, too, and the reverse. This is repeated until nothing changes. The
// result is stacks_ without shown_.
//
// For example, in `s = ubacktrace(); n[s]++`, the variable `s` is used only as a key, so it holds the shared text. One
// `println(s)` anywhere makes it a shown variable.
//
// Each expression that was recognized as a harmless use is in known_. So the general case, any other reference to a
// variable, comes last.
#include "codegen/emit/shared_stacks.h"

#include <algorithm>
#include <map>
#include <vector>

#include "frontend/hir/walk.h"
#include "runtime/plan/stack.h"

namespace sonde {
namespace {

using hir::ExprKind;

bool is_user_stack(const hir::Expr& expr) {
    if (expr.kind != ExprKind::Intrinsic)
        return false;
    const hir::Primitive& facts = hir::as<hir::Intrinsic>(expr).facts;
    return facts.gives_stack && !facts.of_kernel && !facts.of_python; // those are equal in all processes anyway
}

class Holders {
  public:
    explicit Holders(const plan::Plan& plan) : plan_(plan) {}

    std::set<const void*> find(const hir::Program& program) {
        for (const hir::Global* global : program.globals)
            if (global->auto_print || global->is_settable || !global->initial_string.empty())
                shown_.insert(global);
        for (const hir::Function* function : program.functions) {
            shown_.insert(function->params.begin(), function->params.end()); // callers pass any value
            look_at(*function->body);
        }
        for (const hir::Handler* handler : program.handlers) {
            look_at(*handler->body);
            for_each_expr(*handler, [&](const hir::Expr& expr) { look_at(expr); });
        }
        // A variable that flows into a shown one, or gets its value from one, must not be shared either.
        for (bool changed = true; changed;) {
            changed = false;
            for (const auto& [from, to] : flows_)
                if (shown_.contains(from) != shown_.contains(to)) {
                    shown_.insert({from, to});
                    changed = true;
                }
        }
        std::set<const void*> out;
        for (const void* variable : stacks_)
            if (!shown_.contains(variable))
                out.insert(variable);
        return out;
    }

  private:
    void look_at(const hir::Stmt& body) {
        for_each_stmt(body, [&](const hir::Stmt& stmt) {
            if (stmt.kind == hir::StmtKind::Try)
                shown_.insert(hir::as<hir::Try>(stmt).message);
            if (stmt.kind == hir::StmtKind::Delete && !hir::as<hir::Delete>(stmt).keys.empty())
                take_keys(*hir::as<hir::Delete>(stmt).global, hir::as<hir::Delete>(stmt).keys);
            if (stmt.kind != hir::StmtKind::Foreach)
                return;
            const auto& loop = hir::as<hir::Foreach>(stmt);
            if (!loop.array)
                return;
            take_keys(*loop.array, loop.slice);
            // Sorting by the value makes it visible.
            if (loop.sort_direction != 0 && loop.sort_column == 0)
                shown_.insert(loop.array);
            if (loop.value)
                flows_.emplace_back(loop.array, loop.value);
            for (size_t i = 0; i < loop.keys.size(); i++)
                if (!is_shared(plan_.globals[loop.array->index], i))
                    shown_.insert(loop.keys[i]);
        });
        for_each_expr(body, [&](const hir::Expr& expr) { look_at(expr); });
    }
    // Visits an expression before its operands.
    void look_at(const hir::Expr& expr) {
        switch (expr.kind) {
        case ExprKind::Element:
            take_keys(*hir::as<hir::Element>(expr).array, hir::as<hir::Element>(expr).keys);
            break;
        case ExprKind::Contains:
            take_keys(*hir::as<hir::Contains>(expr).array, hir::as<hir::Contains>(expr).keys);
            break;
        case ExprKind::StatAdd:
            known_.insert(hir::as<hir::StatAdd>(expr).target);
            break;
        case ExprKind::Assign: {
            const auto& assign = hir::as<hir::Assign>(expr);
            const void* to = variable_of(*assign.target);
            known_.insert(assign.target);
            if (assign.op || assign.concat || !assign.value_unused)
                shown_.insert(to);
            take_value(*assign.value, to);
            break;
        }
        default:
            break;
        }
        if (const void* variable = known_.contains(&expr) ? nullptr : variable_of(expr))
            shown_.insert(variable);
    }
    void take_keys(const hir::Global& array, const std::vector<hir::Expr*>& keys) {
        for (size_t i = 0; i < keys.size(); i++)
            if (keys[i] && is_shared(plan_.globals[array.index], i))
                take_key(*keys[i]);
    }
    void take_key(const hir::Expr& key) {
        known_.insert(&key);
        if (key.kind == ExprKind::Ternary) {
            take_key(*hir::as<hir::Ternary>(key).then_value);
            take_key(*hir::as<hir::Ternary>(key).else_value);
        }
    }
    void take_value(const hir::Expr& value, const void* to) {
        if (user_stack_in(value)) {
            stacks_.insert(to);
        } else if (value.kind == ExprKind::Ternary) {
            take_value(*hir::as<hir::Ternary>(value).then_value, to);
            take_value(*hir::as<hir::Ternary>(value).else_value, to);
        } else if (const void* from = variable_of(value)) {
            known_.insert(&value);
            flows_.emplace_back(from, to);
        } else if (value.kind != ExprKind::ConstString) {
            shown_.insert(to);
        }
    }

    const plan::Plan& plan_;
    std::set<const void*> stacks_; // get a stack of the hit
    std::set<const void*> shown_;  // are used for something else, or hold something else
    std::set<const hir::Expr*> known_;
    std::vector<std::pair<const void*, const void*>> flows_; // pairs of source and destination
};

} // namespace

const hir::Intrinsic* user_stack_in(const hir::Expr& expr) {
    if (is_user_stack(expr))
        return &hir::as<hir::Intrinsic>(expr);
    if (expr.kind != ExprKind::Call)
        return nullptr;
    const auto& call = hir::as<hir::Call>(expr);
    const hir::Expr* result = only_result(*call.callee);
    const bool numbers = std::ranges::all_of(
        call.args, [](const hir::Expr* argument) { return argument->type == hir::ValueType::Long; });
    return result && numbers && is_user_stack(*result) ? &hir::as<hir::Intrinsic>(*result) : nullptr;
}

bool shares_stacks(const plan::Global& array) {
    auto has = [&](plan::KeyRole role) {
        return std::ranges::find(array.keys, role, &plan::KeyPart::role) != array.keys.end();
    };
    return array.in_kernel && has(plan::KeyRole::UserStack) && !has(plan::KeyRole::Process);
}

bool is_shared(const plan::Global& array, size_t component) {
    return component < array.keys.size() && array.keys[component].role == plan::KeyRole::UserStack &&
           shares_stacks(array);
}

uint32_t shared_stacks(const plan::Plan& plan) {
    constexpr uint64_t least = 1024, most = 65536;
    uint64_t out = 0;
    for (const plan::Global& global : plan.globals)
        out += shares_stacks(global) ? global.capacity : 0;
    return out ? static_cast<uint32_t>(std::clamp(2 * out, least, most)) : 0;
}

uint32_t shared_places(const plan::Plan& plan) {
    return sonde_shared_places(plan.max_string, static_cast<uint32_t>(plan.translate.max_backtrace()));
}

std::set<const void*> find_holders_of_shared(const hir::Program& program, const plan::Plan& plan) {
    if (std::ranges::none_of(plan.globals, shares_stacks))
        return {};
    return Holders(plan).find(program);
}

} // namespace sonde
