// What a session link's program does at a function's entry for its `.return` handler, and what is left for the return.
//
// The kernel runs one program twice, at the entry and at the return, and keeps 8 bytes for it in its own record of the
// call (6.13, "bpf: Add support for uprobe multi session attach", "bpf: Add support for uprobe multi session context").
// The entry can refuse the return, which then costs nothing; and the record is the call's own, so that recursion,
// threads, longjmp, exceptions and any number of calls under way leave entry and return paired.
#pragma once

#include <optional>
#include <vector>

#include "codegen/codegen.h"
#include "frontend/hir/hir.h"
#include "runtime/plan.h"

namespace sonde {

// Must hold, or with `negated` must not.
struct Requirement {
    const hir::Expr* condition;
    bool negated = false;
};

struct SessionLegs {
    bool wanted = false;
    // Without these the handler does nothing: those that mean the same at the entry, and the others.
    std::vector<Requirement> at_entry, at_return;
    std::vector<const hir::Stmt*> body; // what it does then
    // Entry values for the return: one of 8 bytes is in the kernel's record, others in the handler's map.
    std::optional<uint32_t> in_record;
    bool in_map = false;
};

// Whether a session can serve such a handler; it may still be no gain.
bool fits_session(const hir::Handler& handler);
// `wanted`: if a session is a gain. Without, everything belongs to the return. `counts`: the handler looks at counters.
SessionLegs split_legs(const hir::Handler& handler, const plan::Probe& probe, const CodegenOptions& options,
                       bool counts);

} // namespace sonde
