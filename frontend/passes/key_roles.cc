// Finds the components of array keys that hold stacks or processes.
//
// In the script a stack is a string, as in `n[ubacktrace()]++`. The session can do more with it: draw a flame graph, or
// print function names instead of addresses. For this the plan stores the role of each key component.
//
// A value keeps its role when it passes through variables, arrays and loops. A component that can also hold another
// kind of value has no role (KeyRole::Plain).
#include <map>
#include <optional>
#include <utility>

#include "frontend/hir/walk.h"
#include "frontend/passes/passes.h"

namespace sonde {
namespace {

using plan::KeyRole;

class Roles {
  public:
    explicit Roles(hir::Program& program) : program_(program) {}

    void run() {
        // A loop or an array may pass on a value whose role only becomes known further down, so repeat until nothing
        // changes.
        do {
            changed_ = false;
            for (const hir::Function* function : program_.functions)
                look_at(*function->body);
            for (const hir::Handler* handler : program_.handlers)
                look_at(*handler->body);
        } while (changed_);
        for (hir::Global* global : program_.globals)
            for (size_t i = 0; i < global->keys.size(); i++)
                global->key_roles.push_back(role_at({global, i}).value_or(KeyRole::Plain));
    }

  private:
    // A variable (a Local*, a scalar Global*, or all values of an array; the index is `value`), or one component of an
    // array's key (its index).
    using Place = std::pair<const void*, size_t>;
    static constexpr size_t value = SIZE_MAX;

    std::optional<KeyRole> role_at(const Place& place) const {
        const auto at = roles_.find(place);
        return at == roles_.end() ? std::nullopt : std::optional(at->second);
    }
    void join(const Place& place, std::optional<KeyRole> role) {
        if (!role)
            return;
        const auto [at, fresh] = roles_.emplace(place, *role);
        changed_ = changed_ || fresh;
        if (at->second != *role && at->second != KeyRole::Plain) {
            at->second = KeyRole::Plain;
            changed_ = true;
        }
    }

    // The role of an expression's value. Empty for a constant, and for a variable of which nothing is known yet.
    std::optional<KeyRole> role_of(const hir::Expr& expr) {
        switch (expr.kind) {
        case hir::ExprKind::ConstLong: // a constant only clears a variable; it does not change the role
        case hir::ExprKind::ConstString:
            return std::nullopt;
        case hir::ExprKind::LocalRef:
            return role_at({hir::as<hir::LocalRef>(expr).local, value});
        case hir::ExprKind::GlobalRef:
            return role_at({hir::as<hir::GlobalRef>(expr).global, value});
        case hir::ExprKind::Element:
            return role_at({hir::as<hir::Element>(expr).array, value});
        case hir::ExprKind::Ternary: {
            const std::optional<KeyRole> yes = role_of(*hir::as<hir::Ternary>(expr).then_value);
            const std::optional<KeyRole> no = role_of(*hir::as<hir::Ternary>(expr).else_value);
            return !yes ? no : !no || yes == no ? yes : KeyRole::Plain;
        }
        case hir::ExprKind::Call:
            if (const hir::Expr* result = only_result(*hir::as<hir::Call>(expr).callee))
                if (result->kind == hir::ExprKind::Intrinsic)
                    return role_of(*result);
            return KeyRole::Plain;
        case hir::ExprKind::Intrinsic: {
            const hir::Primitive& facts = hir::as<hir::Intrinsic>(expr).facts;
            if (facts.gives_stack)
                return facts.of_kernel ? KeyRole::KernelStack : KeyRole::UserStack;
            return facts.number == hir::TaskNumber::Pid ? KeyRole::Process : KeyRole::Plain;
        }
        default:
            return KeyRole::Plain;
        }
    }

    void fills(const hir::Expr& target) {
        if (target.kind != hir::ExprKind::Element)
            return;
        const auto& element = hir::as<hir::Element>(target);
        for (size_t i = 0; i < element.keys.size(); i++)
            join({element.array, i}, role_of(*element.keys[i]));
    }

    void look_at(const hir::Stmt& body) {
        for_each_stmt(body, [&](const hir::Stmt& statement) {
            if (statement.kind != hir::StmtKind::Foreach)
                return;
            const auto& loop = hir::as<hir::Foreach>(statement);
            for (size_t i = 0; i < loop.keys.size(); i++)
                join({loop.keys[i], value}, role_at({loop.array, i}));
            if (loop.value)
                join({loop.value, value}, role_at({loop.array, value}));
        });
        for_each_expr(body, [&](const hir::Expr& expr) {
            if (expr.kind == hir::ExprKind::StatAdd)
                fills(*hir::as<hir::StatAdd>(expr).target);
            if (expr.kind != hir::ExprKind::Assign)
                return;
            const auto& assign = hir::as<hir::Assign>(expr);
            fills(*assign.target);
            join({variable_of(*assign.target), value},
                 assign.op || assign.concat ? KeyRole::Plain : role_of(*assign.value));
        });
    }

    hir::Program& program_;
    std::map<Place, KeyRole> roles_;
    bool changed_ = false;
};

} // namespace

void find_key_roles(hir::Program& program) { Roles(program).run(); }

} // namespace sonde
