// Probes of Python functions: the condition that the interpreter executes a function that the point means, and
// `@entry`.
//
// The problem: the probe is in the interpreter's loop, so every call of any function hits it. Comparing names for each
// hit would be slow. The idea: the library remembers which functions the point means (stdlib/python.stp), and names are
// compared only when a function is seen for the first time:
//
//     begins(frame) && (known(code) != no) && (known(code) == yes || note(code, file =~ "..." && name =~ "..."))
//
// `@entry(E)` at a return is the value that E had at the call. A second handler, at the places of calls, stores it
// under the process and the frame's address, which no other call has until this one is over.
#pragma once

#include "frontend/hir/hir.h"
#include "frontend/sema/body.h"
#include "frontend/variables/variables.h"

namespace sonde {

// The condition; null for points that are not functions of Python.
hir::Expr* build_python_condition(Body& b, Binder& binder, Range range);
// The qualified name of the function at such a point; before 3.11 its name.
hir::Expr* build_python_name(Body& b, Binder& binder, Range range);
// Facts about the interpreter at a point `process("P").python.NEXT`, as numbers; 0 at other points. `which`: "runtime",
// the distance from the probed instruction, for a return that of the entry, to `_PyRuntime`; or a member's offset:
// "interpreters", "next interpreter", "thread number" (0: this version does not have it).
hir::Expr* build_python_fact(Body& b, const std::string& which, Range range);

// `@entry(...)` at such a point that is a return. Handlers::build_python_entries() builds the handlers that store it.
hir::Expr* build_python_entry(Body& b, Binder& binder, const ast::EntryExpr& expr);
// The condition that the values of `@entry` were stored. Null if the handler has none.
hir::Expr* build_python_seen(Body& b, Binder& binder, Range range);
// The element of the call that is being executed.
hir::Element* python_value(Body& b, Binder& binder, hir::Global* values, Range range);

} // namespace sonde
