// The target of handlers in the kernel: BPF programs for libbpf. Private to this folder, one topic a file: programs
// and maps, arrays, what a handler is told of its event.
#pragma once

#include <optional>

#include "codegen/rtlib/scan.h"
#include "codegen/target.h"
#include "runtime/numbering.h"

namespace sonde {

// Of the kernel (include/uapi/linux/bpf.h).
enum Helper : uint64_t {
    map_lookup_elem = 1,
    map_update_elem = 2,
    map_delete_elem = 3,
    ktime_get_ns = 5,
    trace_printk = 6,
    get_smp_processor_id = 8,
    get_current_pid_tgid = 14,
    get_current_uid_gid = 15,
    get_current_comm = 16,
    get_current_task = 35,
    probe_read_kernel = 113,
    probe_read_kernel_str = 115,
    send_signal = 109,
    send_signal_thread = 117,
    ringbuf_output = 130,
    ringbuf_reserve = 131,
    ringbuf_submit = 132,
    ringbuf_query = 134,
    get_func_ip = 173,
    get_attach_cookie = 174,
    get_func_arg = 183,
    get_func_arg_cnt = 185, // 5.17, bpf: Add get_func_[arg|ret|arg_cnt] helpers
    get_func_ret = 184,
};
enum MapType : uint32_t { Hash = 1, Array = 2, PerfEventArray = 4, LruHash = 9, HashOfMaps = 13, Ringbuf = 27 };

class BpfTarget final : public Target {

  public:
    explicit BpfTarget(Emitter& emitter);
    bool tells_outcomes() const override { return state_.options.timing; }
    void condition_held(Environment& env) override { mark(plan::Mark::Wanted, env.row); }
    llvm::Function* begin_handler(const hir::Handler& handler, const std::string& symbol, uint32_t probe, Needs needs,
                                  Environment& env) override;
    void end_handler(Environment& env) override;
    void need_frame(uint64_t size) override { frame_bytes_ = std::max(frame_bytes_, size); }
    void need_scan(uint64_t size) override { scan_bytes_ = std::max(scan_bytes_, size); }
    // Everything is lowered: maps get their sizes.
    void finish_maps();

    // ---- output

    void emit_record(Environment& env, uint32_t type, llvm::Value* buffer, llvm::Value* size, bool) override;
    uint64_t batch_bytes() const override;
    void begin_batch(Environment& env) override;
    void send_batch(Environment& env) override;

    // ---- arrays

    llvm::Value* array_load_long(Environment&, const hir::Global& array, llvm::Value* key) override;
    void array_load_string(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value* slot) override;
    llvm::Value* array_store_long(Environment&, const hir::Global& array, llvm::Value* key,
                                  llvm::Value* value) override;
    llvm::Value* array_store_string(Environment&, const hir::Global& array, llvm::Value* key,
                                    llvm::Value* slot) override;
    llvm::Value* array_update(Environment&, const hir::Global& array, llvm::Value* key, llvm::AtomicRMWInst::BinOp op,
                              llvm::Value* value, llvm::Value** old_value) override;
    llvm::Value* array_stat_add(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value* value) override;
    llvm::Value* array_stats(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value*) override;
    llvm::Value* array_contains(Environment&, const hir::Global& array, llvm::Value* key, uint64_t mask) override;
    void array_delete(Environment&, const hir::Global& array, llvm::Value* key, uint64_t mask, bool all) override;

    // ---- foreach: a heap of all elements in memory of its own (codegen/rtlib/scan.h)

    uint64_t scan_bytes(const hir::Foreach& loop) override;
    llvm::Value* foreach_begin(Environment&, const ForeachSpec& spec) override;
    llvm::Value* foreach_next(Environment&, const ForeachSpec& spec, llvm::Value* iterator, llvm::Value*& key,
                              llvm::Value*& value) override;
    void foreach_end(Environment& env, llvm::Value* iterator) override;
    llvm::Value* unknown_zero(Environment& env) override;
    // may_goto (6.9, bpf: Introduce may_goto instruction) lets the verifier accept a loop that it cannot count;
    // MAXACTION ends it. Without, the loop is marked for bpf/loop_callbacks.cc.
    void loop_head(llvm::BasicBlock* limit) override;

    // ---- the task, time, registers, memory

    llvm::Value* task_number(Environment& env, const std::string& what) override;
    // The current task's "pid" or "tid" in the session's PID namespace.
    llvm::Value* own_number(const std::string& what);
    // A word of struct sonde_numbering, by its offset.
    llvm::Value* numbering(uint64_t field);
    void execname(Environment& env, llvm::Value* slot) override;
    llvm::Value* clock(Environment& env, const std::string& what) override;
    llvm::Value* user_register(Environment& env, int number_) override;
    llvm::Value* user_mode(Environment& env) override;
    void count_no_stack(llvm::Value* stack) override;
    llvm::Value* user_address(Environment& env) override {
        return plan::is_about_no_task(kind_) ? e_.number(0) : e_.routine("sonde_rt_user_address", e_.i64(), {env.task});
    }
    bool trace(llvm::Value* text) override;
    llvm::Value* raise_signal(llvm::Value* signal) override;
    llvm::Value* load_average(llvm::Value* index) override { return e_.routine("sonde_rt_loadavg", e_.i64(), {index}); }
    llvm::Value* memory_node(llvm::Value* address) override {
        return e_.routine("sonde_rt_memory_node", e_.i64(), {address});
    }
    llvm::Value* numbered_argument(Environment& env, llvm::Value* number_, llvm::Value*& fault) override;
    llvm::Value* argument(Environment& env, int number_) override;
    llvm::Value* read_memory(Environment& env, llvm::Value* buffer, uint32_t size, llvm::Value* address,
                             bool user) override;
    llvm::Value* write_memory(Environment&, llvm::Value* buffer, uint32_t size, llvm::Value* address) override;
    llvm::Value* write_block(Environment&, llvm::Value* slot, llvm::Value* size, llvm::Value* address) override;
    llvm::Value* read_block(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address) override;
    llvm::Value* read_wide(Environment& env, llvm::Value* slot, uint32_t width, llvm::Value* address,
                           bool user) override;
    llvm::Value* read_string(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address,
                             bool user) override;
    void symbol(Environment&, llvm::Value* slot, llvm::Value* address, llvm::Value* style, llvm::Value* work) override;
    void kernel_symbol(Environment&, llvm::Value* slot, llvm::Value* address, llvm::Value* style,
                       llvm::Value* work) override;
    llvm::Value* argument_words(Environment& env) override;
    llvm::Value* kernel_function(Environment& env) override;
    llvm::Value* counter(Environment&, uint32_t index) override;
    // Of a process that begins: a fork's child is not the current one, and what ran before the session is stopped by
    // nobody.

    // ---- values from a function's entry, under (thread, address of the return address)

    // Goroutines change threads, and their stacks move when they grow: the return address has a distance from the
    // stack's upper end that stays. R14 is the goroutine's `g`, whose second word is that end.
    llvm::Value* goroutine_key(Environment& env, llvm::Value* place);
    void save_entry_values(Environment& env, const hir::Handler& handler, llvm::Value* values,
                           llvm::Value* return_address) override;
    void use_session(const SessionLegs& legs) override { legs_ = legs; }
    void entry_values_are_at(llvm::Value* values) override { entry_element_ = values; }
    void join_legs(const hir::Handler& handler) override;
    llvm::Value* entry_value(Environment&, const hir::Handler& handler, uint32_t index, llvm::Value* slot) override;
    std::string finish() override;

  private:
    llvm::GlobalVariable* global(const char* name, llvm::Constant* value);
    // The same number, of which the optimiser knows nothing.
    // Goes on only if the condition holds; otherwise the handler ends.
    void go_if(llvm::Value* condition);
    llvm::Value* helper(uint64_t which, std::initializer_list<llvm::Value*> args) {
        return call_helper(which, e_.i64(), args);
    }
    llvm::Value* helper_pointer(uint64_t which, std::initializer_list<llvm::Value*> args) {
        return call_helper(which, e_.ptr(), args);
    }
    llvm::Value* call_helper(uint64_t which, llvm::Type* result, std::initializer_list<llvm::Value*> args);
    std::string map_name(const hir::Global& array) { return state_.plan.globals[array.index].map; }
    // Referred to before its type is known: defined by finish_maps().
    llvm::Value* map_reference(const std::string& name);
    void map(const std::string& name, uint32_t type, uint64_t key_size, uint64_t value_size, uint32_t entries);
    // libbpf makes .bss memory-mappable only if BTF says that it holds a global variable.
    void describe_data();
    llvm::Value* u32_key(uint32_t value);

    // ---- accounting (bpf/accounting.cc)

    // Adds 1 to a field of the probe's ProbeCounts; gives what was there before.
    llvm::Value* count(size_t field);
    void count_if(llvm::Value* condition, size_t field);
    // A record found no room.
    void lose_if(Environment& env, llvm::Value* condition);
    // More soft errors than MAXERRORS stop all handlers at once. Suppressed ones go on at `told` but for a probe's
    // first.
    void count_error(Environment& env, llvm::BasicBlock* told);
    // The probe's hit begins: what Mark says, and with -t its number.
    void count_hit(Environment& env);
    void mark(plan::Mark what, llvm::Value* index);
    // Of a return by the kernel's own bookkeeping, at a call's entry or its return.
    void count_full_returns();
    // Goes on only if the call's entry has saved what its return wants.
    void go_if_saved(llvm::Value* element);
    void add_timing(size_t field, llvm::Value* value);
    void record_outcome(Environment& env);
    void record_time();
    void find_timing(Environment& env);

    // A tracepoint that is about a task other than the one at hand says so by `__about_task(N)`: it is the N'th
    // argument, from 0 on.
    static std::optional<int> task_argument(const hir::Handler& handler);
    // Begins the handler of an event: only if it is one of that kind. Gives the inode of the task's program.
    llvm::Value* begin_event(plan::ProbeKind kind, Environment& env);
    llvm::Value* first_row(uint32_t probe);
    // The point that was hit, if it is about this process.
    void find_row(const hir::Handler& handler, uint32_t index, llvm::Value* program, Environment& env);
    llvm::Value* context_word(Environment& env, uint64_t at);
    // `here` for the current task, `there` for another one.
    template <typename Here, typename There> void with_task(Environment& env, Here here, There there);
    void filter_target(Environment& env);
    static uint64_t scan_slots(const hir::Global& array) { return std::bit_ceil(uint64_t{array.capacity}); }
    static uint64_t heap_bytes(const hir::Global& array) { return (scan_slots(array) * 4 + 7) & ~7ull; }
    uint64_t payload_bytes(const hir::Foreach& loop) const;
    // What a copy of an element takes: the key and the payload that the loop wants.
    uint64_t copy_bytes(const hir::Foreach& loop) const;
    // Whether copies of all elements would take too much of what one run's walks have together.
    bool is_by_reference(const hir::Foreach& loop) const;
    // The bytes that one run's walks may have together.
    uint64_t largest_walks() const;
    uint32_t count_scans() const;
    sonde_scan_spec scan_spec(const hir::Global& array, uint64_t mask) const;
    // What a walk over an array works on (sonde_scan); null: none.
    struct Scan {
        llvm::Value *spec, *area, *slice;
    };
    llvm::Constant* scan_constant(const sonde_scan_spec& spec);
    llvm::Constant* constant_words(llvm::ArrayRef<uint64_t> words, const char* name);
    // A routine of wrap.bpf.c, for an array that wraps.
    llvm::Value* wrap_routine(const char* name, const hir::Global& array, llvm::Value* key);
    // Of an element that is being created.
    llvm::Value* insertion_number(const hir::Global& array, llvm::Value* key);
    // Calls a routine of scan.bpf.c, with the array and the limit where it takes them.
    llvm::Value* walk(const char* name, const Scan& what, const hir::Global* array, llvm::Value* limit = nullptr);
    // Zeros in scratch memory whose tag begins with "wiped" (wiped_scratch.h).
    void wipe(llvm::Value* scratch, uint64_t bytes);
    // A slot of a map by compare-and-exchange: handlers are preempted and can sleep, so nothing that belongs to a CPU
    // is safe. Gives what lies behind its busy word.
    llvm::Value* claim(const char* slots, uint32_t count_slots);
    // The handler cannot run this time.
    void skip(size_t field);
    void take_lock(llvm::Value* word);
    // Gives back what is claimed, the last first: everything written there is done.
    void release();
    template <typename Body> void with_element(const hir::Global& array, llvm::Value* key, Body body);
    // Looks up, creates what is missing, and runs `body` on the element. Creation inserts zeros only if nobody was
    // faster, and whoever finds no insertion number gives one: no update can be lost in between. In an array that wraps
    // the oldest element makes room. Status 1: the array is full.
    template <typename Body> llvm::Value* with_created(const hir::Global& array, llvm::Value* key, Body body);
    // Where a table by the calls' numbers has a call's row, and 1 added; 0: it is none of these.
    llvm::Value* syscall_cell(llvm::Value* called, const std::vector<plan::Point>& points);
    // Which of these system calls it is, as its row; the handler ends at any other. Those of 32-bit programs have
    // numbers of their own.
    llvm::Value* find_syscall(Environment& env, const std::vector<plan::Point>& points);
    // What the program gives back, within bounds that the verifier sees: 0 or 1, or -4095 to 0.
    llvm::Value* decision(llvm::Value* value);
    // Whether a read may wait for its page; functions are told by their callers.
    llvm::Value* may_wait(Environment& env);
    // Which kind of program libbpf makes of it; several may be in one section. `entry`: of a function's return, what
    // saves values at its entry.
    const char* section(bool entry) const;
    // What tells a call from all others of its thread, or of its goroutine, the same at its entry and at its return.
    llvm::Value* key_at_entry(Environment& env, const hir::Handler& handler);
    llvm::Value* key_at_return(Environment& env, const hir::Handler& handler);
    // `owner`: by default the thread.
    llvm::Value* saved_key(llvm::Value* place, llvm::Value* owner = nullptr);
    // A half of a session's program; the optimiser makes one function of them, whose halves share the stack.
    llvm::Function* begin_leg(const std::string& symbol);
    SessionLegs legs_;
    llvm::Function *entry_leg_ = nullptr, *return_leg_ = nullptr;
    llvm::Value* refused_ = nullptr; // entry: 1 until it is known that the return is wanted
    llvm::GlobalVariable* data_ = nullptr;
    llvm::Value* context_argument_ = nullptr;
    llvm::Value* entry_element_ = nullptr; // what the function's entry has saved
    llvm::BasicBlock* out_ = nullptr;
    std::vector<llvm::Value*> claimed_; // busy words, the lock's too
    llvm::Value* started_ = nullptr;
    llvm::Value* timing_ = nullptr; // with -t: the ProbeTiming of the row
    bool timed_ = false;
    bool frames_ = false, scans_ = false, counts_stacks_ = false;
    bool sends_ = false;       // some handler has something for the runtime to show
    bool counts_ = false;      // the handler that is being lowered looks at counters
    bool saves_entry_ = false; // the handler's program for the entry is being lowered
    bool sleeps_ = false;      // user memory is read: its pages may have to be waited for
    uint32_t probe_ = 0;
    plan::ProbeKind kind_ = plan::ProbeKind::Begin; // of the handler that is being lowered
    uint64_t frame_bytes_ = 0, scan_bytes_ = 0;
    std::string unsupported_;
};

} // namespace sonde
