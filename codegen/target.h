// What differs between the two places where handlers run: BPF programs in the kernel, machine code in the host process.
//
// The lowering (lower.h) walks HIR once and asks the Target for everything else. Values: a long is an i64; a string is
// a `ptr` to NUL-terminated memory. Memory that handlers build strings in are slots of 2 x max_string bytes
// (codegen/rtlib/rt.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "base/check.h"
#include "base/source.h"
#include "codegen/codegen.h"
#include "codegen/session_legs.h"
#include "frontend/hir/hir.h"
#include "runtime/plan.h"

namespace sonde {

// What a handler keeps in memory while it runs. Functions are handed the addresses of `error_site` and `budget`; the
// words after these are found by their distance.
struct HandlerWords {
    int64_t error_site; // of the pending error; 0: none
    plan::ErrorDetails error_details;
    int64_t budget;   // statements left (MAXACTION)
    int64_t decision; // what the kernel gets as the answer
    int64_t outcome;  // BPF with -t: plan::HitOutcome
};

// What every function of a module gets besides its arguments.
struct Environment {
    llvm::Value* context = nullptr;    // BPF: the program's context; host: the session
    llvm::Value* frame = nullptr;      // this function's frame; null in a BPF handler that needs none
    bool has_frame = false;            // that there is a frame, whoever calls
    llvm::Value* tokens = nullptr;     // what tokenize() takes apart: u64 position, then the text's slot; or null
    llvm::Value* matches = nullptr;    // what matched() tells of (rtlib/regex.h), or null
    llvm::Value* stacks = nullptr;     // BPF: struct sonde_stacks (runtime/symbols/stack.h), or null
    llvm::Value* scan = nullptr;       // BPF: where this function's foreach loops keep what they walk, or null
    llvm::Value* data = nullptr;       // the data area
    llvm::Value* error = nullptr;      // HandlerWords::error_site
    llvm::Value* error_text = nullptr; // slot with error()'s text, or null pointer
    llvm::Value* batch = nullptr;      // BPF: struct sonde_batch of a handler that sends several records, or null
    llvm::Value* budget = nullptr;     // HandlerWords::budget
    llvm::Value* outcome = nullptr;    // HandlerWords::outcome, or null
    llvm::Value* row = nullptr;        // i32: the probe point's row
    llvm::Value* task = nullptr;       // i64, BPF: the task that the event is about, where it is not the current one; 0
    llvm::Value* can_wait = nullptr;   // i64, BPF: 1 where memory that is not there may be waited for
};

// What a handler, with the functions that it calls, needs besides the BPF stack.
struct Needs {
    bool frame = false;   // strings, keys with strings, statistics
    bool scan = false;    // foreach over an array
    bool tokens = false;  // tokenize()
    bool matches = false; // matched() and its relatives
    bool stacks = false;  // backtrace(), ubacktrace() and their relatives, in the kernel
    bool counter = false; // @perf()
};

// The unit of plan-building that both targets share.
struct PlanState {
    const hir::Program& program;
    const Sources& sources;
    const CodegenOptions& options;
    plan::Plan& plan;

    uint32_t add_format(const plan::Format& format);
    // A place where an error can arise; `range` is what the message calls "near".
    uint32_t add_site(const std::string& message, Range range);
    // A call's place as errors tell it: what goes into ErrorDetails::calls.
    uint32_t add_call(const std::string& callee, Range range);
    std::map<std::string, uint32_t> calls = {};
};

class Target {
  public:
    Target(PlanState& state, const char* module_name);
    virtual ~Target();

    // Whether handlers keep what becomes of their hit (Environment::outcome).
    virtual bool tells_outcomes() const { return false; }
    // The probe's condition is known to hold.
    virtual void condition_held(Environment&) {}
    virtual bool is_bpf() const = 0;
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
    virtual llvm::Value* counter(Environment&, uint32_t) { return number(0); }
    // `stack`, a struct sonde_stack, is none, and no line of the output says so: once a hit.
    virtual void count_no_stack(llvm::Value*) {}
    // 1 where the probe was hit in user space.
    virtual llvm::Value* user_mode(Environment&) { return number(0); }
    // Where the current task is, or was, in user space; 0: it has no such place.
    virtual llvm::Value* user_address(Environment&) { return number(0); }
    // hir::Argument
    virtual llvm::Value* argument(Environment&, int) { return number(0); }
    // At a trampoline, an argument by its position, from 0 on; `fault` is nonzero if there are fewer.
    virtual llvm::Value* numbered_argument(Environment&, llvm::Value*, llvm::Value*& fault) {
        return fault = number(1);
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
    virtual llvm::Value* write_memory(Environment&, llvm::Value*, uint32_t, llvm::Value*) { return number(1); }
    virtual llvm::Value* write_block(Environment&, llvm::Value*, llvm::Value*, llvm::Value*) { return number(1); }
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
    virtual llvm::Value* argument_words(Environment&) { return number(0); }
    // The probed function's address, where a function of the kernel is probed.
    virtual llvm::Value* kernel_function(Environment&) { return number(0); }
    // plan::FileTables that handlers look things up in.
    void need_tables(uint8_t tables) { state_.plan.tables |= tables; }
    // Goes for the next handler, whose legs are then put together to one program.
    virtual void use_session(const SessionLegs&) {}
    virtual void join_legs(const hir::Handler&) {}
    // What Handler::entry_values[index] was at the function's entry; a string goes to the slot.
    virtual llvm::Value* entry_value(Environment& env, const hir::Handler& handler, uint32_t index,
                                     llvm::Value* slot) = 0;
    // While the entry's own program runs, they lie there.
    virtual void entry_values_are_at(llvm::Value*) {}
    // `values` has each one at its entry_offset().
    virtual void save_entry_values(Environment& env, const hir::Handler& handler, llvm::Value* values,
                                   llvm::Value* return_address) = 0;
    uint64_t entry_offset(const hir::Handler& handler, size_t index) const;

    // Everything is lowered. Gives what this place cannot do, or "".
    virtual std::string finish() { return ""; }

    // ---- shared tools
    llvm::Module& module() { return *module_; }
    std::unique_ptr<llvm::Module> take_module();
    llvm::LLVMContext& context() { return *context_; }
    std::unique_ptr<llvm::LLVMContext> take_context() { return std::move(context_); }
    llvm::IRBuilder<>& ir() { return ir_; }
    PlanState& state() { return state_; }
    uint64_t slot_size() const { return 2ull * state_.options.max_string + 64; }
    llvm::Type* i64() { return ir_.getInt64Ty(); }
    llvm::Type* ptr() { return ir_.getPtrTy(); }
    llvm::Value* number(int64_t value) { return ir_.getInt64(static_cast<uint64_t>(value)); }
    // A NUL-terminated constant.
    llvm::Value* literal(const std::string& text);
    // Read-only zeros, at least `size` of them.
    llvm::Value* zeros(uint64_t size);
    // A pointer to the message of an error at `site` (constant table; without the argument), and to the text that pp(),
    // pn(), probefunc() or probe_type() give at a row.
    llvm::Value* site_message(llvm::Value* site);
    // Padded with NULs to row_text_bytes.
    static constexpr uint64_t row_text_bytes = 256;
    llvm::Value* row_text(llvm::Value* row, hir::PointText text);
    // Texts as numbers: hir::Program::texts. One that is there, one that pp() and its relatives give at a row, and the
    // text with a number.
    uint32_t number_of_text(const std::string& text) const;
    llvm::Value* row_text_number(llvm::Value* row, hir::PointText text);
    llvm::Value* text(llvm::Value* number);
    // An entry, zero-extended, of a constant table whose length is a power of two; the index is below that.
    llvm::Value* table_entry(const std::vector<uint32_t>& table, llvm::Value* index);
    // Adds a value to a StatsBlock, and to the histogram's bucket behind it.
    void stat_add(llvm::Value* stats, const plan::StatsNeeds& needs, llvm::Value* value);
    // A routine of codegen/rtlib.
    llvm::Value* routine(const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> args);
    llvm::Value* offset(llvm::Value* pointer, uint64_t bytes);
    llvm::Value* error_argument(const Environment& env) {
        return error_details(env, offsetof(plan::ErrorDetails, argument));
    }
    // A word of ErrorDetails, by its offset.
    llvm::Value* error_details(const Environment& env, uint64_t field) {
        return offset(env.error, offsetof(HandlerWords, error_details) - offsetof(HandlerWords, error_site) + field);
    }
    llvm::Value* decision_place(const Environment& env) {
        return offset(env.budget, offsetof(HandlerWords, decision) - offsetof(HandlerWords, budget));
    }
    // The number, of whose origin the optimiser knows nothing: what is compared is what is computed with.
    llvm::Value* opaque(llvm::Value* value);
    // value & mask, also where the optimiser knows that this changes nothing: the verifier may not know it.
    llvm::Value* masked(llvm::Value* value, uint64_t mask);
    // An alloca at the function's entry: for variables that live in registers after optimisation.
    llvm::AllocaInst* stack(uint64_t bytes);
    // Memory whose address is passed on, written and used at once: every use of a tag in a function shares it, whatever
    // its size (BPF has 512 bytes of stack).
    llvm::Value* scratch(const std::string& tag, uint64_t bytes);
    bool is_scratch(const llvm::AllocaInst& variable) const;
    llvm::DISubprogram* describe(llvm::Function* function, Range range);
    void locate(Range range); // what is emitted next comes from there
    // Defines the tables and constants that the routines and the code refer to; after everything is lowered and linked.
    void define_constants();

  protected:
    static constexpr uint64_t site_text_bytes = 64;
    uint64_t row_cells() const; // of the table of their texts, a power of two
    llvm::Constant* cells(const std::vector<std::string>& texts, uint64_t cell);
    PlanState& state_;
    std::unique_ptr<llvm::LLVMContext> context_;
    std::unique_ptr<llvm::Module> module_;
    llvm::IRBuilder<> ir_;
    llvm::DIBuilder di_;
    llvm::DICompileUnit* unit_ = nullptr;
    std::map<FileId, llvm::DIFile*> files_;
    llvm::DIFile* di_file(FileId file);
    // By size: while functions are lowered, pointers to what is there already are in use.
    std::map<std::pair<llvm::Function*, std::string>, std::map<uint64_t, llvm::AllocaInst*>> scratch_;
    void merge_scratch();
    uint64_t zeros_size_ = 0;
    std::map<std::string, llvm::GlobalVariable*> literals_;
};

std::unique_ptr<Target> make_bpf_target(PlanState& state);
std::unique_ptr<Target> make_host_target(PlanState& state);

} // namespace sonde
