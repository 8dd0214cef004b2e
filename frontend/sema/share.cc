// Handlers, and which probe points share one.
//
// A body that mentions nothing of the probe point is built once for all points of a probe. Any other is built for each
// point, and points whose bodies come out the same (by their dump) share a handler: a variable that lives in the same
// place at a thousand points needs one program, not a thousand.
#include <fmt/format.h>

#include "frontend/sema/body_builder.h"

namespace sonde {

hir::Handler* Analyzer::build_handler(const ast::Probe& probe, FileId file, const Resolved& resolved) {
    auto* handler = arena_.make<hir::Handler>();
    handler->range = probe.range;
    heads_[handler] = probe.points[0]->range;
    handler->kind = resolved.point.kind;
    handler->in_kernel = resolved.point.in_kernel;
    if (options_.kernel_host_probes && handler->kind != plan::ProbeKind::Never)
        handler->in_kernel = true;
    handler->timer = resolved.point.timer;
    handler->order = resolved.point.order;
    handler->body = arena_.make<hir::Block>(probe.range);
    BodyBuilder builder(*this, file, handler->locals, resolved.point, *handler, *probe.body);
    const Expansion& expansion = *resolved.expansion;
    for (const Expansion::Condition& condition : expansion.conditions) {
        hir::Expr* value = builder.build_condition(*condition.expr, condition.file);
        handler->condition =
            handler->condition ? arena_.make<hir::Logical>(value->range, true, handler->condition, value) : value;
    }
    for (const Expansion::Piece& piece : expansion.prologues)
        builder.build_block(*piece.block, piece.file, *handler->body);
    builder.build_block(*probe.body, file, *handler->body);
    for (const Expansion::Piece& piece : expansion.epilogues)
        builder.build_block(*piece.block, piece.file, *handler->body);
    if (!handler->entry_values.empty())
        handler->return_address = bind_return_address(resolved.point, arena_, diags_);
    return handler;
}

void Analyzer::keep_handler(hir::Handler& handler) {
    handler.name = fmt::format("probe_{}", program_->handlers.size());
    program_->handlers.push_back(&handler);
}

namespace {

// What the aliases add, as a text that is equal for equal additions.
std::string key_of(const Expansion& expansion) {
    std::string key;
    for (const auto* pieces : {&expansion.prologues, &expansion.epilogues}) {
        key += "/";
        for (const Expansion::Piece& piece : *pieces)
            key += fmt::format(" {}", static_cast<const void*>(piece.block));
    }
    for (const Expansion::Condition& condition : expansion.conditions)
        key += fmt::format(" ?{}", static_cast<const void*>(condition.expr));
    return key;
}

} // namespace

Analyzer::Reach Analyzer::reach_of(const Expansion& expansion, const ast::Probe& probe, FileId file) {
    Reach reach = reach_of(*probe.body, file);
    auto add = [&](const Reach& more) {
        reach.point = reach.point || more.point;
        reach.address = reach.address || more.address;
        reach.targets.insert(reach.targets.end(), more.targets.begin(), more.targets.end());
    };
    for (const auto* pieces : {&expansion.prologues, &expansion.epilogues})
        for (const Expansion::Piece& piece : *pieces)
            add(reach_of(*piece.block, piece.file));
    for (const Expansion::Condition& condition : expansion.conditions)
        for_each_expr(*condition.expr,
                      [&](const ast::Expr& expr) { reach.point = reach.point || mentions_point(expr); });
    return reach;
}

void Analyzer::build_probe(const ast::Probe& probe, FileId file) {
    std::vector<Resolved> points = resolve(probe.points, file);
    std::map<const Expansion*, Reach> reaches;
    std::map<std::string, hir::Handler*> by_key, by_body;
    for (Resolved& resolved : points) {
        auto [entry, fresh] = reaches.try_emplace(resolved.expansion);
        if (fresh)
            entry->second = reach_of(*resolved.expansion, probe, file);
        const Reach& reach = entry->second;
        if (!reach.address) // where a call passes it, it may be in a register
            place_cheaply(resolved.point, reach.targets);
        const ResolvedPoint& point = resolved.point;
        std::string key = fmt::format("{} {} {} {} {} {}", static_cast<int>(point.kind), point.in_kernel, point.order,
                                      point.timer.interval_ns, point.timer.random_ns, key_of(*resolved.expansion));
        if (!reach.point) {
            hir::Handler*& shared = by_key[key];
            if (!shared) {
                shared = build_handler(probe, file, resolved);
                if (point.kind == plan::ProbeKind::Never)
                    never_handlers_.push_back(shared);
                else
                    keep_handler(*shared);
            }
            shared->points.push_back(point.point);
            continue;
        }
        size_t errors = diags_.error_count();
        hir::Handler* handler = build_handler(probe, file, resolved);
        if (diags_.error_count() > errors)
            return; // the other points would only say it again
        if (point.kind == plan::ProbeKind::Never) {
            never_handlers_.push_back(handler);
            continue;
        }
        hir::Handler*& shared = by_body[key + "\n" + hir::dump_body(*handler)];
        if (!shared) {
            shared = handler;
            keep_handler(*handler);
        }
        shared->points.push_back(point.point);
    }
}

} // namespace sonde
