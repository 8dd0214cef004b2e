// Probe points: from `process("p").function("f").return` to addresses, variables and an attach spec.
//
// A probe kind is one file (kind_*.cc) and one row of probe_kinds.def. It returns data and emits no code.
#pragma once

#include <string>
#include <vector>

#include "base/diag.h"
#include "frontend/ast/ast.h"
#include "frontend/points/environment.h"
#include "frontend/points/resolved_point.h"

namespace sonde {

// Moves a function's probe to an instruction that costs the kernel less, where that changes nothing for `targets`, the
// target expressions that its handler has: the `push` that the function begins with, when these are parameters that the
// ABI passes in places that can be read.
void place_cheaply(ResolvedPoint& point, const std::vector<const ast::TargetExpr*>& targets);

// Has a function of the kernel probed by a breakpoint, for a handler that reads registers, which trampolines do not
// keep. Nothing happens to other points, and where the kernel has no breakpoints.
void keep_registers(ResolvedPoint& point, ProbeEnvironment& env);

// Has a handler that sets `$return` run in the place of its function of the kernel. Nothing happens to other points.
// False after a report: this kernel does not allow it there.
bool run_in_place(ResolvedPoint& point, ProbeEnvironment& env, Diagnostics& diags, Range range);

// Resolves one probe point without aliases (sema has expanded those). Reports errors (unknown kind, no match with the
// nearest names, bad target ...) and returns what matched, in address order. An optional point (`?`) that does not
// resolve gives an empty result without a report.
std::vector<ResolvedPoint> resolve_point(const ast::ProbePoint& point, ProbeEnvironment& env, Diagnostics& diags);

// True if the first component names a probe kind (so that it needs no alias): "begin", "process", "timer" ...
bool is_probe_kind(const std::string& first_component);
// First components of all kinds, for suggestions.
std::vector<std::string> probe_kind_names();
// The forms of probe points, one a line, sorted, with `string` and `number` for what is given in parentheses.
std::vector<std::string> probe_point_forms();
// The points that the words `*` and `**` of a pattern find among these forms, with the arguments that are written.
// Which of them there are in a program, and which names a `*` in a form stands for, only resolve_point() tells.
std::vector<ast::ProbePoint> match_forms(const ast::ProbePoint& pattern);

// ---- listings -----------------------------------------------------------------------------------------------------

// -l and -L: a line as `process("/bin/x").function("f@f.c:12") $a:int $b:struct s*`, with the address after the point
// where it is asked for.
std::string list_point(const ResolvedPoint& point, const ProbeEnvironment& env);
std::string list_variables(const ResolvedPoint& point); // what stands after the point, with a space in front
// -vv: `probe NAME@FILE:LINE process=PATH reloc=SECTION pc=0xADDR`; empty for what is in no program.
std::string describe_place(const ResolvedPoint& point);

} // namespace sonde
