// Binds target expressions (`$x->y` and others) to HIR: finds where the value is at a resolved point.
//
// The base of an expression (`$x`, `@var("x")`, `@cast(e, "T")`) is a name; a source of variables, one file each, finds
// its place. Components go from place to place. The use of the last place (its value, address or text, or a write)
// becomes HIR.
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
#include "frontend/points/probe_environment.h"
#include "frontend/points/resolved_point.h"
#include "frontend/types/type.h"

namespace sonde {

// The interface to sema for bind_target().
struct Binder {
    Arena& arena;
    Diagnostics& diags;
    ProbeEnvironment& env;
    // Lowers an ordinary expression (an index, a cast's operand).
    std::function<hir::Expr*(const ast::Expr&)> lower;
    // Registers an expression for evaluation at the function's entry and returns the EntryRead. Null outside of .return
    // probes.
    std::function<hir::Expr*(hir::Expr*)> at_entry;
    // A hidden local for a value that is needed several times; null if the value can be evaluated again.
    std::function<hir::Local*(const hir::Expr*)> hold = nullptr;
    // Set while the operand of @entry is lowered: names are evaluated at the entry.
    bool inside_entry = false;
    // The C type of a script's value that came from a typed place; otherwise null.
    std::function<const Type*(const hir::Expr&)> c_type_of = nullptr;
    // The debug information of another program, by its path (ProbeEnvironment::module()).
    std::function<Result<DwarfModule*>(const std::string&)> module = nullptr;
    // Calls a library function; null if it does not exist.
    std::function<hir::Expr*(const char* name, std::vector<hir::Expr*> args)> call = nullptr;
    // Registers a function that reads a value: names it, or returns an existing one with the same body. Null if
    // functions are impossible here.
    std::function<hir::Function*(hir::Function&)> define = nullptr;
    // The run-time address of a kernel symbol.
    std::function<hir::Expr*(const std::string& symbol)> symbol_address = nullptr;
    // Builds the texts of many system calls; null: each call has its own code.
    class CallTexts* call_texts = nullptr;
    // Records the C type of a value that was read.
    std::function<void(const hir::Expr*, const Type*)> record_c_type = nullptr;
};

// The type of a target expression, without using debug information: String for `$$vars` and others and for a trailing
// `$` or `$$`, otherwise Long.
hir::ValueType target_type(const ast::TargetExpr& expr);

// What a target expression means at a point.
struct Bound {
    hir::Expr* expr = nullptr; // null after a report
    // The meaning is correct only for a kernel with the same types (hir::Handler::needs_same_types). This also holds
    // for an error, because `@defined` can hide it.
    bool needs_same_types = false;
};

// Binds `$x->y[i]`, `$return`, `$$parms`, `@cast(e, "type")->m` or `@var("g")` at `point`. Reports these errors:
// * an unknown variable (with the most similar names and visible ones), or an unknown member;
// * a value that is not available here (with the reason, and where it is available);
// * something that is not a pointer;
// * `$return` outside of .return;
// * missing debug information.
Bound bind_target(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder);
// `&$x->y`: the address. Also an error: a value in a register, a bitfield.
Bound bind_address_of(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder);
// The stack pointer at the entry of a .return probe's function, evaluated at the probe there; null: it has not changed,
// or the frame pointer leads to it.
hir::Expr* bind_entry_stack(const ResolvedPoint& point, Range range, Arena& arena, Diagnostics& diags,
                            ProbeEnvironment& env);
// `$value = e` and `$value .= e` in a control file, and `$verdict = e` and `$return = e` if the handler decides
// something: a call of a library function. nullopt: it is not such a variable; null after a report.
std::optional<hir::Expr*> bind_assignment(const ast::TargetExpr& expr, bool append, hir::Expr* value,
                                          const ResolvedPoint& point, Binder& binder);

// An assignment to a target expression: `= value` or `op= value`. ++ and -- are the latter with 1.
struct TargetAssignment {
    hir::Expr* value;
    std::optional<hir::BinaryOp> op;
    bool gives_old = false; // the expression has the old value; `op` is Add or Sub then
    Range range;            // of the operation
};
// Writes the program's memory. Also an error: a value in a register, a value that is not a number, kernel memory, and a
// handler that does not run in the program.
Bound bind_store(const ast::TargetExpr& expr, const TargetAssignment& assignment, const ResolvedPoint& point,
                 Binder& binder);

// The condition that one of `point.callers` is the caller; null if any function may call.
hir::Expr* bind_callers(const ResolvedPoint& point, Range range, Binder& binder);
// Returns the condition under which the jump at a function's end leaves the function. Null for an unconditional jump,
// and for points that are not at a jump.
hir::Expr* bind_jump_taken(const ResolvedPoint& point, Range range, Arena& arena);

} // namespace sonde
