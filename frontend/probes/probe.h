// Probe points: from `process("p").function("f").return` to addresses, variables and a description of how to attach.
//
// A probe kind consists of one file (kind_*.cc) and one row of probe_kinds.def. It returns data (ResolvedPoint) and
// never generates code.
#pragma once

#include <string>
#include <vector>

#include "base/diag.h"
#include "frontend/ast/ast.h"
#include "frontend/points/probe_environment.h"
#include "frontend/points/resolved_point.h"
#include "frontend/probes/point_claims.h"

namespace sonde {

// Moves a function's probe to an instruction that the kernel handles faster, if the handler still gets the same values
// there. `targets` are the target expressions of the handler. Typically this is the `push` at the function's beginning,
// if the handler only uses parameters that the ABI passes in known places.
void place_cheaply(ResolvedPoint& point, const std::vector<const ast::TargetExpr*>& targets);

// For handlers that place_cheaply() must not move: moves the entry of a return probe to the function's first
// instruction if only registers there lead to the result, and the prologue changes them.
void keep_result_known(ResolvedPoint& point, const std::vector<const ast::TargetExpr*>& targets);

// Makes a probe of a kernel function use a breakpoint, for handlers that read registers; trampolines do not save them.
// Does nothing for other points, or if the kernel does not support breakpoints.
void keep_registers(ResolvedPoint& point, ProbeEnvironment& env);

// Makes a handler that sets `$return` run instead of its kernel function. Does nothing for other points. Returns false
// after reporting that the kernel does not allow it for this function.
bool run_in_place(ResolvedPoint& point, ProbeEnvironment& env, Diagnostics& diags, Range range);

// Resolves one probe point without aliases (sema has expanded them). Returns the matching places in the order of their
// addresses. Reports errors, such as an unknown kind, or a name that does not exist (with similar names). If an
// optional point (`?`) cannot be resolved, returns nothing and reports nothing. `claims`: those of the whole script.
std::vector<ResolvedPoint> resolve_point(const ast::ProbePoint& point, ProbeEnvironment& env, PointClaims& claims,
                                         Diagnostics& diags);
// Whether a point that a pattern has found should be dropped; `found` are all of them.
bool is_redundant(const ResolvedPoint& point, const std::vector<const ResolvedPoint*>& found);

// Whether the point declares a counter that other handlers read by its name.
bool declares_counter(const ast::ProbePoint* point);

// Whether the first component of a point names a probe kind, such as "begin", "process" or "timer", and not an alias.
bool is_probe_kind(const std::string& first_component);
// The first components of all kinds, for suggestions.
std::vector<std::string> probe_kind_names();
// The forms of probe points, sorted, with `string` and `number` for arguments in parentheses.
std::vector<std::string> probe_point_forms();
// Matches the `*` and `**` in a pattern's components with these forms. Returns the resulting points, with the pattern's
// arguments. They need not exist in the program: resolve_point() checks this, and matches each `*` in a form.
std::vector<ast::ProbePoint> match_forms(const ast::ProbePoint& pattern);

// ---- listings -----------------------------------------------------------------------------------------------------

// -l and -L: returns a line such as `process("/bin/x").function("f@f.c:12") $a:int $b:struct s*`. If requested, the
// address follows the point.
std::string list_point(const ResolvedPoint& point, const ProbeEnvironment& env);
std::string list_variables(const ResolvedPoint& point); // the part after the point, with a leading space
// -vv: returns `probe NAME@FILE:LINE process=PATH reloc=SECTION pc=0xADDR`, or "" for a point that is not in a program.
std::string describe_place(const ResolvedPoint& point);

} // namespace sonde
