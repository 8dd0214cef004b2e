// Parts of the plan that are filled while code is generated: formats, places of errors, calls, tables.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "arch/architecture.h"
#include "base/source.h"
#include "codegen/emit/facts.h"
#include "frontend/hir/hir.h"
#include "options/translate.h"
#include "runtime/plan/plan.h"

namespace sonde {

// A record in the data area, after the marks, for handlers that share a hit (codegen/bpf/one_hit.h).
struct HitNote {
    uint64_t probe, thread, place;
};
// The offset of HitNote in the data area.
uint64_t hit_note_offset(const plan::Plan& plan);

// The inputs of a translation, and the plan that it produces. Both targets use the same object, so that numbers of
// formats and sites are unique in the plan.
struct PlanState {
    const hir::Program& program;
    const Sources& sources;
    const Translate& translate;
    const CodegenFacts& facts;
    plan::Plan& plan;
    const Architecture& architecture = *facts.architecture;

    // Adds the format to the plan and returns its number there.
    uint32_t add_format(const plan::Format& format);
    // Adds a place where an error can occur and returns its number. `range` is the part of the script that the message
    // quotes after "near".
    uint32_t add_site(const plan::ErrorMessage& message, Range range);
    // Adds the place of a call for ErrorDetails::calls and returns its number.
    uint32_t add_call(const std::string& callee, Range range);
    // Requests tables for look-ups in handlers; `tables` are bits of plan::FileTables.
    void need_tables(uint8_t tables) { plan.tables |= tables; }
    // The offset of Handler::entry_values[index] in the memory that saves them, and the size of that memory. It begins
    // with a word for the seal (codegen/bpf/entry_values.cc).
    uint64_t entry_offset(const hir::Handler& handler, size_t index) const;
    uint64_t entry_size(const hir::Handler& handler) const {
        return entry_offset(handler, handler.entry_values.size());
    }

    std::map<std::string, uint32_t> calls = {};   // the numbers that add_call() returned, by place
    std::set<const void*> holders_of_shared = {}; // find_holders_of_shared()
};

} // namespace sonde
