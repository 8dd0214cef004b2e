// Where a script's globals lie, and its probes as the plan has them.
#pragma once

#include "codegen/codegen.h"

namespace sonde {

// Fills the plan's globals, texts, probes, rows and marks, and so the size of the data area.
void lay_out_plan(const hir::Program& program, const Sources& sources, const CodegenOptions& options, plan::Plan& plan);

// What codegen/bpf/one_hit.h keeps in the data area, and where.
struct HitNote {
    uint64_t probe, thread, place;
};
uint64_t hit_note_offset(const plan::Plan& plan);

} // namespace sonde
