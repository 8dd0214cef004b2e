// Functions and their instances. A function that does not mention the probe point is built once. Any other function is
// built for each point from which it is called.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontend/sema/building.h"

namespace sonde {

// Creates functions and their instances, and adds them to the program.
class Functions {
  public:
    Functions(hir::Program& program, SemaContext& context, Names& names, SideTables& tables, PointUseFinder& point_uses)
        : program_(program), c_(context), names_(names), tables_(tables), point_uses_(point_uses) {}

    Building building() { return {program_, c_, names_, tables_, point_uses_, *this}; }

    // Returns the function that all callers share. build_pending() builds its body.
    hir::Function* instantiate(NamedFunction& entry);
    // Adds a function that the analysis has generated.
    NamedFunction& add(const ast::Function& made, FileId file) { return made_.emplace_back(&made, file, nullptr); }
    // Returns the instance for calls from `handler` at `point`. Owned here.
    Instance& instantiate(NamedFunction& entry, const ResolvedPoint& point, const hir::Handler& handler,
                          bool inside_entry, std::vector<const Type*> arguments);
    // Builds the bodies of all functions that were requested so far.
    void build_pending();
    hir::Function* define(hir::Function& function);                    // Binder::define
    hir::Expr* symbol_address(const std::string& symbol, Range range); // Binder::symbol_address

    // For drop_instances_after().
    size_t instance_count() const { return instances_.size(); }
    // Removes all instances after the first `count`. Those of a trial may be incomplete.
    void drop_instances_after(size_t count);
    // Removes functions that nobody calls. Builds the script's own ones first to report errors in them, and warns that
    // they are unused.
    void drop_uncalled();

  private:
    hir::Function* declare(const NamedFunction& entry);
    void finish_open_calls(Instance& instance);
    bool is_called(const NamedFunction& entry, const std::set<const hir::Function*>& called) const;

    hir::Program& program_;
    SemaContext& c_;
    Names& names_;
    SideTables& tables_;
    PointUseFinder& point_uses_;
    std::deque<NamedFunction*> pending_;
    std::deque<NamedFunction> made_;
    std::deque<Instance> instances_;
    std::map<std::string, hir::Function*> readers_; // Binder::define, by hir::identity()
};

} // namespace sonde
