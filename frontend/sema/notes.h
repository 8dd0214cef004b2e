// What building notes for the phases after it, beside the program itself.
//
// HIR says what a script does. These notes say what is known of it before types are: where a type was fixed, what
// values point at, which locals are used. Nothing after the analysis reads them.
#pragma once

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

struct Notes {
    // What a script variable that was assigned a typed pointer points at, so that `x->member` is known.
    struct CType {
        const Type* type = nullptr;
        const Type* other = nullptr; // it was assigned something else, too: then neither counts
    };

    std::set<const hir::Local*> assigned, read;
    std::set<const hir::Local*> bound;  // by foreach, catch or a call: assigned, and not to be called unused
    std::set<const hir::Local*> traced; // never assigned, and what is traced has a variable of that name
    std::unordered_map<const void*, Range> fixed_at; // where a slot (Local*, Global*, Function*, key) got its type
    std::unordered_map<const hir::Intrinsic*, const ast::Function*> primitives; // their declarations
    std::unordered_map<const hir::Expr*, const Type*> c_types;                  // of values that come from typed memory
    std::unordered_map<const void*, CType> c_types_of_variables; // of Local*, Global*, Function* (its result)
    std::set<const hir::Assign*> resets;                         // `delete local`: the value follows the type
    std::map<const hir::Foreach*, Range> stat_sorted;            // `a @sum -`: the elements have to be statistics
    std::vector<hir::Print*> histogram_prints;
    std::set<hir::Global*> asked; // `n in @hist_log(x)`: x counts as read, though nothing of it is
    std::vector<std::pair<hir::Regex*, Range>> regexes; // with their literals
    std::vector<hir::Handler*> never_handlers;          // of `probe never`: checked, not run
    std::map<const hir::Handler*, Range> heads;         // their first points, as the narrow place of a whole handler
    CallTexts call_texts;                               // of system calls, made by one function
    hir::Global* arrivals = nullptr;                    // notes of loops (arrivals.h); null: no probed place needs any
    std::map<std::string, hir::Global*> addresses;      // of symbols (Binder::symbol_address), by the symbol
};

// c_types.cc: what a value points at; null for a plain number.
const Type* c_type_of(const Notes& notes, const hir::Expr& expr);
// The variable (Local*, Global* or Function*) is given that value. Nothing is noted for a null variable.
void note_c_type(Notes& notes, const void* variable, const hir::Expr& value);

} // namespace sonde
