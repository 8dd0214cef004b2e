// Handlers of a script's probes, and which probe points share one.
#pragma once

#include <map>
#include <string>

#include "frontend/sema/expand.h"
#include "frontend/sema/functions.h"

namespace sonde {

class Handlers {
  public:
    Handlers(const Building& building, Expander& expander) : in_(building), expander_(expander) {}

    // Resolves the probe's points and builds the handlers that they need into the program.
    void build_probe(const ast::Probe& probe, FileId file);

  private:
    // The handler of the probe for one point, not yet the program's.
    hir::Handler* build_handler(const ast::Probe& probe, FileId file, const Expander::Resolved& resolved);
    // The same for one of several points; null: something that the handler names is not there (`why`).
    hir::Handler* try_handler(const ast::Probe& probe, FileId file, const Expander::Resolved& resolved,
                              std::string& why);
    // Warns of points that have none: pairs of the place and the reason. `others`: points that have one.
    void warn_of_left_out(const ast::Probe& probe, const std::vector<std::pair<std::string, std::string>>& left_out,
                          size_t others);
    // Names it, and puts it into the program.
    void keep_handler(hir::Handler& handler);
    // Of points whose place is arrived at more than once in a call: how many others at that place have their handlers.
    int64_t number_at_place(const ResolvedPoint& point);
    // Puts what notes the point's further arrivals into the program, before the handler. `notes`: those of the probe.
    void keep_arrival_notes(const ast::Probe& probe, FileId file, const Expander::Resolved& resolved,
                            hir::Handler& handler, std::map<std::string, hir::Handler*>& notes);
    // Of the whole handler, with what the aliases add.
    Reach reach_of(const Expansion& expansion, const ast::Probe& probe, FileId file);
    // Drops the functions of patterns that are also left by jumps to others if the handler reads their results. False
    // after an error.
    bool keep_known_results(const ast::Probe& probe, FileId file, std::vector<Expander::Resolved>& points);

    Building in_;
    Expander& expander_;
    std::map<std::string, int64_t> arrivals_at_; // by place: the points that have notes
};

} // namespace sonde
