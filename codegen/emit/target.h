// The interfaces between the lowering and the two targets: BPF programs in the kernel, and machine code in the host
// process.
//
// The lowering (codegen/lower/) walks HIR once and asks the target for everything that depends on the place where the
// code runs. Target provides one small interface for each topic. codegen/bpf/ and codegen/host/ implement them. All
// parts of a target emit code through the same Emitter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "codegen/emit/emitter.h"
#include "codegen/emit/environment.h"
#include "codegen/emit/session_split.h"
#include "frontend/hir/hir.h"

namespace sonde {

// Begins and ends the programs of handlers.
class HandlerPrograms {
  public:
    virtual ~HandlerPrograms() = default;
    // Whether handlers store the outcome of their hit in Environment::outcome.
    virtual bool tells_outcomes() const = 0;
    // Applies to the next handler, whose two parts are joined to one program by join_legs().
    virtual void use_session(const SessionSplit& split) = 0;
    // Begins a handler's function and fills the environment. The frame's size is known only after the body is lowered.
    // So BPF claims an element of a map for the frame, and host code gets the frame as an argument.
    virtual void begin(const hir::Handler& handler, const std::string& symbol, uint32_t probe, Needs needs,
                       Environment& env) = 0;
    // Call it where the probe's condition has turned out to be true.
    virtual void condition_held(Environment& env) = 0;
    // i1: whether another handler of the same place has already reported an error of this hit. Null: this is
    // impossible.
    virtual llvm::Value* has_failed_before() = 0;
    // Call it before exit() stops the session.
    virtual void before_exit() = 0;
    // Releases what begin() claimed, and returns. The builder has no insertion point afterwards.
    virtual void end(Environment& env) = 0;
    // Joins the two parts of a session link's handler to one program.
    virtual void join_legs(const hir::Handler& handler) = 0;
    // Reports that one run of some handler needs at least `size` bytes of frame.
    virtual void need_frame(uint64_t size) = 0;
    // The same for the memory of foreach loops.
    virtual void need_scan(uint64_t size) = 0;
    // A 0 whose value the verifier does not know, or null if this target does not need it. The verifier checks a loop
    // once for each value of a counter that it knows.
    virtual llvm::Value* unknown_zero(Environment& env) = 0;
    // Call it at the head of a loop. The builder continues in the body. If the verifier needs its own limit of
    // iterations, the loop goes to `limit` when this is reached.
    virtual void loop_head(llvm::BasicBlock* limit) = 0;
    // Call it when everything is lowered. Returns the name of a feature that this target lacks, or "".
    virtual std::string finish() = 0;
};

// Sends records to the runtime, and writes other text.
class RecordOutput {
  public:
    virtual ~RecordOutput() = default;
    // Sends a record. `size` includes the header.
    virtual void send(Environment& env, uint32_t type, llvm::Value* buffer, llvm::Value* size) = 0;
    // Bytes of Environment::batch. The records of one run are collected there and sent together at its end.
    virtual uint64_t batch_bytes() const = 0;
    virtual void begin_batch(Environment& env) = 0;
    virtual void send_batch(Environment& env) = 0;
    // Writes a text to the kernel's trace buffer. Returns false if the session has to do that.
    virtual bool trace(llvm::Value* text) = 0;
    // Appends the histogram of a statistic, which belongs to `global`, to the string in a slot. Returns the new length.
    // Only for handlers that the session runs.
    virtual llvm::Value* append_histogram(Environment& env, llvm::Value* slot, llvm::Value* length,
                                          const hir::Global& global, llvm::Value* stats) = 0;
    // Counts a missing stack, at most once for each hit, for stacks that are not printed. `stack`: a struct
    // sonde_stack.
    virtual void count_no_stack(llvm::Value* stack) = 0;
};

// A foreach loop over an array, with the memory and the expressions that were lowered for it.
struct ForeachSpec {
    const hir::Foreach* loop;
    llvm::Value* area;  // memory of Arrays::scan_bytes()
    llvm::Value* limit; // null: no limit
    uint64_t slice_mask;
    llvm::Value* slice_key;  // null: no slice
    llvm::BasicBlock* again; // where foreach_next() skips an element
};

// Arrays. Keys in memory have the format of runtime/plan/data.h. In the kernel, if the array's map has identities
// (runtime/plan/array_maps.h), a key follows room for the value, and its strings may have any bytes after the NUL. A
// status is a HostStatus.
class Arrays {
  public:
    virtual ~Arrays() = default;
    virtual llvm::Value* load_long(Environment& env, const hir::Global& array, llvm::Value* key) = 0;
    virtual void load_string(Environment& env, const hir::Global& array, llvm::Value* key, llvm::Value* slot) = 0;
    virtual llvm::Value* store_long(Environment& env, const hir::Global& array, llvm::Value* key,
                                    llvm::Value* value) = 0;
    virtual llvm::Value* store_string(Environment& env, const hir::Global& array, llvm::Value* key,
                                      llvm::Value* slot) = 0;
    // `old_value`: null if it is not used.
    virtual llvm::Value* update(Environment& env, const hir::Global& array, llvm::Value* key,
                                llvm::AtomicRMWInst::BinOp op, llvm::Value* value, llvm::Value** old_value) = 0;
    // Adds a value to an element that is a statistic.
    virtual llvm::Value* add_to_statistic(Environment& env, const hir::Global& array, llvm::Value* key,
                                          llvm::Value* value) = 0;
    // A pointer to the element's StatsBlock, or to an empty one if the element does not exist. The host target copies
    // it to `scratch`.
    virtual llvm::Value* statistic(Environment& env, const hir::Global& array, llvm::Value* key,
                                   llvm::Value* scratch) = 0;
    virtual llvm::Value* contains(Environment& env, const hir::Global& array, llvm::Value* key,
                                  uint64_t slice_mask) = 0;
    // Deletes one element, a slice, or with `all` all elements.
    virtual void erase(Environment& env, const hir::Global& array, llvm::Value* key, uint64_t slice_mask, bool all) = 0;

    // Bytes of Environment::scan that a loop needs while it runs.
    virtual uint64_t scan_bytes(const hir::Foreach& loop) = 0;
    // Returns an opaque iterator.
    virtual llvm::Value* foreach_begin(Environment& env, const ForeachSpec& spec) = 0;
    // Returns an i1, whether there is another element. Fills key and value (null: not used), or makes them point to the
    // element's memory.
    virtual llvm::Value* foreach_next(Environment& env, const ForeachSpec& spec, llvm::Value* iterator,
                                      llvm::Value*& key, llvm::Value*& value) = 0;
    virtual void foreach_end(Environment& env, llvm::Value* iterator) = 0;
};

// Memory of the traced program and of the kernel. Functions return a number other than 0 if the access faults.
class Memory {
  public:
    virtual ~Memory() = default;
    virtual llvm::Value* read(Environment& env, llvm::Value* buffer, uint32_t size, llvm::Value* address,
                              bool user) = 0;
    // Writes to user memory: `size` (1, 2, 4 or 8) bytes of a buffer, or up to max_string bytes of a slot.
    virtual llvm::Value* write(Environment& env, llvm::Value* buffer, uint32_t size, llvm::Value* address) = 0;
    virtual llvm::Value* write_block(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address) = 0;
    // Read at most max_string - 1 bytes into a slot.
    virtual llvm::Value* read_block(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address) = 0;
    virtual llvm::Value* read_string(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address,
                                     bool user) = 0;
    // Reads a string whose units have `width` (2 or 4) bytes and converts it to UTF-8. Returns 1 after a fault, and 2
    // if the string is not UTF-16 or UTF-32.
    virtual llvm::Value* read_wide(Environment& env, llvm::Value* slot, uint32_t width, llvm::Value* address,
                                   bool user) = 0;
    // Describes a user address: its symbol, in the form of `style` (a sonde_symbol_style). `work`: SONDE_SYMBOL_BYTES
    // of memory for the search.
    virtual void symbol(Environment& env, llvm::Value* slot, llvm::Value* address, llvm::Value* style,
                        llvm::Value* work) = 0;
    // The same for a kernel address.
    virtual void kernel_symbol(Environment& env, llvm::Value* slot, llvm::Value* address, llvm::Value* style,
                               llvm::Value* work) = 0;
    // Reads a value of Python (codegen/rtlib/python_value.h). `steps`: read-only memory with the steps and names in
    // `work`, whose other input is filled. Returns a python_value_status. Only for handlers in the kernel.
    virtual llvm::Value* python_value(Environment& env, llvm::Value* slot, llvm::Value* work, llvm::Value* steps,
                                      llvm::Value* address) = 0;
    // The NUMA node of a kernel address; negative if there is none or it is unknown.
    virtual llvm::Value* node(llvm::Value* address) = 0;
};

// Facts about the current task, the time, and the machine.
class Task {
  public:
    virtual ~Task() = default;
    virtual llvm::Value* number(Environment& env, hir::TaskNumber what) = 0;
    // Writes the task's name, at most 16 bytes (TASK_COMM_LEN).
    virtual void execname(Environment& env, llvm::Value* slot) = 0;
    // Writes the name of the task's control group.
    virtual void group_text(Environment& env, llvm::Value* slot, plan::GroupKind kind) = 0;
    // A time in nanoseconds, or the processor's cycle counter.
    virtual llvm::Value* clock(Environment& env, hir::Clock which) = 0;
    // The value of @perf("name") for the counter with this index.
    virtual llvm::Value* counter(uint32_t index) = 0;
    // Sends a signal to the current thread. The result is not 0 if the kernel refuses.
    virtual llvm::Value* raise_signal(llvm::Value* signal) = 0;
    // The load average of 1, 5 or 15 minutes, in units of 1/2048.
    virtual llvm::Value* load_average(llvm::Value* index) = 0;
};

// Registers, arguments and addresses at the point that was hit; 0 if there are none.
class Registers {
  public:
    virtual ~Registers() = default;
    virtual llvm::Value* read(Environment& env, int dwarf_number) = 0;
    // Writes a register of a program, at a probe in its code.
    virtual void write(Environment& env, int dwarf_number, llvm::Value* value) = 0;
    // `number`: see hir::Argument.
    virtual llvm::Value* argument(Environment& env, int number) = 0;
    // At a trampoline: the argument at this position, counted from 0. `fault` is set to a number other than 0 if the
    // function has fewer arguments.
    virtual llvm::Value* numbered_argument(Environment& env, llvm::Value* number, llvm::Value*& fault) = 0;
    // At a trampoline: the number of words that the function's arguments take.
    virtual llvm::Value* argument_words(Environment& env) = 0;
    // The address of the probed kernel function.
    virtual llvm::Value* kernel_function(Environment& env) = 0;
    // At a breakpoint at a function's first instruction: the return address, if it is in a register. Otherwise 0.
    virtual llvm::Value* kernel_caller(Environment& env) = 0;
    // 1 if the probe was hit in user space.
    virtual llvm::Value* user_mode(Environment& env) = 0;
    // The user-space address where the current task is, or entered the kernel; 0 if it has none.
    virtual llvm::Value* user_address(Environment& env) = 0;
};

// Values that a function's entry saves for its .return handler.
class EntryValues {
  public:
    virtual ~EntryValues() = default;
    // Saves values. Each is at its PlanState::entry_offset() in `values`.
    virtual void save(Environment& env, const hir::Handler& handler, llvm::Value* values, llvm::Value* entry_stack) = 0;
    // At the return: copies the saved values to `values`, and goes to `lost` if they belong to another call.
    virtual void take(const hir::Handler& handler, llvm::Value* values, llvm::BasicBlock* lost) = 0;
    // The value that Handler::entry_values[index] had at the function's entry. A string is copied to the slot.
    virtual llvm::Value* load(const hir::Handler& handler, uint32_t index, llvm::Value* slot) = 0;
    // Sets where load() finds the values while the entry's own program runs.
    virtual void are_at(llvm::Value* values) = 0;
};

// All interfaces of one target. Created for one module, and destroyed with it.
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

// Create the two targets. `emitter` must outlive the result, and must be for the same target.
std::unique_ptr<Target> make_bpf_target(Emitter& emitter);
std::unique_ptr<Target> make_host_target(Emitter& emitter);

} // namespace sonde
