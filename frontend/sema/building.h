// The values that all parts of a body are built with.
#pragma once

#include <vector>

#include "frontend/sema/context.h"
#include "frontend/sema/names.h"
#include "frontend/sema/point_uses.h"
#include "frontend/sema/side_tables.h"

namespace sonde {

// A function whose body depends on the caller: it is built for one probe point, and for the C types of its arguments.
struct Instance {
    NamedFunction* entry = nullptr;
    hir::Function* function = nullptr;
    const hir::Handler* handler = nullptr;
    bool inside_entry = false;
    std::vector<const Type*> arguments;
    // Values that the function needs from the probed function's entry. They are passed after the arguments in the
    // source.
    std::vector<hir::Expr*> entry_values;
    struct OpenCall { // a recursive call, built before all entry values were known
        hir::Call* call;
        const hir::Function* from;
    };
    std::vector<OpenCall> open_calls;
    bool complete = false;
};

class Functions;

// Everything that building a body needs.
struct Building {
    hir::Program& program;
    SemaContext& context;
    Names& names;
    SideTables& tables;
    PointUseFinder& point_uses;
    Functions& functions;
};

} // namespace sonde
