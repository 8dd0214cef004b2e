// The phases after building, in the order in which analyze.cc runs them. They read the program and the tables that
// building has filled.
#pragma once

#include "frontend/hir/hir.h"
#include "frontend/sema/context.h"
#include "frontend/sema/names.h"
#include "frontend/sema/side_tables.h"

namespace sonde {

// infer.cc: gives every expression, variable and function a type. Requires that all names are resolved.
void infer_types(hir::Program& program, const Names& names, SideTables& tables, SemaContext& context);

// All following phases require that every expression has a type.

// c_code.cc: moves handlers that call C into the kernel, and adds the C declarations that they need to the program.
void place_c_code(hir::Program& program, const Names& names, const SideTables& tables, SemaContext& context);
// check.cc: compiles the regular expressions.
void compile_regexes(const SideTables& tables, SemaContext& context);
// check.cc: reports arrays that are changed in a loop over the same array.
void check_foreach(const hir::Program& program, const SideTables& tables, SemaContext& context);
// check_recorded.cc: for a script over a recording, reports questions that only the running system can answer. Lets
// handlers run for events that have the values that they read.
void check_recorded(hir::Program& program, SemaContext& context);
// check.cc: warns of handlers that do nothing.
void check_side_effects(const hir::Program& program, const SideTables& tables, SemaContext& context);
// usage.cc: decides where globals are stored, which data statistics keep, and which globals are printed at the end.
// Adds the used globals to the program.
void analyze_usage(hir::Program& program, const Names& names, const SideTables& tables, SemaContext& context);
// usage.cc: determines the contents of the records for printed histograms. Requires analyze_usage().
void finish_histograms(const SideTables& tables);
// key_labels.cc: names the parts of array keys for metrics, and sets Global::labels.
void name_keys(hir::Program& program, SemaContext& context);
// usage.cc: sorts functions so that callees come before callers, and marks recursive functions.
void order_functions(hir::Program& program, SemaContext& context);

} // namespace sonde
