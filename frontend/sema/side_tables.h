// Facts that building records for later phases.
//
// HIR describes what the script does. SideTables holds facts that only the analysis needs. Examples are the place that
// determined a type, the C type behind a pointer, and the locals that are read. Nothing after the analysis reads it.
#pragma once

#include "frontend/sema/python_entries.h"

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/source.h"
#include "frontend/ast/ast.h"
#include "frontend/hir/hir.h"
#include "frontend/types/type.h"
#include "frontend/variables/call_texts.h"

namespace sonde {

struct SideTables {
    // The C type that a script variable points to after it was assigned a typed pointer, so that `x->member` has a
    // meaning.
    struct CType {
        const Type* type = nullptr;
        const Type* other = nullptr; // a second, different type was assigned; then neither is used
    };

    std::set<const hir::Local*> assigned, read;
    std::set<const hir::Local*> bound;  // assigned by foreach, catch or a call; never reported as unused
    std::set<const hir::Local*> traced; // never assigned, while the traced program has a variable with this name
    std::unordered_map<const void*, Range> fixed_at; // where a Local*, Global*, Function* or key got its type
    std::unordered_map<const hir::Intrinsic*, const ast::Function*> primitives; // the declarations of primitives
    std::unordered_map<const hir::Expr*, const Type*> c_types;   // C types of values that come from typed memory
    std::unordered_map<const void*, CType> c_types_of_variables; // for a Local*, Global* or Function* (its result)
    std::set<const hir::Assign*> resets;              // `delete local`: the value is 0 or "", depending on the type
    std::map<const hir::Foreach*, Range> stat_sorted; // `a @sum -`: the elements must be statistics
    std::vector<hir::Print*> histogram_prints;
    std::set<hir::Global*> asked;                       // used in `n in @hist_log(x)`: counts as a read of x
    std::vector<std::pair<hir::Regex*, Range>> regexes; // with the ranges of their literals
    std::vector<hir::Handler*> never_handlers;          // for `probe never`: checked but not run
    // The first point of each probe, as a short range for messages about the whole handler.
    std::map<const hir::Handler*, Range> heads;
    CallTexts call_texts;                          // argument texts of system calls that one function computes
    hir::Global* arrivals = nullptr;               // marks of arrivals (arrivals.h); null if no point needs them
    PythonEntries python_entries;                  // `@entry` at returns of Python functions
    std::map<std::string, hir::Global*> addresses; // by symbol (Binder::symbol_address)
};

// c_types.cc: returns the type that a value points to, or null for a plain number.
const Type* c_type_of(const SideTables& tables, const hir::Expr& expr);
// Records that a variable (Local*, Global* or Function*) is assigned the value. Does nothing if `variable` is null.
void record_c_type(SideTables& tables, const void* variable, const hir::Expr& value);

} // namespace sonde
