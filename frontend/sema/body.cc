// Decides which local or global a name in a body means.
#include "frontend/sema/body.h"

#include <fmt/format.h>

namespace sonde {

hir::Local* Body::declare(const std::string& name, Range range) {
    auto [known, fresh] = locals_by_name.try_emplace(name, nullptr);
    if (fresh) {
        known->second = make<hir::Local>();
        known->second->name = name;
        known->second->range = range;
        known->second->index = static_cast<uint32_t>(locals.size());
        locals.push_back(known->second);
    }
    return known->second;
}

hir::Local* Body::find_local(const std::string& name) {
    auto found = locals_by_name.find(name);
    if (found == locals_by_name.end())
        return nullptr;
    const Sources& sources = context.diags.sources();
    if (sources.is_tapset(found->second->range.file) && !sources.is_tapset(file))
        if (const hir::Global* global = find_global(name); global && !sources.is_tapset(global->range.file))
            return nullptr;
    return found->second;
}

hir::Local* Body::declare_hidden(const char* what, Range range) {
    hir::Local* local = declare(fmt::format("{}.{}", what, locals.size()), range);
    local->type = hir::ValueType::Long;
    tables.assigned.insert(local);
    tables.bound.insert(local);
    return local;
}

} // namespace sonde
