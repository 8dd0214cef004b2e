// Splits a `.return` handler into its work at the function's entry and at its return, for a session link.
//
// The kernel runs the program of a session link twice, at the entry and at the return, and keeps 8 bytes for it with
// the call (6.13, "bpf: Add support for uprobe multi session attach", "bpf: Add support for uprobe multi session
// context"). This has two advantages. The entry can tell the kernel to skip the return, which then costs nothing. And
// the 8 bytes belong to exactly one call, so entry and return always match, with recursion, threads, longjmp,
// exceptions and any number of pending calls.
#pragma once

#include <optional>
#include <vector>

#include "codegen/emit/plan_state.h"
#include "frontend/hir/hir.h"
#include "runtime/plan/plan.h"

namespace sonde {

// The condition must be true, or false if `negated`.
struct Requirement {
    const hir::Expr* condition;
    bool negated = false;
};

// The two parts of a `.return` handler.
struct SessionSplit {
    bool wanted = false;
    // If one of these conditions fails, the handler does nothing. `at_entry`: conditions that have the same value at
    // the entry and at the return. `at_return`: all others.
    std::vector<Requirement> at_entry, at_return;
    std::vector<const hir::Stmt*> body; // the rest of the handler
    // Where entry values are saved for the return: one value of 8 bytes in the kernel's record of the call (its index
    // is `in_record`), others in the handler's map (`in_map`).
    std::optional<uint32_t> in_record;
    bool in_map = false;
};

// Whether a session link can serve this handler, even if it has no advantage.
bool fits_session(const hir::Handler& handler);
// Splits the handler. If a session link has no advantage, `wanted` is false and everything belongs to the return.
// `counts`: the handler reads performance counters.
SessionSplit split_for_session(const hir::Handler& handler, const plan::Probe& probe, const PlanState& state,
                               bool counts);

} // namespace sonde
