// What a function's entry saves for its return.
#include "codegen/bpf/parts.h"

namespace sonde {

// An element of the last call from there is written over where it lies, which costs a tenth of putting another one in
// its place: the map keeps those that were used last, and takes a new one for every update. Its key is this very
// call's.
void BpfEntryValues::save(Environment& env, const hir::Handler& handler, llvm::Value* values,
                          llvm::Value* return_address) {
    if (bpf_.legs.wanted)
        e_.CreateStore(e_.number(0), bpf_.refused);
    if (!handler.at_return)
        accounting_.count_full_returns();
    if (bpf_.legs.in_record)
        e_.CreateStore(
            e_.CreateLoad(e_.i64(), e_.offset(values, bpf_.state.entry_offset(handler, *bpf_.legs.in_record))),
            helper_pointer(e_, plan::call_session_cookie, {bpf_.argument}));
    if (bpf_.state.plan.probes[bpf_.probe].entry_map.empty())
        return;
    if (plan::is_uprobe(bpf_.kind) && bpf_.state.options.kernel_types)
        e_.routine("sonde_rt_saves", e_.i64(), {});
    constexpr uint64_t most_bytes = 64; // beyond that the kernel copies faster
    llvm::Value* saved = map_reference(e_, bpf_.state.plan.probes[bpf_.probe].entry_map);
    llvm::Value* key = return_address ? saved_key(return_address) : key_at_entry(env, handler);
    const uint64_t bytes = bpf_.state.entry_offset(handler, handler.entry_values.size());
    llvm::BasicBlock *put = e_.block("put"), *end = e_.block("saved");
    if (bytes <= most_bytes) {
        llvm::Value* element = helper_pointer(e_, map_lookup_elem, {saved, key});
        llvm::BasicBlock* there = e_.block("there");
        e_.CreateCondBr(e_.CreateIsNotNull(element), there, put);
        e_.SetInsertPoint(there);
        for (uint64_t at = 0; at < bytes; at += 8)
            e_.CreateStore(e_.CreateLoad(e_.i64(), e_.offset(values, at)), e_.offset(element, at));
        e_.CreateBr(end);
    } else {
        e_.CreateBr(put);
    }
    e_.SetInsertPoint(put);
    helper(e_, map_update_elem, {saved, key, values, e_.number(0)});
    e_.CreateBr(end);
    e_.SetInsertPoint(end);
}

void BpfEntryValues::find(Environment& env, const hir::Handler& handler) {
    element_ = nullptr;
    if (bpf_.saves_entry)
        return;
    const std::string& map = bpf_.state.plan.probes[bpf_.probe].entry_map;
    if (bpf_.legs.in_record) {
        element_ = helper_pointer(e_, plan::call_session_cookie, {bpf_.argument});
    } else if (!map.empty()) {
        // A call that began before the session has nothing saved, and is none of its business.
        element_ = helper_pointer(e_, map_lookup_elem, {map_reference(e_, map), key_at_return(env, handler)});
        accounting_.go_if_saved(element_);
    }
}

// Only calls under way are in the map then, and a long one is not pushed out by others'. Where the return costs less
// than that, elements are written over instead.
void BpfEntryValues::forget(Environment& env, const hir::Handler& handler) {
    const std::string& map = bpf_.state.plan.probes[bpf_.probe].entry_map;
    // A condition may be that of a jump, which leaves the function only if it holds.
    if (handler.at_return && !handler.condition && !bpf_.saves_entry && !map.empty())
        helper(e_, map_delete_elem, {map_reference(e_, map), key_at_return(env, handler)});
}

llvm::Value* BpfEntryValues::load(const hir::Handler& handler, uint32_t index, llvm::Value* slot) {
    llvm::Value* at = bpf_.legs.in_record && !bpf_.saves_entry
                          ? element_
                          : e_.offset(element_, bpf_.state.entry_offset(handler, index));
    if (!slot)
        return e_.CreateLoad(e_.i64(), at);
    e_.routine("sonde_rt_copy", e_.i64(), {slot, at});
    return slot;
}

llvm::Value* BpfEntryValues::key_at_entry(Environment& env, const hir::Handler& handler) {
    // The arguments' place on the stack.
    if (plan::is_trampoline(bpf_.kind))
        return saved_key(e_.CreatePtrToInt(env.context, e_.i64()));
    if (plan::is_about(bpf_.kind, plan::Subject::Tracepoint))
        return task_key();
    if (handler.is_go) // after the check of the stack, where it is still on top
        return goroutine_key(env, registers_.read(env, dwarf_rsp));
    // At the very entry the return address is on top of the stack; after `push %rbp; mov %rsp,%rbp` it is above
    // the frame pointer.
    bool at_entry = handler.points.empty() || handler.points[0].entry_offset == handler.points[0].offset;
    return saved_key(at_entry ? registers_.read(env, dwarf_rsp)
                              : e_.CreateAdd(registers_.read(env, dwarf_rbp), e_.number(8)));
}

llvm::Value* BpfEntryValues::key_at_return(Environment& env, const hir::Handler& handler) {
    if (plan::is_about(bpf_.kind, plan::Subject::Tracepoint))
        return task_key();
    if (plan::is_trampoline(bpf_.kind))
        return saved_key(e_.CreatePtrToInt(env.context, e_.i64()));
    // The return has popped the return address, but not yet where the probe is at the return instruction.
    llvm::Value* place = registers_.read(env, dwarf_rsp);
    if (handler.is_go)
        return goroutine_key(env, place);
    return saved_key(handler.at_return && !handler.after_call ? place : e_.CreateSub(place, e_.number(8)));
}

llvm::Value* BpfEntryValues::goroutine_key(Environment& env, llvm::Value* place) {
    constexpr int stack_high = 8;
    llvm::Value* goroutine = registers_.read(env, dwarf_r14);
    llvm::Value* high = e_.scratch("stack_high", 8);
    e_.CreateStore(e_.number(0), high);
    memory_.read(env, high, 8, e_.CreateAdd(goroutine, e_.number(stack_high)), true);
    // A stack has at most 1 GB; other processes have goroutines at the same addresses.
    llvm::Value* distance = e_.CreateAnd(e_.CreateSub(e_.CreateLoad(e_.i64(), high), place), e_.number(UINT32_MAX));
    llvm::Value* process = e_.CreateAnd(helper(e_, get_current_pid_tgid, {}), e_.number(INT64_C(-1) << 32));
    return saved_key(e_.CreateOr(process, distance), goroutine);
}

// A thread is in one system call. execve() gives a thread its process' first one's number (fs/exec.c, de_thread()), but
// task and process stay.
llvm::Value* BpfEntryValues::task_key() {
    llvm::Value* process = e_.CreateAnd(helper(e_, get_current_pid_tgid, {}), e_.number(INT64_C(-1) << 32));
    return saved_key(helper(e_, get_current_task, {}), process);
}

llvm::Value* BpfEntryValues::saved_key(llvm::Value* place, llvm::Value* owner) {
    llvm::Value* key = e_.scratch("saved", 16);
    e_.CreateStore(owner ? owner : helper(e_, get_current_pid_tgid, {}), key);
    e_.CreateStore(place, e_.offset(key, 8));
    return key;
}

} // namespace sonde
