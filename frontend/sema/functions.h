// Functions that are called, and their instances. A function that mentions nothing of the probe point is built once;
// any other is built for each point that it is called from.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontend/sema/context.h"
#include "frontend/sema/names.h"
#include "frontend/sema/notes.h"
#include "frontend/sema/reach.h"

namespace sonde {

// A function whose body means something else from caller to caller: built for one probe point, and for what the
// arguments point at.
struct Instance {
    NamedFunction* entry = nullptr;
    hir::Function* function = nullptr;
    const hir::Handler* handler = nullptr;
    bool inside_entry = false;
    std::vector<const Type*> arguments;
    // What it wants to know from the probed function's entry: arguments of their own after the written ones.
    std::vector<hir::Expr*> entry_values;
    struct OpenCall { // made from inside, before all entry values were known
        hir::Call* call;
        const hir::Function* from;
    };
    std::vector<OpenCall> open_calls;
    bool complete = false;
};

class Functions;

// What bodies are built with.
struct Building {
    hir::Program& program;
    SemaContext& context;
    Names& names;
    Notes& notes;
    Reaches& reaches;
    Functions& functions;
};

class Functions {
  public:
    Functions(hir::Program& program, SemaContext& context, Names& names, Notes& notes, Reaches& reaches)
        : program_(program), c_(context), names_(names), notes_(notes), reaches_(reaches) {}

    Building building() { return {program_, c_, names_, notes_, reaches_, *this}; }

    // The one for all callers. Its body is built by build_pending().
    hir::Function* instantiate(NamedFunction& entry);
    // A function that analysis makes, and no file has.
    NamedFunction& add(const ast::Function& made, FileId file) { return made_.emplace_back(&made, file, nullptr); }
    // The instance for a call from a body of `handler` at `point`; owned here.
    Instance& instantiate(NamedFunction& entry, const ResolvedPoint& point, const hir::Handler& handler,
                          bool inside_entry, std::vector<const Type*> arguments);
    void build_pending();
    hir::Function* define(hir::Function& function);                    // Binder::define
    hir::Expr* symbol_address(const std::string& symbol, Range range); // Binder::symbol_address

    size_t instance_count() const { return instances_.size(); }
    // Takes back all instances after the first `count`: those of a trial may lack what could not be built.
    void drop_instances_after(size_t count);
    // Looks at user functions that nobody calls, for errors in their names; says that they are unused; drops them.
    void drop_uncalled();

  private:
    hir::Function* declare(const NamedFunction& entry);
    void finish_open_calls(Instance& instance);
    bool is_called(const NamedFunction& entry, const std::set<const hir::Function*>& called) const;

    hir::Program& program_;
    SemaContext& c_;
    Names& names_;
    Notes& notes_;
    Reaches& reaches_;
    std::deque<NamedFunction*> pending_;
    std::deque<NamedFunction> made_;
    std::deque<Instance> instances_;
    std::map<std::string, hir::Function*> readers_; // Binder::define, by hir::identity()
};

} // namespace sonde
