// The context that all phases of one analysis share: the library, the probe environment, the options, and the reports.
#pragma once

#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "base/arena.h"
#include "base/diag.h"
#include "frontend/parse/parser.h"
#include "frontend/probes/point_claims.h"
#include "frontend/sema/sema.h"

namespace sonde {

// Does not own the objects that it refers to.
class SemaContext {
  public:
    SemaContext(Library& library, ProbeEnvironment& env, const Translate& options, Arena& arena, Diagnostics& diags)
        : library(library), env(env), options(options), arena(arena), diags(diags) {
        ParseOptions language;
        if (!options.compatible.empty())
            language.compatible = options.compatible;
        var_at_entry = language.older_than("4.1");
    }

    // Reports each problem once per id and place. Without this, an error would be repeated for each probe point,
    // because bodies are built for each point, and types are inferred in rounds.
    DiagBuilder report_once(DiagId id, Range range, std::string message) {
        // Reports of a trial are dropped. They must not prevent the real report later.
        if (trying == 0 && !diags.is_suppressed() && !reported_.emplace(id, range.file, range.begin, range.end).second)
            return DiagBuilder(nullptr);
        return diags.report(id, range, std::move(message));
    }

    // Warns if a string of the script is longer than its variables and arguments can be.
    void check_length(Range range, const std::string& text) {
        const uint64_t most = options.max_string() - 1;
        if (text.size() > most)
            report_once(DiagId::CutString, range,
                        fmt::format("this string has {} bytes, and only the first {} are kept", text.size(), most))
                .help(fmt::format("use -DMAXSTRINGLEN={}", std::bit_ceil(text.size() + 1)));
    }

    Library& library;
    ProbeEnvironment& env;
    const Translate& options;
    Arena& arena;
    Diagnostics& diags;
    PointClaims claims;        // of the script's points
    bool var_at_entry = false; // --compatible up to 4.0: `@var` in .return is the value at the entry
    int trying = 0;            // if not 0, a trial (@defined) is running, and its reports are dropped

  private:
    std::set<std::tuple<DiagId, FileId, uint32_t, uint32_t>> reported_;
};

} // namespace sonde
