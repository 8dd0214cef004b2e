// One body of a function or handler while it is converted from trees to HIR: the context of the build_* functions.
//
// Building resolves names but leaves types open (infer.cc). If the compiler already knows a condition, as with
// `@defined($x)`, only the branch that is taken is built; the other one may contain variables that do not exist here.
// After an error, the wrong expression becomes the constant 0, so that the analysis can go on and report further
// errors.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "frontend/sema/building.h"

namespace sonde {

// Not copied: the build_* functions take a reference, named `b`.
struct Body : Building {
    // `locals` receives the locals that the body declares. This constructor is for a handler's body:
    Body(const Building& building, FileId file, std::vector<hir::Local*>& locals, const ResolvedPoint& point,
         hir::Handler& handler, const ast::BlockStmt& body)
        : Building(building), file(file), locals(locals), point(&point), handler(&handler), user_body(&body) {}
    // For the body of a function that all callers share:
    Body(const Building& building, NamedFunction& entry, std::vector<hir::Local*>& locals)
        : Building(building), file(entry.file), locals(locals), entry(&entry) {}
    // For the body of a function that is built for one probe point:
    Body(const Building& building, Instance& instance, std::vector<hir::Local*>& locals, const ResolvedPoint& point)
        : Building(building), file(instance.entry->file), locals(locals), point(&point), entry(instance.entry),
          instance(&instance), inside_entry(instance.inside_entry) {}

    // Returns the local with this name; declares it if it does not exist.
    hir::Local* declare(const std::string& name, Range range);
    // Declares a local number with a name that no script can write.
    hir::Local* declare_hidden(const char* what, Range range);
    // Returns the local that the name means, or null. If the script declares a global with this name, a local of the
    // same name that a library alias sets is not visible to the script.
    hir::Local* find_local(const std::string& name);
    // Returns the global that the name means, or null. Library code does not see the script's globals.
    hir::Global* find_global(const std::string& name) {
        return names.find_global(name, file, context.diags.sources().is_tapset(file));
    }

    // Returns null in handlers.
    hir::Function* function() const { return instance ? instance->function : entry ? entry->hir : nullptr; }
    // Returns the handler, or the one that the function instance was built for. Returns null in functions that all
    // callers share.
    const hir::Handler* running() const { return instance ? instance->handler : handler; }
    // Of the handler or function.
    bool& needs_same_types() { return function() ? function()->needs_same_types : handler->needs_same_types; }
    // Expressions to be evaluated at the entry of the probed function.
    std::vector<hir::Expr*>& entry_values() { return instance ? instance->entry_values : handler->entry_values; }

    // The constant 0, also used in place of a wrong expression.
    hir::Expr* zero(Range range) { return make<hir::ConstLong>(range, 0); }
    // Creates a node that the arena owns.
    template <typename T, typename... Args> T* make(Args&&... args) {
        return context.arena.make<T>(std::forward<Args>(args)...);
    }

    FileId file; // the file whose names are visible
    std::vector<hir::Local*>& locals;
    const ResolvedPoint* point = nullptr;      // null in functions that all callers share
    hir::Handler* handler = nullptr;           // null in functions
    NamedFunction* entry = nullptr;            // null in handlers
    Instance* instance = nullptr;              // null in handlers and in functions that all callers share
    const ast::BlockStmt* user_body = nullptr; // handlers: the probe's own body, without the parts from aliases
    std::map<std::string, hir::Local*> locals_by_name;
    bool inside_entry = false; // inside an @entry, or in a function instance that an @entry calls
    bool returns_value = false, returns_nothing = false; // `return x`; `return` or `next`
};

} // namespace sonde
