// Sends records through two ring buffers: one for output, and one for control records, such as errors and exit().
//
// A flood of prints fills the first buffer. The second one then still has room for the record of exit(), so that the
// session can end.
//
// If the handler prints several times, its records are collected in its frame (Environment::batch), and sent as one at
// its end. Output of a handler on another processor then cannot come in between.
//
// With the flight recorder, records of output go to rings that nobody reads (codegen/rtlib/keep.h).
//
// What would break this: a record that is dropped silently. bpf_ringbuf_output() fails if the buffer is full, and each
// failure is counted as a lost record of the probe.
#include <cstddef>

#include "base/check.h"
#include "codegen/bpf/parts.h"
#include "runtime/plan/batch.h"
#include "runtime/plan/object_names.h"

namespace sonde {
namespace {
constexpr uint64_t ring_no_wakeup = 1, ring_force_wakeup = 2, wake_at_bytes = 64 << 10;

// Records of output stay in the flight recorder's rings, if there are any. Others have effects at once, so the session
// must get them.
bool is_kept(uint32_t type) {
    return type == plan::Print || type == plan::Speculate || type == plan::Commit || type == plan::Discard;
}

} // namespace

void BpfOutput::send(Environment& env, uint32_t type, llvm::Value* buffer, llvm::Value* size) {
    const bool control = type >= plan::Exit, has_rings = bpf_.state.facts.flight_chunks != 0;
    if (!control)
        maps_.use_events();
    if (env.batch && (has_rings ? is_kept(type) : !control)) {
        e_.CreateStore(buffer, e_.offset(env.batch, offsetof(sonde_batch, record)));
        e_.routine("sonde_rt_add_record", e_.i64(), {env.batch, size});
        return;
    }
    if (has_rings && is_kept(type)) {
        const bool has_time = type == plan::Print && bpf_.state.translate.tells_context;
        e_.routine("sonde_rt_keep_record", e_.i64(), {e_.address_as_number(buffer), size, e_.number(has_time)});
        return;
    }
    if (has_rings && type == plan::Dump) {
        // The output before dump() belongs to the recording, so it must be in the ring, and must not be later.
        if (env.batch)
            send_batch(env);
        llvm::Value* offset =
            e_.CreateLoad(e_.i64(), e_.offset(env.data, offsetof(plan::SessionWords, realtime_offset_ns)));
        e_.CreateStore(e_.CreateAdd(helper(e_, ktime_get_ns, {}), offset),
                       e_.offset(buffer, sizeof(plan::RecordHeader)));
    }
    send_to_session(env, type, buffer, size);
}

void BpfOutput::send_to_session(Environment& env, uint32_t type, llvm::Value* buffer, llvm::Value* size) {
    const bool control = type >= plan::Exit;
    llvm::Value* ring = map_reference(e_, control ? plan::maps::control : plan::maps::events);
    llvm::Value* flags = e_.number(ring_force_wakeup);
    if (!control && type != plan::Dump) {
        // Waking the reader is the most expensive part of a print. Wake it only when many bytes wait; the runtime polls
        // every few milliseconds anyway.
        llvm::Value* waiting = helper(e_, ringbuf_query, {ring, e_.number(0)});
        flags = e_.CreateSelect(e_.CreateICmpUGE(waiting, e_.number(wake_at_bytes)), e_.number(ring_force_wakeup),
                                e_.number(ring_no_wakeup));
    }
    llvm::BasicBlock* told = e_.block("told");
    if (type == plan::RaiseError)
        accounting_.count_error(env, told);
    llvm::Value* status = helper(e_, ringbuf_output, {ring, buffer, size, flags});
    if (type != plan::RaiseError) // errors are counted separately
        accounting_.lose_if(env, e_.CreateICmpSLT(status, e_.number(0)));
    e_.CreateBr(told);
    e_.SetInsertPoint(told);
}

uint64_t BpfOutput::batch_bytes() const { return sizeof(sonde_batch); }

void BpfOutput::begin_batch(Environment& env) {
    e_.CreateStore(env.batch, e_.offset(env.batch, offsetof(sonde_batch, id)));
    for (size_t field : {offsetof(sonde_batch, used), offsetof(sonde_batch, sent), offsetof(sonde_batch, lost)})
        e_.CreateStore(e_.number(0), e_.offset(env.batch, field));
}

void BpfOutput::send_batch(Environment& env) {
    llvm::Value* lost = e_.routine("sonde_rt_send_records", e_.i64(), {env.batch});
    accounting_.lose_if(env, e_.CreateICmpNE(lost, e_.number(0)));
}

bool BpfOutput::trace(llvm::Value* text) {
    const std::string format = "%s";
    helper(e_, trace_printk, {e_.literal(format), e_.number(static_cast<int64_t>(format.size() + 1)), text});
    return true;
}

void BpfOutput::count_no_stack(llvm::Value* stack) {
    maps_.use_stack_counts();
    e_.routine("sonde_rt_count_no_stack", e_.i64(), {stack, e_.number(bpf_.probe)});
}

llvm::Value* BpfOutput::append_histogram(Environment&, llvm::Value*, llvm::Value*, const hir::Global&, llvm::Value*) {
    UNREACHABLE("a histogram as a string");
}

} // namespace sonde
