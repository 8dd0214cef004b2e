#include "frontend/sema/shared_globals.h"

#include <fmt/format.h>

namespace sonde {
namespace {

hir::ValueType type_of(plan::Value value) {
    return value == plan::Value::String  ? hir::ValueType::String
           : value == plan::Value::Stats ? hir::ValueType::Stats
                                         : hir::ValueType::Long;
}

} // namespace

void adopt_shared_globals(Names& names, const plan::SharedGlobals& shared, SideTables& tables) {
    for (const GlobalEntry& entry : names.globals()) {
        hir::Global& global = *entry.hir;
        const plan::Global* known = shared.find(global.name);
        if (!known)
            continue;
        global.type = type_of(known->type);
        global.capacity = known->capacity;
        global.wrap = known->wrap;
        global.keys.clear();
        for (const plan::KeyPart& part : known->keys)
            global.keys.push_back(type_of(part.type));
        names.use_as(global, known->keys.empty() ? Shape::Scalar : Shape::Array, global.range);
        tables.fixed_at[&global] = global.range;
    }
}

void settle_shared_globals(hir::Program& program, const plan::SharedGlobals& shared, SemaContext& context) {
    for (hir::Global* global : program.globals) {
        if (!global->is_own)
            continue;
        global->auto_print &= shared.prints_unread;
        global->used_in_kernel = global->used_in_host = true;
        if (global->type != hir::ValueType::Stats)
            continue;
        plan::StatsNeeds& needs = global->stats;
        const plan::Global* known = shared.find(global->name);
        if (!known) {
            // Keep the data for all extractors, except that for percentiles of arrays, which is large.
            needs.variance = true;
            if (needs.histogram == plan::StatsNeeds::None)
                needs.histogram = plan::StatsNeeds::Log;
            needs.quantiles |= !global->is_array();
            continue;
        }
        const plan::StatsNeeds& kept = known->stats;
        std::string missing;
        if (needs.quantiles && !kept.quantiles)
            missing = "@percentile";
        else if (needs.histogram == plan::StatsNeeds::Log && kept.histogram != plan::StatsNeeds::Log)
            missing = "@hist_log";
        else if (needs.histogram == plan::StatsNeeds::Linear &&
                 (kept.histogram != plan::StatsNeeds::Linear || needs.low != kept.low || needs.high != kept.high ||
                  needs.width != kept.width))
            missing = "this @hist_linear";
        else if (needs.variance && needs.variance_shift != kept.variance_shift)
            missing = "@variance with this shift";
        if (!missing.empty())
            context
                .report_once(
                    DiagId::BadStatistic, global->range,
                    fmt::format("`{}` exists already, and does not keep the data for {}", global->name, missing))
                .help("use a new statistic, and this extractor in the probe that creates it");
        needs = kept;
    }
}

void refuse_shared_stacks(const hir::Program& program, SemaContext& context) {
    for (const hir::Global* global : program.globals)
        for (plan::KeyRole role : global->key_roles)
            if (global->is_own && (role == plan::KeyRole::KernelStack || role == plan::KeyRole::UserStack))
                context
                    .report_once(DiagId::Unsupported, global->range,
                                 fmt::format("`{}`: the probes of an interactive session cannot share stacks as keys",
                                             global->name))
                    .help("print the stack with print_ubacktrace() or print_backtrace(), or run the script with "
                          "`sonde -e`");
}

} // namespace sonde
