// Handlers of a script's probes, and which probe points share one.
#pragma once

#include "frontend/sema/context.h"
#include "frontend/sema/expand.h"
#include "frontend/sema/functions.h"
#include "frontend/sema/notes.h"
#include "frontend/sema/reach.h"

namespace sonde {

class Handlers {
  public:
    Handlers(hir::Program& program, SemaContext& context, Notes& notes, Expander& expander, Functions& functions)
        : program_(program), c_(context), notes_(notes), expander_(expander), functions_(functions) {}

    // Resolves the probe's points and builds the handlers that they need into the program.
    void build_probe(const ast::Probe& probe, FileId file);

  private:
    hir::Handler* build_handler(const ast::Probe& probe, FileId file, const Expander::Resolved& resolved);
    void keep_handler(hir::Handler& handler);
    Reach reach_of(const Expansion& expansion, const ast::Probe& probe, FileId file);

    hir::Program& program_;
    SemaContext& c_;
    Notes& notes_;
    Expander& expander_;
    Functions& functions_;
};

} // namespace sonde
