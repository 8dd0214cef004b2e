// Tags for --dump-functions: the privilege that a function needs, and the optimizations that its body allows.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/ast/ast.h"
#include "frontend/hir/primitives.h"
#include "frontend/tapset/library.h"

namespace sonde {

// The tags of a primitive come from its row in primitives.def. Those of other functions come from their bodies and from
// the functions that they call.
class FunctionTags {
  public:
    explicit FunctionTags(Library& library);
    // Returns " /* guru */", another tag, or "". With `all`, includes the optimizations that the compiler may apply to
    // a call.
    std::string of(const ast::Function& function, bool all);

  private:
    struct Facts {
        hir::Trust trust = hir::Trust::Anybody;
        bool is_pure = true;   // a call has no side effect
        bool is_stable = true; // returns the same value as long as the handler runs
        bool keeps_arguments = true;
    };
    // The facts of a body without those of the functions that it calls, and these functions.
    struct Body {
        Facts facts;
        std::vector<const ast::Function*> callees;
    };
    Facts facts(const ast::Function& function);
    const Body& body(const ast::Function& function);
    Body read_body(const ast::Function& function) const;
    void add_call(Body& body, const ast::CallExpr& call) const;
    std::map<std::string_view, std::vector<const ast::Function*>> functions_;
    std::set<std::string_view> globals_;
    std::map<const ast::Function*, Body> known_;
};

} // namespace sonde
