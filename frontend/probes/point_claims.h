// What the points of one script compete for: the names of counters, the reading of a control file, and the processor's
// debug registers.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/diag.h"
#include "frontend/ast/ast.h"
#include "frontend/points/resolved_point.h"
#include "runtime/plan/points.h"

namespace sonde {

class PointClaims {
  public:
    // Claims everything that the points need; `written` is the script's point that they come from. Returns false after
    // reporting that an earlier point already has the claimed thing, or that too many points need it. `listing`: debug
    // registers do not run out, because nothing is armed.
    bool take(const std::vector<ResolvedPoint>& points, const ast::ProbePoint& written, bool listing,
              Diagnostics& diags);
    // The counters that @perf("name") reads, in the order of their claims.
    const std::vector<plan::Counter>& counters() const { return counters_; }

  private:
    bool take_counter(const ResolvedPoint& point, const ast::ProbePoint& written, Diagnostics& diags);
    bool take_file(const ResolvedPoint& point, const ast::ProbePoint& written, Diagnostics& diags);
    bool take_register(const ResolvedPoint& point, const ast::ProbePoint& written, bool listing, Diagnostics& diags);

    std::vector<plan::Counter> counters_;
    std::map<std::string, Range> read_files_;                // by path, with the first point
    std::vector<std::pair<std::string, Range>> watchpoints_; // by the program's path (empty: the kernel)
};

} // namespace sonde
