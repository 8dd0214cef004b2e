// `$x->y` and its relatives as HIR: from a target expression and a resolved point to where the value is.
//
// What stands before the components (`$x`, `@var("x")`, `@cast(e, "T")`) is a name, which a source of variables finds:
// one file each. Components walk from place to place, and what is asked for of the last place (its value, its address,
// its text, a write) becomes HIR.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/diag.h"
#include "base/result.h"
#include "frontend/ast/ast.h"
#include "frontend/dwarf/dwarf_module.h"
#include "frontend/hir/hir.h"
#include "frontend/points/environment.h"
#include "frontend/points/resolved_point.h"
#include "frontend/types/type.h"

namespace sonde {

// How bind_target() talks to sema.
struct Binder {
    Arena& arena;
    Diagnostics& diags;
    ProbeEnvironment& env;
    // Lowers an ordinary expression (an index, a cast's operand).
    std::function<hir::Expr*(const ast::Expr&)> lower;
    // Registers an expression to be evaluated at the function's entry; gives the EntryRead. Null outside .return
    // probes.
    std::function<hir::Expr*(hir::Expr*)> at_entry;
    // A hidden local for a value that is needed several times; null if evaluating it again is as good.
    std::function<hir::Local*(const hir::Expr*)> hold = nullptr;
    // Set while lowering the operand of @entry: names are evaluated at the entry.
    bool inside_entry = false;
    // The C type that a script's value has because it came from a typed place; null: none.
    std::function<const Type*(const hir::Expr&)> c_type_of = nullptr;
    // Another program's debug information, by its path (ProbeEnvironment::module()).
    std::function<Result<DwarfModule*>(const std::string&)> module = nullptr;
    // Calls a function of the library; null: there is none.
    std::function<hir::Expr*(const char* name, std::vector<hir::Expr*> args)> call = nullptr;
    // Takes in a function that reads a value: gives it a name, or an earlier one that does the same in its place. Null:
    // there can be none here.
    std::function<hir::Function*(hir::Function&)> define = nullptr;
    // The address that a symbol of the kernel's has where and when the session runs.
    std::function<hir::Expr*(const std::string& symbol)> symbol_address = nullptr;
    // Where the texts of many system calls are made; null: each has code of its own.
    class CallTexts* call_texts = nullptr;
    // Notes the C type of a value that was read.
    std::function<void(const hir::Expr*, const Type*)> note_c_type = nullptr;
};

// The type that a target expression has, without looking at debug information: String for `$$vars` and its relatives
// and for a trailing `$` or `$$`, else Long.
hir::ValueType target_type(const ast::TargetExpr& expr);

// `$x->y[i]`, `$return`, `$$parms`, `@cast(e, "type")->m`, `@var("g")` at `point` as HIR. Reports and returns null on
// error: unknown variable (nearest names, what is visible), unknown member, not a pointer, unavailable here (why, where
// it is),
// `$return` outside .return, no debug information.
hir::Expr* bind_target(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder);
// `&$x->y`: the address. Errors also: in a register, a bitfield.
hir::Expr* bind_address_of(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder);
// Where the return address lies at the entry of a .return probe; null: on top of the stack.
hir::Expr* bind_return_address(const ResolvedPoint& point, Arena& arena, Diagnostics& diags, ProbeEnvironment& env);
// `$value = e` and `$value .= e` of a control file, `$verdict = e` and `$return = e` where the kernel goes by what a
// handler decides: a call of a function of the library. Nullopt: it is no such variable; null after a report.
std::optional<hir::Expr*> bind_assignment(const ast::TargetExpr& expr, bool append, hir::Expr* value,
                                          const ResolvedPoint& point, Binder& binder);

// An assignment to a target expression: `= value`, `op= value`; ++ and -- are those with 1.
struct Assignment {
    hir::Expr* value;
    std::optional<hir::BinaryOp> op;
    bool gives_old = false; // the expression's value is the one before; `op` is Add or Sub then
    Range range;            // of the operation
};
// Writes the program's memory. Errors also: in a register, no number, the kernel's memory, a handler that is not run by
// the program.
hir::Expr* bind_store(const ast::TargetExpr& expr, const Assignment& assignment, const ResolvedPoint& point,
                      Binder& binder);

// Whether one of `point.callers` calls; null if any may.
hir::Expr* bind_callers(const ResolvedPoint& point, Range range, Binder& binder);
// Whether the jump by which the function is left is taken; null if it always is, or is none.
hir::Expr* bind_jump_taken(const ResolvedPoint& point, Range range, Arena& arena);

} // namespace sonde
