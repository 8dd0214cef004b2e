// One body of a function or handler, while it is built from its trees to HIR: the context of the build_* functions.
//
// Names are resolved there, types are left open (infer.cc). What translation already knows, `@defined` and what follows
// from it, decides which branches are built at all. Where a script is wrong, an expression becomes a constant 0 after
// the report, so that the analysis goes on.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "frontend/sema/functions.h"

namespace sonde {

struct Body : Building {
    // `locals` receives what the body declares. A handler's body:
    Body(const Building& building, FileId file, std::vector<hir::Local*>& locals, const ResolvedPoint& point,
         hir::Handler& handler, const ast::BlockStmt& body)
        : Building(building), file(file), locals(locals), point(&point), handler(&handler), user_body(&body) {}
    // The body of a function for all callers:
    Body(const Building& building, NamedFunction& entry, std::vector<hir::Local*>& locals)
        : Building(building), file(entry.file), locals(locals), entry(&entry) {}
    // The body of a function for one probe point:
    Body(const Building& building, Instance& instance, std::vector<hir::Local*>& locals, const ResolvedPoint& point)
        : Building(building), file(instance.entry->file), locals(locals), point(&point), entry(instance.entry),
          instance(&instance), inside_entry(instance.inside_entry) {}

    // The local of that name; a new one where there is none.
    hir::Local* declare(const std::string& name, Range range);
    // A local number under a name that no script can write.
    hir::Local* declare_hidden(const char* what, Range range);
    // The local that a name means here; null if there is none. What an alias of the library sets is hidden by the
    // script's own global.
    hir::Local* find_local(const std::string& name);
    // The global that a name means here; null if there is none. The library knows nothing of the script's.
    hir::Global* find_global(const std::string& name) {
        return names.find_global(name, file, context.diags.sources().is_tapset(file));
    }

    // Null in handlers.
    hir::Function* function() const { return instance ? instance->function : entry ? entry->hir : nullptr; }
    // The handler, or the one that an instance is for; null in functions for all callers.
    const hir::Handler* running() const { return instance ? instance->handler : handler; }
    // What is evaluated at the probed function's entry.
    std::vector<hir::Expr*>& entry_values() { return instance ? instance->entry_values : handler->entry_values; }

    hir::Expr* zero(Range range) { return make<hir::ConstLong>(range, 0); }
    template <typename T, typename... Args> T* make(Args&&... args) {
        return context.arena.make<T>(std::forward<Args>(args)...);
    }

    FileId file; // where names are looked up
    std::vector<hir::Local*>& locals;
    const ResolvedPoint* point = nullptr;      // null in functions for all callers
    hir::Handler* handler = nullptr;           // null in functions
    NamedFunction* entry = nullptr;            // null in handlers
    Instance* instance = nullptr;              // null in handlers and in functions for all callers
    const ast::BlockStmt* user_body = nullptr; // handlers: the probe's own, without what aliases add
    std::map<std::string, hir::Local*> locals_by_name;
    bool inside_entry = false;                           // in an @entry, or in an instance that one calls
    bool returns_value = false, returns_nothing = false; // `return x`; `return` and `next`
};

} // namespace sonde
