// What differs between the two places where handlers run: BPF programs in the kernel, machine code in the host process.
//
// The lowering (codegen/lower/) walks HIR once and asks the place for everything else, by topic: Target hands out one
// small interface for each. They are implemented in codegen/bpf/ and codegen/host/; all of a place emit through one
// Emitter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "codegen/emitter.h"
#include "codegen/environment.h"
#include "codegen/session_legs.h"
#include "frontend/hir/hir.h"

namespace sonde {

// Handlers' programs from their beginning to their end.
class HandlerPrograms {
  public:
    virtual ~HandlerPrograms() = default;
    // Whether handlers keep what becomes of their hit (Environment::outcome).
    virtual bool tells_outcomes() const = 0;
    // Goes for the next handler, whose legs are then put together to one program.
    virtual void use_session(const SessionLegs& legs) = 0;
    // Begins a handler's function and fills the environment. How large the frame is shows only after the body is
    // lowered, so BPF claims an element of a map for it, and on the host it comes as an argument.
    virtual void begin(const hir::Handler& handler, const std::string& symbol, uint32_t probe, Needs needs,
                       Environment& env) = 0;
    // The probe's condition is known to hold.
    virtual void condition_held(Environment& env) = 0;
    // i1: an error of the same hit is told already, by a handler of the same place. Null: it cannot be.
    virtual llvm::Value* has_failed_before() = 0;
    // exit() is about to stop the session.
    virtual void before_exit() = 0;
    // Releases what begin() claimed, and returns; the builder then stands nowhere.
    virtual void end(Environment& env) = 0;
    virtual void join_legs(const hir::Handler& handler) = 0;
    // At least that many bytes of frame are needed by one run of some handler.
    virtual void need_frame(uint64_t size) = 0;
    // The same for what foreach loops keep.
    virtual void need_scan(uint64_t size) = 0;
    // A 0 that the verifier does not know, or null. It checks a loop once for every value of a counter that it knows.
    virtual llvm::Value* unknown_zero(Environment& env) = 0;
    // At the head of a loop: the builder goes on in its body; the verifier's own bound leads to `limit`.
    virtual void loop_head(llvm::BasicBlock* limit) = 0;
    // Everything is lowered. Gives what this place cannot do, or "".
    virtual std::string finish() = 0;
};

// Records for the runtime, and other texts.
class RecordOutput {
  public:
    virtual ~RecordOutput() = default;
    // `size` includes the header.
    virtual void send(Environment& env, uint32_t type, llvm::Value* buffer, llvm::Value* size) = 0;
    // Bytes of Environment::batch; the records of one run are gathered there, and sent together at its end.
    virtual uint64_t batch_bytes() const = 0;
    virtual void begin_batch(Environment& env) = 0;
    virtual void send_batch(Environment& env) = 0;
    // Writes a text to the kernel's trace buffer at once; false: the session has to.
    virtual bool trace(llvm::Value* text) = 0;
    // Appends the histogram of a statistic, which that global holds, to a slot's string; gives the new length. Only
    // where the session runs the handler.
    virtual llvm::Value* append_histogram(Environment& env, llvm::Value* slot, llvm::Value* length,
                                          const hir::Global& global, llvm::Value* stats) = 0;
    // `stack`, a struct sonde_stack, is none, and no line of the output says so: once a hit.
    virtual void count_no_stack(llvm::Value* stack) = 0;
};

struct ForeachSpec {
    const hir::Foreach* loop;
    llvm::Value* area;  // Arrays::scan_bytes() of them
    llvm::Value* limit; // null: none
    uint64_t slice_mask;
    llvm::Value* slice_key;  // null: none
    llvm::BasicBlock* again; // where foreach_next() passes over an element
};

// Arrays. Keys are in memory as plan.h says. Statuses: nonzero means that the array is full.
class Arrays {
  public:
    virtual ~Arrays() = default;
    virtual llvm::Value* load_long(Environment& env, const hir::Global& array, llvm::Value* key) = 0;
    virtual void load_string(Environment& env, const hir::Global& array, llvm::Value* key, llvm::Value* slot) = 0;
    virtual llvm::Value* store_long(Environment& env, const hir::Global& array, llvm::Value* key,
                                    llvm::Value* value) = 0;
    virtual llvm::Value* store_string(Environment& env, const hir::Global& array, llvm::Value* key,
                                      llvm::Value* slot) = 0;
    // `old_value`: null where nobody wants it.
    virtual llvm::Value* update(Environment& env, const hir::Global& array, llvm::Value* key,
                                llvm::AtomicRMWInst::BinOp op, llvm::Value* value, llvm::Value** old_value) = 0;
    // Adds a value to an element that is a statistic.
    virtual llvm::Value* add_to_statistic(Environment& env, const hir::Global& array, llvm::Value* key,
                                          llvm::Value* value) = 0;
    // A pointer to the element's StatsBlock, or to an empty one; on the host a copy in `scratch`.
    virtual llvm::Value* statistic(Environment& env, const hir::Global& array, llvm::Value* key,
                                   llvm::Value* scratch) = 0;
    virtual llvm::Value* contains(Environment& env, const hir::Global& array, llvm::Value* key,
                                  uint64_t slice_mask) = 0;
    // One element, a slice, or with `all` everything.
    virtual void erase(Environment& env, const hir::Global& array, llvm::Value* key, uint64_t slice_mask, bool all) = 0;

    // Bytes of Environment::scan that a loop needs while it runs.
    virtual uint64_t scan_bytes(const hir::Foreach& loop) = 0;
    // Gives an opaque iterator.
    virtual llvm::Value* foreach_begin(Environment& env, const ForeachSpec& spec) = 0;
    // Gives an i1, whether there is one more, and fills the key and the value (null: not wanted) or points to where
    // they are instead.
    virtual llvm::Value* foreach_next(Environment& env, const ForeachSpec& spec, llvm::Value* iterator,
                                      llvm::Value*& key, llvm::Value*& value) = 0;
    virtual void foreach_end(Environment& env, llvm::Value* iterator) = 0;
};

// Memory of the traced program and of the kernel. Results are nonzero on a fault.
class Memory {
  public:
    virtual ~Memory() = default;
    virtual llvm::Value* read(Environment& env, llvm::Value* buffer, uint32_t size, llvm::Value* address,
                              bool user) = 0;
    // Writes `size` (1, 2, 4, 8) bytes of a buffer, or of a slot with at most max_string bytes, to user memory.
    virtual llvm::Value* write(Environment& env, llvm::Value* buffer, uint32_t size, llvm::Value* address) = 0;
    virtual llvm::Value* write_block(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address) = 0;
    // At most max_string - 1 bytes into a slot.
    virtual llvm::Value* read_block(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address) = 0;
    virtual llvm::Value* read_string(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address,
                                     bool user) = 0;
    // A string of units of `width` (2 or 4) bytes as UTF-8; 1: a fault, 2: not UTF-16 or UTF-32.
    virtual llvm::Value* read_wide(Environment& env, llvm::Value* slot, uint32_t width, llvm::Value* address,
                                   bool user) = 0;
    // The text of what lies at a user address: a sonde_symbol_style. `work`: SONDE_SYMBOL_BYTES of memory for the
    // search.
    virtual void symbol(Environment& env, llvm::Value* slot, llvm::Value* address, llvm::Value* style,
                        llvm::Value* work) = 0;
    // The same of a kernel address.
    virtual void kernel_symbol(Environment& env, llvm::Value* slot, llvm::Value* address, llvm::Value* style,
                               llvm::Value* work) = 0;
    // The NUMA node of a kernel address; negative: none, or not known.
    virtual llvm::Value* node(llvm::Value* address) = 0;
};

// The current task, the time, the machine.
class Task {
  public:
    virtual ~Task() = default;
    virtual llvm::Value* number(Environment& env, hir::TaskNumber what) = 0;
    // Writes 16 bytes at most: TASK_COMM_LEN.
    virtual void execname(Environment& env, llvm::Value* slot) = 0;
    // The name of the task's control group.
    virtual void group_text(Environment& env, llvm::Value* slot, plan::GroupKind kind) = 0;
    // Nanoseconds, or cycles of the processor.
    virtual llvm::Value* clock(Environment& env, hir::Clock which) = 0;
    // What @perf("name") gives for the counter at that index.
    virtual llvm::Value* counter(uint32_t index) = 0;
    // To the current thread; nonzero if it is refused.
    virtual llvm::Value* raise_signal(llvm::Value* signal) = 0;
    // Of 1, 5 or 15 minutes, in 1/2048.
    virtual llvm::Value* load_average(llvm::Value* index) = 0;
};

// Registers, arguments and addresses at the point that was hit; zeros where there are none.
class Registers {
  public:
    virtual ~Registers() = default;
    virtual llvm::Value* read(Environment& env, int dwarf_number) = 0;
    // Of a program, at a probe in its code.
    virtual void write(Environment& env, int dwarf_number, llvm::Value* value) = 0;
    // hir::Argument
    virtual llvm::Value* argument(Environment& env, int number) = 0;
    // At a trampoline, an argument by its position, from 0 on; `fault` is nonzero if there are fewer.
    virtual llvm::Value* numbered_argument(Environment& env, llvm::Value* number, llvm::Value*& fault) = 0;
    // How many words of arguments the function has, in which a trampoline leads to the handler.
    virtual llvm::Value* argument_words(Environment& env) = 0;
    // The probed function's address, where a function of the kernel is probed.
    virtual llvm::Value* kernel_function(Environment& env) = 0;
    // 1 where the probe was hit in user space.
    virtual llvm::Value* user_mode(Environment& env) = 0;
    // Where the current task is, or was, in user space; 0: it has no such place.
    virtual llvm::Value* user_address(Environment& env) = 0;
};

// What a function's entry saves for its .return handler.
class EntryValues {
  public:
    virtual ~EntryValues() = default;
    // `values` has each one at its PlanState::entry_offset().
    virtual void save(Environment& env, const hir::Handler& handler, llvm::Value* values,
                      llvm::Value* return_address) = 0;
    // What Handler::entry_values[index] was at the function's entry; a string goes to the slot.
    virtual llvm::Value* load(const hir::Handler& handler, uint32_t index, llvm::Value* slot) = 0;
    // While the entry's own program runs, they lie there.
    virtual void are_at(llvm::Value* values) = 0;
};

class Target {
  public:
    virtual ~Target() = default;
    virtual HandlerPrograms& programs() = 0;
    virtual RecordOutput& output() = 0;
    virtual Arrays& arrays() = 0;
    virtual Memory& memory() = 0;
    virtual Task& task() = 0;
    virtual Registers& registers() = 0;
    virtual EntryValues& entry_values() = 0;
};

std::unique_ptr<Target> make_bpf_target(Emitter& emitter);
std::unique_ptr<Target> make_host_target(Emitter& emitter);

} // namespace sonde
