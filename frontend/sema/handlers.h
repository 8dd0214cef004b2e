// Handlers of a script's probes, and which probe points share one.
#pragma once

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
    // Names it, and puts it into the program.
    void keep_handler(hir::Handler& handler);
    // Of the whole handler, with what the aliases add.
    Reach reach_of(const Expansion& expansion, const ast::Probe& probe, FileId file);

    Building in_;
    Expander& expander_;
};

} // namespace sonde
