// What differs between the two places where handlers run: BPF programs in the kernel, machine code in the host process.
//
// The lowering (codegen/lower/lower.h) walks HIR once and asks the Target for everything else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/check.h"
#include "codegen/emitter.h"
#include "codegen/environment.h"
#include "codegen/session_legs.h"
#include "frontend/hir/hir.h"

namespace sonde {

class Target {
  public:
    explicit Target(Emitter& emitter) : e_(emitter), state_(emitter.state()) {}
    virtual ~Target() = default;

    // Whether handlers keep what becomes of their hit (Environment::outcome).
    virtual bool tells_outcomes() const { return false; }
    // The probe's condition is known to hold.
    virtual void condition_held(Environment&) {}
    // Begins a handler's function and fills the environment; `frame_size` is known only after the body is lowered, so a
    // BPF frame's claim refers to the map, and a host frame comes as an argument.
    virtual llvm::Function* begin_handler(const hir::Handler& handler, const std::string& symbol, uint32_t probe,
                                          Needs needs, Environment& env) = 0;
    // Releases what begin_handler claimed, and returns; the builder then stands nowhere.
    virtual void end_handler(Environment& env) = 0;
    // At least that many bytes of frame are needed by one run of some handler.
    virtual void need_frame(uint64_t size) = 0;
    // The same for what foreach loops keep.
    virtual void need_scan(uint64_t) {}
    // Bytes of Environment::scan that a loop needs while it runs.
    virtual uint64_t scan_bytes(const hir::Foreach&) { return 0; }

    // ---- output and control
    // `size` includes the header; a constant when fixed_size.
    virtual void emit_record(Environment& env, uint32_t type, llvm::Value* buffer, llvm::Value* size,
                             bool fixed_size) = 0;
    // Bytes of Environment::batch; the records of one run are gathered there, and sent together at its end.
    virtual uint64_t batch_bytes() const { return 0; }
    virtual void begin_batch(Environment&) {}
    virtual void send_batch(Environment&) {}

    // ---- arrays. Keys are in memory as plan.h says.
    virtual llvm::Value* array_load_long(Environment& env, const hir::Global& array, llvm::Value* key) = 0;
    virtual void array_load_string(Environment& env, const hir::Global& array, llvm::Value* key, llvm::Value* slot) = 0;
    // Statuses: nonzero means that the array is full.
    virtual llvm::Value* array_store_long(Environment& env, const hir::Global& array, llvm::Value* key,
                                          llvm::Value* value) = 0;
    virtual llvm::Value* array_store_string(Environment& env, const hir::Global& array, llvm::Value* key,
                                            llvm::Value* slot) = 0;
    virtual llvm::Value* array_update(Environment& env, const hir::Global& array, llvm::Value* key,
                                      llvm::AtomicRMWInst::BinOp op, llvm::Value* value, llvm::Value** old_value) = 0;
    virtual llvm::Value* array_stat_add(Environment& env, const hir::Global& array, llvm::Value* key,
                                        llvm::Value* value) = 0;
    // A pointer to the element's StatsBlock, or to an empty one.
    virtual llvm::Value* array_stats(Environment& env, const hir::Global& array, llvm::Value* key,
                                     llvm::Value* scratch) = 0;
    virtual llvm::Value* array_contains(Environment& env, const hir::Global& array, llvm::Value* key,
                                        uint64_t slice_mask) = 0;
    virtual void array_delete(Environment& env, const hir::Global& array, llvm::Value* key, uint64_t slice_mask,
                              bool all) = 0;

    // ---- foreach. begin gives an opaque iterator; next gives an i1, and fills the key and the value (null: not
    // wanted) or points to where they are instead.
    struct ForeachSpec {
        const hir::Foreach* loop;
        llvm::Value* area;  // scan_bytes() of them
        llvm::Value* limit; // null: none
        uint64_t slice_mask;
        llvm::Value* slice_key;  // null: none
        llvm::BasicBlock* again; // where next passes over an element
    };
    virtual llvm::Value* foreach_begin(Environment& env, const ForeachSpec& spec) = 0;
    virtual llvm::Value* foreach_next(Environment& env, const ForeachSpec& spec, llvm::Value* iterator,
                                      llvm::Value*& key, llvm::Value*& value) = 0;
    virtual void foreach_end(Environment& env, llvm::Value* iterator) = 0;
    // A 0 that the verifier does not know, or null. It checks a loop once for every value of a counter that it knows.
    virtual llvm::Value* unknown_zero(Environment&) { return nullptr; }
    // At the head of a loop: gives the block to go on in; the verifier's own bound leads to `limit`.
    virtual void loop_head(llvm::BasicBlock* limit) = 0;

    // ---- the current task, time, the point, registers, user memory
    virtual llvm::Value* task_number(Environment& env,
                                     const std::string& what) = 0; // pid tid ppid uid euid gid egid cpu
    // Writes 16 bytes at most: TASK_COMM_LEN.
    virtual void execname(Environment& env, llvm::Value* slot) = 0;
    virtual llvm::Value* clock(Environment& env,
                               const std::string& what) = 0; // ktime_get_ns gettimeofday_ns get_cycles
    virtual llvm::Value* user_register(Environment& env, int dwarf_number) = 0;
    // What @perf("name") gives for the counter at that index.
    virtual llvm::Value* counter(Environment&, uint32_t) { return e_.number(0); }
    // `stack`, a struct sonde_stack, is none, and no line of the output says so: once a hit.
    virtual void count_no_stack(llvm::Value*) {}
    // 1 where the probe was hit in user space.
    virtual llvm::Value* user_mode(Environment&) { return e_.number(0); }
    // Where the current task is, or was, in user space; 0: it has no such place.
    virtual llvm::Value* user_address(Environment&) { return e_.number(0); }
    // hir::Argument
    virtual llvm::Value* argument(Environment&, int) { return e_.number(0); }
    // At a trampoline, an argument by its position, from 0 on; `fault` is nonzero if there are fewer.
    virtual llvm::Value* numbered_argument(Environment&, llvm::Value*, llvm::Value*& fault) {
        return fault = e_.number(1);
    }
    // Writes a text to the kernel's trace buffer at once; false: the session has to.
    virtual bool trace(llvm::Value*) { return false; }
    // To the current thread; nonzero if it is refused.
    virtual llvm::Value* raise_signal(llvm::Value* signal) = 0;
    // Of 1, 5 or 15 minutes, in 1/2048.
    virtual llvm::Value* load_average(llvm::Value* index) = 0;
    // Appends the histogram of a statistic, which that global holds, to a slot's string; gives the new length. Only
    // where the session runs the handler.
    virtual llvm::Value* append_histogram(Environment&, llvm::Value*, llvm::Value*, const hir::Global&, llvm::Value*) {
        UNREACHABLE("a histogram as a string");
    }
    // Of an address of the kernel's; negative: none, or not known.
    virtual llvm::Value* memory_node(llvm::Value* address) = 0;
    // Reads into memory; the result is nonzero on a fault.
    virtual llvm::Value* read_memory(Environment& env, llvm::Value* buffer, uint32_t size, llvm::Value* address,
                                     bool user) = 0;
    // Writes `size` (1, 2, 4, 8) bytes of a buffer, or of a slot with at most max_string bytes, to user memory; nonzero
    // on a fault.
    virtual llvm::Value* write_memory(Environment&, llvm::Value*, uint32_t, llvm::Value*) { return e_.number(1); }
    virtual llvm::Value* write_block(Environment&, llvm::Value*, llvm::Value*, llvm::Value*) { return e_.number(1); }
    // At most max_string - 1 bytes into a slot; nonzero on a fault.
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
    // How many words of arguments the function has, in which a trampoline leads to the handler.
    virtual llvm::Value* argument_words(Environment&) { return e_.number(0); }
    // The probed function's address, where a function of the kernel is probed.
    virtual llvm::Value* kernel_function(Environment&) { return e_.number(0); }
    // Goes for the next handler, whose legs are then put together to one program.
    virtual void use_session(const SessionLegs&) {}
    virtual void join_legs(const hir::Handler&) {}
    // What Handler::entry_values[index] was at the function's entry; a string goes to the slot.
    virtual llvm::Value* entry_value(Environment& env, const hir::Handler& handler, uint32_t index,
                                     llvm::Value* slot) = 0;
    // While the entry's own program runs, they lie there.
    virtual void entry_values_are_at(llvm::Value*) {}
    // `values` has each one at its PlanState::entry_offset().
    virtual void save_entry_values(Environment& env, const hir::Handler& handler, llvm::Value* values,
                                   llvm::Value* return_address) = 0;

    // Everything is lowered. Gives what this place cannot do, or "".
    virtual std::string finish() { return ""; }

  protected:
    Emitter& e_;
    PlanState& state_;
};

std::unique_ptr<Target> make_bpf_target(Emitter& emitter);
std::unique_ptr<Target> make_host_target(Emitter& emitter);

} // namespace sonde
