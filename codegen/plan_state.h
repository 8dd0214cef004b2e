// What the code of both places adds to the plan while it is made: formats, places of errors, calls, tables.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/source.h"
#include "codegen/codegen.h"
#include "frontend/hir/hir.h"
#include "runtime/plan.h"

namespace sonde {

// What codegen/bpf/one_hit.h keeps in the data area, after the marks.
struct HitNote {
    uint64_t probe, thread, place;
};
uint64_t hit_note_offset(const plan::Plan& plan);

struct PlanState {
    const hir::Program& program;
    const Sources& sources;
    const CodegenOptions& options;
    plan::Plan& plan;

    uint32_t add_format(const plan::Format& format);
    // A place where an error can arise; `range` is what the message calls "near".
    uint32_t add_site(const std::string& message, Range range);
    // A call's place as errors tell it: what goes into ErrorDetails::calls.
    uint32_t add_call(const std::string& callee, Range range);
    // plan::FileTables that handlers look things up in.
    void need_tables(uint8_t tables) { plan.tables |= tables; }
    // Where Handler::entry_values[index] lies in the memory that keeps them; with their count, how long that is.
    uint64_t entry_offset(const hir::Handler& handler, size_t index) const;

    std::map<std::string, uint32_t> calls = {};   // add_call()'s numbers by place
    std::set<const void*> holders_of_shared = {}; // find_holders_of_shared()
};

} // namespace sonde
