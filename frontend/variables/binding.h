// The state for binding one target expression (`$x->y`, `@cast(e, "T")->m`): the expression, the point where it is
// evaluated, where to report, and functions that build HIR. Private to frontend/variables.
//
// Functions over a Binding that return a pointer or an optional report an error before they return null or nullopt,
// unless their comments say otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "frontend/variables/variables.h"

namespace sonde {

struct Binding {
    const ast::TargetExpr& expr;
    const ResolvedPoint& point;
    Binder& binder;
    bool wants_address = false;    // only the address is needed, so the type does not matter
    hir::Expr* held = nullptr;     // must be evaluated before everything else
    bool needs_same_types = false; // Bound::needs_same_types

    Binding(const ast::TargetExpr& target, const ResolvedPoint& where, Binder& with)
        : expr(target), point(where), binder(with) {}

    std::nullptr_t fail(DiagId id, Range range, const std::string& message, const std::string& help = "");
    // Whether the user wrote the expression in a word of a tool, such as FORMAT of `sonde log`, and not in a script.
    bool is_in_tools_word() const;
    // The expression up to component `end`, without that one, as in the script.
    std::string as_written(size_t end = SIZE_MAX) const;
    // The range of the base, before the components.
    Range base_range() const;
    // How much of a value is printed, by the `$` at the end. 0: it is not a text; 1: `$`; 2: `$$`.
    int pretty_depth() const;

    Address evaluation_address() const { return point.is_return ? point.entry_address : point.address; }
    // The program counter at this moment, as linked.
    Address counter_address() const { return point.jump.value_or(evaluation_address()); }

    // ---- HIR; new nodes have the expression's range
    template <typename T, typename... Args> T* make(Args&&... args) {
        return binder.arena.make<T>(std::forward<Args>(args)...);
    }
    hir::Expr* number(int64_t value);
    hir::Expr* string(const std::string& value);
    hir::Expr* binary(hir::BinaryOp op, hir::Expr* left, hir::Expr* right);
    hir::Expr* plus(hir::Expr* expr, int64_t offset);
    hir::Expr* ternary(hir::Expr* condition, hir::Expr* then_value, hir::Expr* else_value);
    hir::Expr* get(hir::Local* local);
    hir::Stmt* set(hir::Local* local, hir::Expr* value, bool append = false);
    // If `at_entry`, the value that the expression had when the function was entered; otherwise the expression.
    hir::Expr* saved(hir::Expr* expr, bool at_entry);
    // Records that `value` is the address of a `target`.
    void note_pointer(const hir::Expr* value, const Type* target);
};

} // namespace sonde
