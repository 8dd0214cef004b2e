// Builds the handlers of a script's probes, and decides which probe points share one.
#pragma once

#include <map>
#include <string>

#include "frontend/sema/expand.h"
#include "frontend/sema/functions.h"

namespace sonde {

// Creates the handlers and adds them to the program.
class Handlers {
  public:
    Handlers(const Building& building, Expander& expander) : in_(building), expander_(expander) {}

    // Resolves the probe's points, builds the handlers for them, and adds these to the program. Reports errors.
    void build_probe(const ast::Probe& probe, FileId file);

  private:
    class OneProbe;
    // Builds the handler for one point, without adding it to the program.
    hir::Handler* build_handler(const ast::Probe& probe, FileId file, const Expander::Resolved& resolved);
    // The same if the probe has several points. Returns null if the handler needs a variable that does not exist at
    // this point, and sets `why` to the reason.
    hir::Handler* try_handler(const ast::Probe& probe, FileId file, const Expander::Resolved& resolved,
                              std::string& why);
    // Warns of places without a handler; `left_out` has the places and the reasons. `others` is the number of places
    // with a handler.
    void warn_of_left_out(const ast::Probe& probe, const std::vector<std::pair<std::string, std::string>>& left_out,
                          size_t others);
    // Names the handler and adds it to the program.
    void keep_handler(hir::Handler& handler);
    // For points whose place can be reached several times in one call: returns the number of other points at this place
    // that have handlers.
    int64_t number_at_place(const ResolvedPoint& point);
    // Adds the handlers that record further arrivals at the point's place; they must precede the handler itself. Points
    // of the same probe share handlers at the same address; `notes` has those that exist already.
    void keep_arrival_notes(const ast::Probe& probe, FileId file, const Expander::Resolved& resolved,
                            hir::Handler& handler, std::map<std::string, hir::Handler*>& notes);
    void build_python_entries(const ast::Probe& probe, FileId file);
    // Returns the uses of the probe point in the whole handler, including the blocks of aliases.
    PointUses point_uses_of(const Expansion& expansion, const ast::Probe& probe, FileId file);
    // If the handler reads the function's result, drops functions matched by a pattern that can end in a tail call,
    // where the result is unknown. Returns false after reporting an error.
    bool keep_known_results(const ast::Probe& probe, FileId file, std::vector<Expander::Resolved>& points);

    Building in_;
    Expander& expander_;
    // by place: the number of points that store marks of arrivals (arrivals.h)
    std::map<std::string, int64_t> arrivals_at_;
};

} // namespace sonde
