// The phases after building, in the order in which analyze.cc runs them. Each takes the program and what building has
// noted.
#pragma once

#include "frontend/hir/hir.h"
#include "frontend/sema/context.h"
#include "frontend/sema/names.h"
#include "frontend/sema/notes.h"

namespace sonde {

// infer.cc: gives every expression, variable and function its type. Needs every name resolved.
void infer_types(hir::Program& program, const Names& names, Notes& notes, SemaContext& context);

// What follows needs every expression's type.

// c_code.cc: handlers that call C run in the kernel, and the program gets the declarations for it.
void place_c_code(hir::Program& program, const Names& names, const Notes& notes, SemaContext& context);
// check.cc: makes programs of the regular expressions.
void compile_regexes(const Notes& notes, SemaContext& context);
// check.cc: reports arrays that are changed in a loop over them.
void check_foreach(const hir::Program& program, const Notes& notes, SemaContext& context);
// check.cc: warns of handlers that do nothing.
void check_side_effects(const hir::Program& program, const Notes& notes, SemaContext& context);
// usage.cc: where globals live, what statistics keep, what is printed at the end. Puts the globals that are used into
// the program.
void analyze_usage(hir::Program& program, const Names& names, const Notes& notes, SemaContext& context);
// usage.cc: what a printed histogram's record carries. After analyze_usage().
void finish_histograms(const Notes& notes);
// usage.cc: callees before callers; functions that call themselves are marked.
void order_functions(hir::Program& program, SemaContext& context);

} // namespace sonde
