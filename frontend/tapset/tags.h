// What --dump-functions says of a function besides its types: who may call it, and what it leaves alone.
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

// Primitives have it in their rows; other functions have it from their bodies and from what these call.
class FunctionTags {
  public:
    explicit FunctionTags(Library& library);
    // " /* guru */", or what stands in its place. `all`: also what the compiler may do with a call.
    std::string of(const ast::Function& function, bool all);

  private:
    struct Facts {
        hir::Trust trust = hir::Trust::Anybody;
        bool is_pure = true;   // nothing but the value is left of a call
        bool is_stable = true; // the same value as long as the handler runs
        bool keeps_arguments = true;
    };
    Facts facts(const ast::Function& function);
    Facts facts_of_body(const ast::Function& function);
    void add_call(Facts& facts, const ast::CallExpr& call);
    std::map<std::string_view, std::vector<const ast::Function*>> functions_;
    std::set<std::string_view> globals_;
    std::map<const ast::Function*, Facts> known_;
};

} // namespace sonde
