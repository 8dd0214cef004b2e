// The layout of a script's globals in memory, and its probes in the plan.
//
// The data area is one block of memory, which the kernel's programs and the session share:
//
//     plan::SessionWords    state, counters, clock offsets
//     locks                 one cache line each
//     scalars               in the order of the script: longs, strings, statistics
//     marks                 one byte for each row or probe, and kind of mark
//     HitNote               for probes that share a place
//
// Everything is aligned to 8 bytes, because atomic operations need that.
//
// An array's key is the concatenation of its components, without gaps: the kernel hashes all bytes of a key, and bytes
// in a gap could differ between equal keys.
#include "codegen/layout.h"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/emit/plan_state.h"
#include "codegen/rtlib/scan.h"
#include "runtime/plan/array_maps.h"
#include "runtime/plan/shared_globals.h"
#include "runtime/plan/task_arrays.h"
#include "runtime/plan/wrap.h"

namespace sonde {
namespace {

uint64_t round_up(uint64_t value) { return (value + 7) & ~7ull; }

plan::Value plan_value(hir::ValueType type) {
    return type == hir::ValueType::String  ? plan::Value::String
           : type == hir::ValueType::Stats ? plan::Value::Stats
                                           : plan::Value::Long;
}

// The kernel hashes keys in words of 4 bytes, so numbers take as few words as their range needs. Numbers of 4 bytes
// come after all other components, because everything else consists of aligned 8-byte words.
void lay_out_key(const hir::Global& global, uint32_t max_string, plan::Global& out) {
    for (size_t i = 0; i < global.keys.size(); i++) {
        const hir::KeyBound& bound = global.key_bounds[i];
        plan::KeyPart part{plan_value(global.keys[i])};
        if (part.type == plan::Value::String) {
            static_assert(plan::short_key == SONDE_SHORT_KEY);
            uint64_t size = round_up(bound.length + 1);
            part.size = size <= SONDE_SHORT_KEY && size < max_string ? static_cast<uint32_t>(size) : max_string;
        } else {
            part.is_text = bound.is_text;
            part.is_signed = bound.low < 0;
            bool is_narrow =
                part.is_signed ? bound.low >= INT32_MIN && bound.high <= INT32_MAX : bound.high <= UINT32_MAX;
            part.size = is_narrow ? 4 : 8;
        }
        if (i < global.key_names.size())
            part.name = global.key_names[i];
        if (i < global.key_roles.size())
            part.role = global.key_roles[i];
        out.keys.push_back(part);
    }
    for (bool narrow : {false, true})
        for (plan::KeyPart& part : out.keys)
            if ((part.size == 4) == narrow) {
                part.offset = out.key_size;
                out.key_size += part.size;
            }
}

constexpr uint64_t lock_bytes = 64;

void lay_out_globals(const hir::Program& program, const TaskArrays& in_tasks, const plan::SharedGlobals* shared,
                     plan::Plan& plan) {
    // Each lock has its own cache line.
    uint64_t own_next = sizeof(plan::SessionWords) + lock_bytes * program.locks;
    uint64_t shared_next = shared ? shared->next : 0;
    size_t shared_count = shared ? shared->globals.size() : 0;
    for (const hir::Global* global : program.globals) {
        const bool is_shared = shared && global->is_own;
        if (const plan::Global* known = is_shared ? shared->find(global->name) : nullptr) {
            plan.globals.push_back(*known);
            continue;
        }
        uint64_t& next = is_shared ? shared_next : own_next;
        plan::Global out;
        out.initial_long =
            global->initial_long; // must be first: after the strings, GCC 12 wrongly assumes that it belongs to `out`
        out.name = global->name;
        out.type = plan_value(global->type);
        out.stats = global->stats;
        out.initial_string = global->initial_string;
        out.address_of = global->address_of;
        out.is_own = global->is_own;
        out.auto_print = global->auto_print;
        out.is_settable = global->is_settable && !global->is_array();
        out.print_as_pointer = global->print_as_pointer;
        out.only_grows = global->only_grows;
        out.labels = global->labels;
        out.capacity = global->capacity;
        out.wrap = global->wrap;
        uint64_t block = plan::stats_bytes(global->stats);
        if (global->is_array()) {
            lay_out_key(*global, plan.max_string, out);
            uint64_t payload = out.type == plan::Value::Long     ? 8
                               : out.type == plan::Value::String ? plan.max_string
                                                                 : block;
            out.value_size = static_cast<uint32_t>(8 + payload);
            out.in_kernel = global->used_in_kernel;
            if (out.in_kernel)
                out.map = is_shared ? fmt::format("{}{}", plan::shared_map_prefix, shared_count)
                                    : fmt::format("g{}", global->index);
            if (out.in_kernel && out.wrap) {
                out.offset = next;
                next += sizeof(sonde_wrap);
            }
            // The kernel allows almost 64 KiB for a thread's element. Larger strings are rare.
            constexpr uint32_t largest_in_task = 8 + 4096;
            const auto in_task = in_tasks.find(global);
            if (in_task != in_tasks.end() && out.value_size <= largest_in_task) {
                const char* prefix = in_task->second.anywhere ? plan::any_task_map_prefix : plan::task_map_prefix;
                out.map = fmt::format("{}{}", prefix, global->index);
                out.offset = next;
                next += 8;
            }
        } else {
            out.offset = next;
            // A string's slot has extra room after the string (codegen/rtlib/rt.h).
            next += round_up(out.type == plan::Value::Long     ? 8
                             : out.type == plan::Value::String ? 2ull * plan.max_string
                                                               : block);
        }
        shared_count += is_shared;
        plan.globals.push_back(std::move(out));
    }
    plan.data_size = own_next;
    plan.texts = program.texts;
}

void add_probes(const hir::Program& program, const Sources& sources, bool is_part, plan::Plan& plan) {
    for (const hir::Handler* handler : program.handlers) {
        plan::Probe probe;
        probe.name = handler->name;
        probe.symbol = handler->name;
        probe.place = handler->range.valid() ? sources.place(handler->range) : "";
        probe.kind = handler->kind;
        probe.at_instruction = handler->at_return;
        probe.reads_registers = handler->reads_registers;
        probe.in_kernel = handler->in_kernel;
        probe.order = handler->order;
        if (handler->lock >= 0)
            probe.lock = is_part ? plan::shared_lock
                                 : sizeof(plan::SessionWords) + lock_bytes * static_cast<uint64_t>(handler->lock);
        probe.locked_for = handler->locked_for;
        probe.timer = handler->timer;
        for (plan::Point point : handler->points) {
            point.row = static_cast<uint32_t>(plan.rows.size());
            plan.rows.push_back(point);
            probe.points.push_back(std::move(point));
        }
        plan.probes.push_back(std::move(probe));
    }
}

// Marks come last in the data area.
void lay_out_marks(plan::Plan& plan) {
    if (std::none_of(plan.probes.begin(), plan.probes.end(), [](const plan::Probe& probe) { return probe.in_kernel; }))
        return;
    plan.marks = plan.data_size;
    plan.data_size = hit_note_offset(plan) + sizeof(HitNote);
}

} // namespace

void lay_out_plan(const hir::Program& program, const Sources& sources, const TaskArrays& in_tasks,
                  const plan::SharedGlobals* shared, plan::Plan& plan) {
    lay_out_globals(program, in_tasks, shared, plan);
    add_probes(program, sources, shared != nullptr, plan);
    lay_out_marks(plan);
}

} // namespace sonde
