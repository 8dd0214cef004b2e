// What every function that binds one target expression (`$x->y`, `@cast(e, "T")->m`) needs: the expression, the point
// where it is evaluated, whom to report to, and the HIR from which values are built. Private to frontend/variables.
//
// Functions over a Binding that give a pointer or an optional report before they give nothing, unless they say
// otherwise.
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
    bool wants_address = false; // and no more, so that the type does not matter
    hir::Expr* held = nullptr;  // to be evaluated before everything else

    Binding(const ast::TargetExpr& target, const ResolvedPoint& where, Binder& with)
        : expr(target), point(where), binder(with) {}

    std::nullptr_t fail(DiagId id, Range range, const std::string& message, const std::string& help = "");
    // The expression up to (without) component `end`, as written.
    std::string as_written(size_t end = SIZE_MAX) const;
    // Of what stands before the components.
    Range base_range() const;
    // How much of a value its text shows, by the `$` at the end. 0: it is no text; 1: `$`; 2: `$$`.
    int pretty_depth() const;

    Address evaluation_address() const { return point.is_return ? point.entry_address : point.address; }
    // Where the program counter is then, as linked.
    Address counter_address() const { return point.jump.value_or(evaluation_address()); }

    // ---- HIR. What is made has the range of the expression.
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
    // The expression's value when the function was entered, if `at_entry`.
    hir::Expr* saved(hir::Expr* expr, bool at_entry);
    // Notes that `value` is the address of a `target`.
    void note_pointer(const hir::Expr* value, const Type* target);
};

} // namespace sonde
