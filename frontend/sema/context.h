// What all phases of one analysis work with: where names come from, what is probed, the options, and the reports.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>

#include "base/arena.h"
#include "base/diag.h"
#include "frontend/sema/sema.h"

namespace sonde {

class SemaContext {
  public:
    SemaContext(Library& library, ProbeEnvironment& env, const SemaOptions& options, Arena& arena, Diagnostics& diags)
        : library(library), env(env), options(options), arena(arena), diags(diags) {}

    // One message per id and place: bodies are built once per probe point, and types are inferred in rounds.
    DiagBuilder report_once(DiagId id, Range range, std::string message) {
        // A trial's reports are dropped, and must not silence the real one.
        if (trying == 0 && !diags.is_suppressed() && !reported_.emplace(id, range.file, range.begin, range.end).second)
            return DiagBuilder(nullptr);
        return diags.report(id, range, std::move(message));
    }

    Library& library;
    ProbeEnvironment& env;
    const SemaOptions& options;
    Arena& arena;
    Diagnostics& diags;
    int trying = 0; // inside a trial (@defined): reports go nowhere

  private:
    std::set<std::tuple<DiagId, FileId, uint32_t, uint32_t>> reported_;
};

} // namespace sonde
