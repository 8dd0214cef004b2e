// Finds the uses of the probe point in a body. A body without any is built once for all points.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/sema/names.h"

namespace sonde {

// The uses of the probe point in a body and in all functions that it calls.
struct PointUses {
    bool point = false; // uses `$x`, @defined ...: must be built for each point
    std::vector<const ast::TargetExpr*> targets;
    bool writes = false;                    // assigns to a target
    const ast::Expr* sets_result = nullptr; // the first `$return = value`; null if none
    bool address = false;                   // uses `&$x`, so the variable must be in memory
    bool registers = false;
    const ast::Expr* result = nullptr; // the first read of the function's result; null if none
};

// Computes and caches the uses of functions.
class PointUseFinder {
  public:
    explicit PointUseFinder(Names& names) : names_(names) {}

    // `file` is the file whose names are visible in the body.
    PointUses of_body(const ast::Stmt& body, FileId file) { return of_body(body, "", file); }
    // The result for a function, computed once.
    const PointUses& of_function(const NamedFunction& entry);

  private:
    // A body to scan, in the script language or in C.
    struct Part {
        const ast::Stmt* stmt;
        std::string_view c_code;
        FileId file;
    };
    using Todo = std::vector<Part>;

    PointUses of_body(const ast::Stmt& body, std::string_view c_code, FileId file);
    void go_on(const std::string& name, size_t arity, FileId from, Todo& todo, std::set<const NamedFunction*>& seen);
    void go_on_in_c(const Part& part, Todo& todo, std::set<const NamedFunction*>& seen);

    Names& names_;
    std::map<const NamedFunction*, PointUses> known_;
};

} // namespace sonde
