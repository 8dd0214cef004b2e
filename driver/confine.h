// Confinement of scripts that somebody else writes, such as an agent: --confine, which `sonde mcp` passes to each
// session. A confined script only watches, and only what the policies permit.
//
// The checks look at the results of the analysis, not at the text. They see the operations after macros, aliases and
// functions of the library are expanded, and the resolved probe points. They run in the process that then runs this
// same program.
#pragma once

#include <string>
#include <vector>

#include "base/source.h"
#include "driver/options.h"
#include "driver/policy.h"
#include "frontend/ast/ast.h"
#include "frontend/hir/hir.h"

namespace sonde {

struct Refusal {
    Range range; // in the script or in the library
    std::string message;
};

// Before the analysis: returns the headers that a script must not name, because messages about a file that is not a
// header show its words. Only headers in the system's folders remain.
std::vector<Refusal> find_refused_headers(const std::vector<const ast::File*>& files);
std::vector<Refusal> find_refused_headers(const ast::Expr& expr);

// Returns the reasons why the program may not run; none: it may.
std::vector<Refusal> find_refusals(const hir::Program& program, const Sources& sources, const Policies& policies);

// The same for the options of a session or a listing. Errors: an option that changes something, or exceeds a limit.
Result<void> check_confined_options(const Options& options, const Policies& policies);

// Returns why the policies refuse a resolved point; empty: they permit it.
std::string why_refused(plan::ProbeKind kind, const plan::Point& point, const Policies& policies);
// Returns whether a line of -l may be shown: the probe point that it begins with is permitted.
bool is_listed(const std::string& line, const Policies& policies);
// Whether some probe points are hidden.
bool limits_points(const Policies& policies);
// Whether the file may be probed. `path` is that of resolved points.
bool permits_program(const std::string& path, const Policies& policies);

// All checks of a command line, for main(). `policies` is empty without --confine.
Result<Policies> read_confinement(const Options& options);
// Errors: all refusals, with their places. The first function is for the time before the analysis, the second one for
// its result.
Result<void> confine(const std::vector<const ast::File*>& files, const Sources& sources, const Policies& policies);
Result<void> confine(const hir::Program& program, const Sources& sources, const Policies& policies);

} // namespace sonde
