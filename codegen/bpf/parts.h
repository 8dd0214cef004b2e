// The BPF target's implementation of each interface in codegen/emit/target.h.
#pragma once

#include "codegen/bpf/accounting.h"
#include "codegen/bpf/claims.h"
#include "codegen/bpf/context.h"
#include "codegen/bpf/maps.h"
#include "codegen/bpf/one_hit.h"
#include "codegen/emit/target.h"
#include "runtime/plan/counts.h"

namespace sonde {

// Records go through the ring buffers sonde_events and sonde_control (output.cc).
class BpfOutput final : public RecordOutput {
  public:
    BpfOutput(BpfContext& bpf, Maps& maps, BpfAccounting& accounting)
        : bpf_(bpf), e_(bpf.e), maps_(maps), accounting_(accounting) {}
    void send(Environment& env, uint32_t type, llvm::Value* buffer, llvm::Value* size) override;
    uint64_t batch_bytes() const override;
    void begin_batch(Environment& env) override;
    void send_batch(Environment& env) override;
    bool trace(llvm::Value* text) override;
    llvm::Value* append_histogram(Environment&, llvm::Value*, llvm::Value*, const hir::Global&, llvm::Value*) override;
    void count_no_stack(llvm::Value* stack) override;

  private:
    // Sends a record to the session through one of the ring buffers.
    void send_to_session(Environment& env, uint32_t type, llvm::Value* buffer, llvm::Value* size);
    BpfContext& bpf_;
    Emitter& e_;
    Maps& maps_;
    BpfAccounting& accounting_;
};

// Arrays are hash maps (arrays.cc).
class BpfArrays final : public Arrays {
  public:
    explicit BpfArrays(BpfContext& bpf) : bpf_(bpf), e_(bpf.e) {}
    llvm::Value* load_long(Environment&, const hir::Global& array, llvm::Value* key) override;
    void load_string(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value* slot) override;
    llvm::Value* store_long(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value* value) override;
    llvm::Value* store_string(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value* slot) override;
    llvm::Value* update(Environment&, const hir::Global& array, llvm::Value* key, llvm::AtomicRMWInst::BinOp op,
                        llvm::Value* value, llvm::Value** old_value) override;
    llvm::Value* add_to_statistic(Environment&, const hir::Global& array, llvm::Value* key,
                                  llvm::Value* value) override;
    llvm::Value* statistic(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value*) override;
    llvm::Value* contains(Environment&, const hir::Global& array, llvm::Value* key, uint64_t mask) override;
    void erase(Environment&, const hir::Global& array, llvm::Value* key, uint64_t mask, bool all) override;
    uint64_t scan_bytes(const hir::Foreach& loop) override;
    llvm::Value* foreach_begin(Environment&, const ForeachSpec& spec) override;
    llvm::Value* foreach_next(Environment&, const ForeachSpec& spec, llvm::Value* iterator, llvm::Value*& key,
                              llvm::Value*& value) override;
    void foreach_end(Environment&, llvm::Value*) override {}

  private:
    BpfContext& bpf_;
    Emitter& e_;
};

// Memory is read by helpers and routines (memory.cc).
class BpfMemory final : public Memory {
  public:
    explicit BpfMemory(BpfContext& bpf) : bpf_(bpf), e_(bpf.e) {}
    llvm::Value* read(Environment& env, llvm::Value* buffer, uint32_t size, llvm::Value* address, bool user) override;
    llvm::Value* write(Environment&, llvm::Value* buffer, uint32_t size, llvm::Value* address) override;
    llvm::Value* write_block(Environment&, llvm::Value* slot, llvm::Value* size, llvm::Value* address) override;
    llvm::Value* read_block(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address) override;
    llvm::Value* read_string(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address,
                             bool user) override;
    llvm::Value* read_wide(Environment& env, llvm::Value* slot, uint32_t width, llvm::Value* address,
                           bool user) override;
    void symbol(Environment&, llvm::Value* slot, llvm::Value* address, llvm::Value* style, llvm::Value* work) override;
    void kernel_symbol(Environment&, llvm::Value* slot, llvm::Value* address, llvm::Value* style,
                       llvm::Value* work) override;
    llvm::Value* python_value(Environment& env, llvm::Value* slot, llvm::Value* work, llvm::Value* steps,
                              llvm::Value* address) override;
    llvm::Value* node(llvm::Value* address) override;

  private:
    // i1: whether a read may wait for its page. A function gets this from its caller.
    llvm::Value* may_wait(Environment& env);

    BpfContext& bpf_;
    Emitter& e_;
};

// Facts come from helpers for the current task, and from routines for another task (task.cc).
class BpfTask final : public Task {
  public:
    explicit BpfTask(BpfContext& bpf) : bpf_(bpf), e_(bpf.e) {}
    llvm::Value* number(Environment& env, hir::TaskNumber what) override;
    void execname(Environment& env, llvm::Value* slot) override;
    void group_text(Environment& env, llvm::Value* slot, plan::GroupKind kind) override;
    // The id of the task's control group.
    llvm::Value* group(Environment& env);
    llvm::Value* clock(Environment& env, hir::Clock which) override;
    llvm::Value* counter(uint32_t index) override;
    llvm::Value* raise_signal(llvm::Value* signal) override;
    llvm::Value* load_average(llvm::Value* index) override;

  private:
    BpfContext& bpf_;
    Emitter& e_;
};

// Registers and arguments come from the program's context (registers.cc).
class BpfRegisters final : public Registers {
  public:
    explicit BpfRegisters(BpfContext& bpf) : bpf_(bpf), e_(bpf.e) {}
    llvm::Value* read(Environment& env, int dwarf_number) override;
    void write(Environment& env, int dwarf_number, llvm::Value* value) override;
    llvm::Value* argument(Environment& env, int number) override;
    llvm::Value* numbered_argument(Environment& env, llvm::Value* number, llvm::Value*& fault) override;
    llvm::Value* argument_words(Environment& env) override;
    llvm::Value* kernel_function(Environment& env) override;
    llvm::Value* kernel_caller(Environment& env) override;
    llvm::Value* user_mode(Environment& env) override;
    llvm::Value* user_address(Environment& env) override;

  private:
    // The word `number` of the raw tracepoint's arguments, for a program at the perf event of a system call's
    // tracepoint.
    llvm::Value* syscall_word(Environment& env, int number);

    BpfContext& bpf_;
    Emitter& e_;
};

// Stores values in the kernel's session cookie if there is one and the value has 8 bytes. Otherwise it stores them in
// the handler's map, under a key that identifies the call.
class BpfEntryValues final : public EntryValues {
  public:
    BpfEntryValues(BpfContext& bpf, Memory& memory, Registers& registers, BpfAccounting& accounting)
        : bpf_(bpf), e_(bpf.e), memory_(memory), registers_(registers), accounting_(accounting) {}
    void save(Environment& env, const hir::Handler& handler, llvm::Value* values, llvm::Value* entry_stack) override;
    void take(const hir::Handler& handler, llvm::Value* values, llvm::BasicBlock* lost) override;
    llvm::Value* load(const hir::Handler& handler, uint32_t index, llvm::Value* slot) override;
    void are_at(llvm::Value* values) override { element_ = values; }
    // At a function's return: goes on only if the values that the handler needs were saved.
    void find(Environment& env, const hir::Handler& handler);
    // At the end of a handler at an instruction that leaves a function: deletes the saved values.
    void forget(Environment& env, const hir::Handler& handler);

  private:
    // A key that is the same at a call's entry and return, and different from that of all other pending calls.
    llvm::Value* key_at_entry(Environment& env, const hir::Handler& handler);
    llvm::Value* key_at_return(Environment& env, const hir::Handler& handler);
    // The key of a Go call. A goroutine can change its thread, and its stack moves when it grows. The distance of the
    // return address from the stack's upper end stays the same. R14 points to the goroutine's `g`, whose second word is
    // that end.
    llvm::Value* goroutine_key(Environment& env, llvm::Value* place);
    llvm::Value* task_key();
    // `owner`: null means the current thread.
    llvm::Value* saved_key(llvm::Value* place, llvm::Value* owner = nullptr);
    // The seal of values under the newest key.
    llvm::Value* seal(const hir::Handler& handler, llvm::Value* values);

    BpfContext& bpf_;
    Emitter& e_;
    Memory& memory_;
    Registers& registers_;
    BpfAccounting& accounting_;
    llvm::Value* element_ = nullptr;
    llvm::Value* owner_ = nullptr; // the first word of the newest key
};

// Begins and ends programs, and chooses their types (programs.cc).
class BpfPrograms final : public HandlerPrograms {
  public:
    struct Parts {
        BpfContext& bpf;
        Maps& maps;
        BpfAccounting& accounting;
        Claims& claims;
        Task& task;
        Registers& registers;
        BpfEntryValues& entry_values;
        OneHit& one_hit;
    };
    explicit BpfPrograms(const Parts& parts) : parts_(parts), bpf_(parts.bpf), e_(parts.bpf.e) {}
    bool tells_outcomes() const override { return bpf_.state.translate.keeps_times; }
    void use_session(const SessionSplit& split) override { bpf_.split = split; }
    void begin(const hir::Handler& handler, const std::string& symbol, uint32_t probe, Needs needs,
               Environment& env) override;
    void condition_held(Environment& env) override { parts_.accounting.mark(plan::Mark::Wanted, env.row); }
    llvm::Value* has_failed_before() override { return parts_.one_hit.has_failed(); }
    void before_exit() override { parts_.one_hit.expect_more(); }
    void end(Environment& env) override;
    void join_legs(const hir::Handler& handler) override;
    void need_frame(uint64_t size) override { parts_.maps.need_frame(size); }
    void need_scan(uint64_t size) override { parts_.maps.need_scan(size); }
    llvm::Value* unknown_zero(Environment& env) override;
    // may_goto (6.9, "bpf: Introduce may_goto instruction") lets the verifier accept a loop whose iterations it cannot
    // count; MAXACTION ends the loop. On older kernels the loop is only marked, for loop_callbacks.h.
    void loop_head(llvm::BasicBlock* limit) override;
    std::string finish() override;

  private:
    // Emits the program that copies saved values at forks (codegen/rtlib/fork.bpf.c).
    void copy_calls_at_forks();

    const hir::Handler* handler_ = nullptr; // the handler that is being lowered

    // Begins the entry part or the return part of a session program. The optimizer inlines both into one function,
    // where they share the stack.
    llvm::Function* begin_part(const std::string& symbol);
    // The program's ELF section, which tells libbpf its type. Several programs may be in one section. `entry`: the
    // program saves values at a function's entry, for a probe at its return.
    const char* section(bool entry) const;
    // Ends the handler unless the event is for it: its point, its process, its groups. Fills the environment's row.
    void begin_hit(const hir::Handler& handler, Environment& env);
    // The type of the program's result, and its value within bounds that the verifier can check: 0 or 1 for a verdict,
    // -4095 to 0 for an error code. A replaced function's result has no bounds.
    llvm::Type* result_type();
    llvm::Value* decision(llvm::Value* value);

    Parts parts_;
    BpfContext& bpf_;
    Emitter& e_;
    llvm::Function *entry_part_ = nullptr, *return_part_ = nullptr;
};

} // namespace sonde
