// Saves values at a function's entry for the probe at its return.
//
// `probe process("x").function("f").return { println($arg) }` needs the value of `arg` from the entry, because the
// register has another value at the return. The program at the entry stores the value under a key, and the program at
// the return looks it up by the same key.
//
// The key must be equal at both ends of a call, and different for all other pending calls, including recursive ones:
//
//     uprobes, kprobes     thread number, and the stack pointer at the entry
//     trampolines          thread number, and the address of the context
//     system calls         the task's address, and the process number
//     functions of Go      goroutine, process, and the distance from the upper end of the stack
//
// An address alone is not enough: threads of different processes can have the same stack addresses.
//
// The map is an LRU map, because an entry can lack its return: longjmp() and exceptions leave functions without one.
// Such elements would fill an ordinary map. The price is that the kernel may evict the values of a long call. A return
// that finds no values counts as unsaved. The report mentions these counts if the map was so full that values may have
// been evicted.
//
// The kernel reuses an evicted element at once, even if a handler on another processor has just found it. The handler
// would read another call's values, or a mixture. The same race lets an entry overwrite an element that has become
// another call's. Therefore the values begin with a seal, which is a hash of all values and of the key's first word.
// Only another thread can reuse the element meanwhile, so the rest of the key is not needed. A return copies the
// values, and computes the seal of the copy. If it differs, the values count as not found. This does not depend on the
// order in which processors see each other's stores.
//
// On kernels with session links, one value of 8 bytes needs no map at all: the kernel keeps a word for each call
// (codegen/emit/session_split.h).
#include "base/check.h"
#include "codegen/bpf/parts.h"
#include "codegen/rtlib/saved.h"
#include "runtime/plan/kinds.h"

namespace sonde {

// The map is an LRU map: an update allocates a new element. If the same place in the same thread made a call before,
// its element is still in the map under the same key. Overwriting that element in place takes a tenth of the time.
void BpfEntryValues::save(Environment& env, const hir::Handler& handler, llvm::Value* values,
                          llvm::Value* entry_stack) {
    if (bpf_.split.wanted)
        e_.CreateStore(e_.number(0), bpf_.refused);
    if (!handler.at_return)
        accounting_.count_full_returns();
    if (bpf_.split.in_record)
        e_.CreateStore(
            e_.CreateLoad(e_.i64(), e_.offset(values, bpf_.state.entry_offset(handler, *bpf_.split.in_record))),
            helper_pointer(e_, plan::call_session_cookie, {bpf_.argument}));
    if (bpf_.state.plan.probes[bpf_.probe].entry_map.empty())
        return;
    if (plan::is_uprobe(bpf_.kind) && bpf_.state.facts.kernel_types)
        e_.routine("sonde_rt_saves", e_.i64(), {});
    constexpr uint64_t most_bytes = 64; // above that, the kernel's copy is faster
    llvm::Value* saved = map_reference(e_, bpf_.state.plan.probes[bpf_.probe].entry_map);
    llvm::Value* key = entry_stack ? saved_key(entry_stack) : key_at_entry(env, handler);
    const uint64_t bytes = bpf_.state.entry_size(handler);
    e_.CreateStore(seal(handler, values), values);
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
    if (bpf_.split.in_record) {
        element_ = helper_pointer(e_, plan::call_session_cookie, {bpf_.argument});
    } else if (!map.empty()) {
        // A call that began before the session has saved nothing, and its return is not handled.
        element_ = helper_pointer(e_, map_lookup_elem, {map_reference(e_, map), key_at_return(env, handler)});
        accounting_.go_if_saved(e_.CreateIsNotNull(element_), bpf_.out);
    }
}

// Deletes the values of a call that returns now. The map then has only pending calls, so a long call is not evicted by
// others. Where the return's handler costs less than the deletion, elements stay and are overwritten.
void BpfEntryValues::forget(Environment& env, const hir::Handler& handler) {
    const std::string& map = bpf_.state.plan.probes[bpf_.probe].entry_map;
    // A handler with a condition may be for a conditional jump, which leaves the function only if the condition holds.
    if (handler.at_return && !handler.condition && !bpf_.saves_entry && !map.empty())
        helper(e_, map_delete_elem, {map_reference(e_, map), key_at_return(env, handler)});
}

void BpfEntryValues::take(const hir::Handler& handler, llvm::Value* values, llvm::BasicBlock* lost) {
    auto copy_word = [&](uint64_t at) {
        auto* word = e_.CreateLoad(e_.i64(), e_.offset(element_, at));
        word->setVolatile(true); // read once: a later load could see other values
        e_.CreateStore(word, e_.offset(values, at));
    };
    copy_word(0);
    for (size_t i = 0; i < handler.entry_values.size(); i++) {
        const uint64_t at = bpf_.state.entry_offset(handler, i);
        if (handler.entry_values[i]->type == hir::ValueType::String)
            e_.routine("sonde_rt_take_text", e_.i64(), {e_.offset(values, at), e_.offset(element_, at)});
        else
            copy_word(at);
    }
    accounting_.go_if_saved(e_.CreateICmpEQ(seal(handler, values), e_.CreateLoad(e_.i64(), values)), lost);
    element_ = values;
}

// The owner's part is separate from the others, so that a copy for another owner needs no other word (fork.bpf.c).
llvm::Value* BpfEntryValues::seal(const hir::Handler& handler, llvm::Value* values) {
    llvm::Value* factor = e_.number(static_cast<int64_t>(SONDE_SEAL_FACTOR));
    llvm::Value* sum = e_.number(0);
    for (size_t i = 0; i < handler.entry_values.size(); i++) {
        llvm::Value* at = e_.offset(values, bpf_.state.entry_offset(handler, i));
        if (handler.entry_values[i]->type == hir::ValueType::String)
            sum = e_.routine("sonde_rt_seal_text", e_.i64(), {sum, at});
        else
            sum = e_.CreateMul(e_.CreateAdd(sum, e_.CreateLoad(e_.i64(), at)), factor);
    }
    return e_.CreateAdd(sum, e_.CreateMul(owner_, e_.number(static_cast<int64_t>(SONDE_SEAL_OWNER))));
}

llvm::Value* BpfEntryValues::load(const hir::Handler& handler, uint32_t index, llvm::Value* slot) {
    llvm::Value* at = bpf_.split.in_record && !bpf_.saves_entry
                          ? element_
                          : e_.offset(element_, bpf_.state.entry_offset(handler, index));
    if (!slot)
        return e_.CreateLoad(e_.i64(), at);
    e_.routine("sonde_rt_copy", e_.i64(), {slot, at});
    return slot;
}

llvm::Value* BpfEntryValues::key_at_entry(Environment& env, const hir::Handler& handler) {
    // The address of the arguments on the stack, which is the same at the entry and at the return.
    if (plan::is_trampoline(bpf_.kind))
        return saved_key(e_.CreatePtrToInt(env.context, e_.i64()));
    if (plan::is_about(bpf_.kind, plan::Subject::Tracepoint))
        return task_key();
    if (handler.is_go) // after the check of the stack's size, when the return address is still on top
        return goroutine_key(env, registers_.read(env, e_.registers().stack_pointer));
    // The stack pointer at the first instruction: on x86-64, the return address is there. Once the frame pointer is
    // set, that place is above the frame pointer's target.
    bool at_entry = handler.points.empty() || handler.points[0].entry_offset == handler.points[0].offset;
    if (at_entry)
        return saved_key(registers_.read(env, e_.registers().stack_pointer));
    const std::optional<int64_t> above = e_.registers().call.entry_above_frame_pointer;
    CHECK(above); // bind_entry_stack() has the place, or reports an error
    return saved_key(e_.CreateAdd(registers_.read(env, e_.registers().frame_pointer), e_.number(*above)));
}

llvm::Value* BpfEntryValues::key_at_return(Environment& env, const hir::Handler& handler) {
    if (plan::is_about(bpf_.kind, plan::Subject::Tracepoint))
        return task_key();
    if (plan::is_trampoline(bpf_.kind))
        return saved_key(e_.CreatePtrToInt(env.context, e_.i64()));
    // After a return, the stack pointer is above the popped return address. At a `ret` instruction, the return address
    // is still on the stack.
    llvm::Value* place = registers_.read(env, e_.registers().stack_pointer);
    if (handler.is_go)
        return goroutine_key(env, place);
    return saved_key(
        handler.at_return && !handler.after_call ? place : e_.CreateSub(place, e_.number(e_.registers().call.pushed)));
}

llvm::Value* BpfEntryValues::goroutine_key(Environment& env, llvm::Value* place) {
    constexpr int stack_high = 8;
    llvm::Value* goroutine = registers_.read(env, bpf_.state.architecture.go().goroutine);
    llvm::Value* high = e_.scratch("stack_high", 8);
    e_.CreateStore(e_.number(0), high);
    memory_.read(env, high, 8, e_.CreateAdd(goroutine, e_.number(stack_high)), true);
    // A goroutine's stack has at most 1 GB, so 32 bits suffice for the distance. The process is part of the key because
    // other processes have goroutines at the same addresses.
    llvm::Value* distance = e_.CreateAnd(e_.CreateSub(e_.CreateLoad(e_.i64(), high), place), e_.number(UINT32_MAX));
    llvm::Value* process = e_.CreateAnd(helper(e_, get_current_pid_tgid, {}), e_.number(INT64_C(-1) << 32));
    return saved_key(e_.CreateOr(process, distance), goroutine);
}

// A thread executes one system call at a time. The key is not the thread's number, because execve() gives the calling
// thread the number of the first thread of its process (fs/exec.c, de_thread()). The task's address and the process'
// number do not change.
llvm::Value* BpfEntryValues::task_key() {
    llvm::Value* process = e_.CreateAnd(helper(e_, get_current_pid_tgid, {}), e_.number(INT64_C(-1) << 32));
    return saved_key(helper(e_, get_current_task, {}), process);
}

llvm::Value* BpfEntryValues::saved_key(llvm::Value* place, llvm::Value* owner) {
    llvm::Value* key = e_.scratch("saved", 16);
    owner_ = owner ? owner : helper(e_, get_current_pid_tgid, {});
    e_.CreateStore(owner_, key);
    e_.CreateStore(place, e_.offset(key, 8));
    return key;
}

} // namespace sonde
