// `@entry` at returns of Python functions, until the handlers that store the values are built (python_points.h).
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "frontend/ast/ast.h"
#include "frontend/hir/hir.h"
#include "frontend/points/resolved_point.h"

namespace sonde {

struct PythonEntries {
    using Calls = std::shared_ptr<const std::vector<ResolvedPoint>>;
    struct Entry {
        hir::Global* values; // by process and frame
        std::vector<Calls> calls;
        bool is_built = false;
    };
    std::map<const ast::EntryExpr*, Entry> all;
    std::vector<hir::Global*> globals;                // those of `all`, in the order of the script
    std::map<const hir::Handler*, hir::Global*> used; // by handlers; the first one
};

} // namespace sonde
