// What a body mentions of the probe point that runs it. A body that mentions nothing is built once for all points.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/sema/names.h"

namespace sonde {

// Of a body itself, and of the functions that it calls.
struct Reach {
    bool point = false; // `$x`, @defined ...: it has to be built for each point
    std::vector<const ast::TargetExpr*> targets;
    bool writes = false;                    // some of them are assigned to
    const ast::Expr* sets_result = nullptr; // `$return = value`, the first one
    bool address = false;                   // `&$x`: a variable has to be in memory
    bool registers = false;
    const ast::Expr* result = nullptr; // reads the function's result, the first one
};

class Reaches {
  public:
    explicit Reaches(Names& names) : names_(names) {}

    // `file`: where the body's names are looked up.
    Reach of_body(const ast::Stmt& body, FileId file) { return of_body(body, "", file); }
    const Reach& of_function(const NamedFunction& entry);

  private:
    // A body, in the language or in C.
    struct Part {
        const ast::Stmt* stmt;
        std::string_view c_code;
        FileId file;
    };
    using Todo = std::vector<Part>;

    Reach of_body(const ast::Stmt& body, std::string_view c_code, FileId file);
    void go_on(const std::string& name, size_t arity, FileId from, Todo& todo, std::set<const NamedFunction*>& seen);
    void go_on_in_c(const Part& part, Todo& todo, std::set<const NamedFunction*>& seen);

    Names& names_;
    std::map<const NamedFunction*, Reach> known_;
};

} // namespace sonde
