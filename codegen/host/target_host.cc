// The target for handlers in the host process: x86-64 code that calls the functions of runtime/plan/host_api.h.
//
// begin, end, timers and other probes of the session run in sonde's own process, and not in the kernel. They have no
// limit of instructions, can use arrays of any size, and can wait. The same lowering emits their code, so that both
// kinds of handlers agree about the language.
//
// Every operation that needs the session is a call of a `sonde_host_...` function, with the session as its first
// argument (Environment::context). Host code needs no verifier, so most hooks of the interfaces do nothing here. For
// example, `n[1]++` in `probe timer.s(1)` becomes a call of sonde_host_array_add().
//
// A handler of the session has no traced task, so reads of user memory fail. Handlers for a copied stack read the copy.
#include <algorithm>
#include <cstddef>

#include "codegen/emit/target.h"
#include "runtime/plan/host_api.h"
#include "runtime/plan/host_frames.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// A handler is a function with three arguments: the session, its frame, and the data area.
class HostPrograms final : public HandlerPrograms {
  public:
    explicit HostPrograms(Emitter& emitter) : e_(emitter) {}
    bool tells_outcomes() const override { return false; }
    void use_session(const SessionSplit&) override {}
    void begin(const hir::Handler& handler, const std::string& symbol, uint32_t probe, Needs,
               Environment& env) override {
        llvm::Type* p = e_.ptr();
        auto* type = llvm::FunctionType::get(e_.getVoidTy(), {p, p, p}, false);
        auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, e_.module());
        e_.SetInsertPoint(llvm::BasicBlock::Create(e_.getContext(), "entry", function));
        env.context = function->getArg(0);
        env.frame = function->getArg(1);
        env.data = function->getArg(2);
        const auto& points = e_.state().plan.probes[probe].points;
        e_.SetCurrentDebugLocation(llvm::DebugLoc());                  // the last one belongs to another function
        if (plan::traits(handler.kind).cause == plan::Cause::Recorded) // the points share the handler
            env.row = e_.CreateTrunc(e_.routine("sonde_host_recorded_row", e_.i64(), {env.context}), e_.getInt32Ty());
        else
            env.row = e_.getInt32(points.empty() ? 0 : points[0].row);
    }
    void condition_held(Environment&) override {}
    llvm::Value* has_failed_before() override { return nullptr; }
    void before_exit() override {}
    void end(Environment&) override { e_.CreateRetVoid(); }
    void join_legs(const hir::Handler&) override {}
    void need_frame(uint64_t) override {}
    void need_scan(uint64_t) override {}
    llvm::Value* unknown_zero(Environment&) override { return nullptr; }
    void loop_head(llvm::BasicBlock*) override {}
    std::string finish() override { return ""; }

  private:
    Emitter& e_;
};

// Passes records to the session directly, without a ring buffer. Nothing can come in between, so records are not
// collected.
class HostOutput final : public RecordOutput {
  public:
    explicit HostOutput(Emitter& emitter) : e_(emitter) {}
    void send(Environment& env, uint32_t, llvm::Value* buffer, llvm::Value* size) override {
        e_.routine("sonde_host_emit", e_.getVoidTy(), {env.context, buffer, size});
    }
    uint64_t batch_bytes() const override { return 0; }
    void begin_batch(Environment&) override {}
    void send_batch(Environment&) override {}
    bool trace(llvm::Value*) override { return false; }
    llvm::Value* append_histogram(Environment& env, llvm::Value* slot, llvm::Value* length, const hir::Global& global,
                                  llvm::Value* stats) override {
        return e_.routine("sonde_host_append_histogram", e_.i64(),
                          {env.context, slot, length, e_.getInt32(global.index), stats});
    }
    void count_no_stack(llvm::Value*) override {}

  private:
    Emitter& e_;
};

// Arrays are objects of the session (runtime/values/host_arrays.h). Arrays that kernel handlers use, too, are maps,
// which the session reads by system calls.
class HostArrays final : public Arrays {
  public:
    explicit HostArrays(Emitter& emitter) : e_(emitter) {}
    llvm::Value* load_long(Environment& env, const hir::Global& array, llvm::Value* key) override {
        llvm::Value* value = e_.stack(8);
        e_.routine("sonde_host_array_load", e_.i64(), {env.context, index(array), key, value});
        return e_.CreateLoad(e_.i64(), value);
    }
    void load_string(Environment& env, const hir::Global& array, llvm::Value* key, llvm::Value* slot) override {
        e_.routine("sonde_host_array_load", e_.i64(), {env.context, index(array), key, slot});
    }
    llvm::Value* store_long(Environment& env, const hir::Global& array, llvm::Value* key, llvm::Value* value) override {
        llvm::Value* cell = e_.stack(8);
        e_.CreateStore(value, cell);
        return e_.routine("sonde_host_array_store", e_.i64(), {env.context, index(array), key, cell});
    }
    llvm::Value* store_string(Environment& env, const hir::Global& array, llvm::Value* key,
                              llvm::Value* slot) override {
        return e_.routine("sonde_host_array_store", e_.i64(), {env.context, index(array), key, slot});
    }
    // The runtime has a function for additions. All other operations load and store the element. Both are two steps if
    // the array is in the kernel; passes/exclusion.cc takes that into account when it chooses locks.
    llvm::Value* update(Environment& env, const hir::Global& array, llvm::Value* key, llvm::AtomicRMWInst::BinOp op,
                        llvm::Value* value, llvm::Value** old_value) override {
        llvm::Value* old = e_.stack(8);
        if (op == llvm::AtomicRMWInst::Add || op == llvm::AtomicRMWInst::Sub) {
            llvm::Value* delta = op == llvm::AtomicRMWInst::Sub ? e_.CreateNeg(value) : value;
            llvm::Value* status =
                e_.routine("sonde_host_array_add", e_.i64(), {env.context, index(array), key, delta, old});
            if (old_value)
                *old_value = e_.CreateLoad(e_.i64(), old);
            return status;
        }
        llvm::Value* before = load_long(env, array, key);
        llvm::Value* after = op == llvm::AtomicRMWInst::And  ? e_.CreateAnd(before, value)
                             : op == llvm::AtomicRMWInst::Or ? e_.CreateOr(before, value)
                                                             : e_.CreateXor(before, value);
        if (old_value)
            *old_value = before;
        return store_long(env, array, key, after);
    }
    llvm::Value* add_to_statistic(Environment& env, const hir::Global& array, llvm::Value* key,
                                  llvm::Value* value) override {
        return e_.routine("sonde_host_array_stat_add", e_.i64(), {env.context, index(array), key, value});
    }
    llvm::Value* statistic(Environment& env, const hir::Global& array, llvm::Value* key,
                           llvm::Value* scratch) override {
        e_.routine("sonde_host_array_load", e_.i64(), {env.context, index(array), key, scratch});
        return scratch;
    }
    llvm::Value* contains(Environment& env, const hir::Global& array, llvm::Value* key, uint64_t mask) override {
        return e_.routine("sonde_host_array_contains_slice", e_.i64(),
                          {env.context, index(array), e_.number(static_cast<int64_t>(mask)), key});
    }
    // A mask with all bits is a whole key, and 0 means all elements.
    void erase(Environment& env, const hir::Global& array, llvm::Value* key, uint64_t mask, bool all) override {
        if (mask == ~0ull)
            e_.routine("sonde_host_array_delete", e_.getVoidTy(), {env.context, index(array), key});
        else
            e_.routine(
                "sonde_host_array_delete_slice", e_.getVoidTy(),
                {env.context, index(array), e_.number(all ? 0 : static_cast<int64_t>(mask)), key ? key : e_.null()});
    }
    uint64_t scan_bytes(const hir::Foreach&) override { return 0; }
    llvm::Value* foreach_begin(Environment& env, const ForeachSpec& spec) override {
        llvm::Value* out = e_.stack(sizeof(HostForeach));
        auto put = [&](size_t at, llvm::Value* value) { e_.CreateStore(value, e_.offset(out, at)); };
        put(offsetof(HostForeach, global), e_.getInt32(spec.loop->array->index));
        put(offsetof(HostForeach, sort_direction), e_.getInt32(static_cast<uint32_t>(spec.loop->sort_direction)));
        put(offsetof(HostForeach, sort_column), e_.getInt32(static_cast<uint32_t>(spec.loop->sort_column)));
        put(offsetof(HostForeach, sort_stat), e_.getInt32(static_cast<uint32_t>(spec.loop->sort_stat)));
        put(offsetof(HostForeach, sort_percentile), e_.number(spec.loop->sort_percentile));
        // In the structure, -1 means no limit. A negative limit of the script means 0.
        llvm::Value* limit = spec.limit
                                 ? e_.CreateSelect(e_.CreateICmpSLT(spec.limit, e_.number(0)), e_.number(0), spec.limit)
                                 : e_.number(-1);
        put(offsetof(HostForeach, limit), limit);
        put(offsetof(HostForeach, slice_mask), e_.number(static_cast<int64_t>(spec.slice_mask)));
        put(offsetof(HostForeach, slice_key), spec.slice_key ? spec.slice_key : e_.null());
        return e_.routine("sonde_host_foreach_begin", e_.ptr(), {env.context, out});
    }
    // The session fills the buffers `key` and `value`. The BPF target can instead change the two pointers.
    llvm::Value* foreach_next(Environment&, const ForeachSpec&, llvm::Value* iterator, llvm::Value*& key,
                              llvm::Value*& value) override {
        llvm::Value* more = e_.routine("sonde_host_foreach_next", e_.i64(), {iterator, key, value ? value : e_.null()});
        return e_.CreateICmpNE(more, e_.number(0));
    }
    void foreach_end(Environment&, llvm::Value* iterator) override {
        e_.routine("sonde_host_foreach_end", e_.getVoidTy(), {iterator});
    }

  private:
    llvm::Value* index(const hir::Global& array) { return e_.getInt32(array.index); }

    Emitter& e_;
};

// Host handlers have no traced task, so user addresses fault, except in a copied stack.
class HostMemory final : public Memory {
  public:
    explicit HostMemory(Emitter& emitter) : e_(emitter) {}
    // An address of a pointer type is in sonde's own memory, such as a statistic. A number is an address in the traced
    // program or in the kernel.
    llvm::Value* read(Environment& env, llvm::Value* buffer, uint32_t size, llvm::Value* address, bool user) override {
        if (!address->getType()->isPointerTy())
            return e_.routine(user ? "sonde_host_read_user" : "sonde_host_read_kernel", e_.i64(),
                              {env.context, buffer, e_.number(size), address});
        e_.CreateMemCpy(buffer, llvm::Align(1), address, llvm::Align(1), size);
        return e_.number(0);
    }
    llvm::Value* write(Environment&, llvm::Value*, uint32_t, llvm::Value*) override { return e_.number(1); }
    llvm::Value* write_block(Environment&, llvm::Value*, llvm::Value*, llvm::Value*) override { return e_.number(1); }
    llvm::Value* read_block(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address) override {
        return e_.routine("sonde_host_read_kernel_block", e_.i64(), {env.context, slot, size, address});
    }
    llvm::Value* read_string(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address,
                             bool user) override {
        e_.CreateStore(e_.getInt8(0), slot);
        return e_.routine(user ? "sonde_host_read_user_string" : "sonde_host_read_kernel_string", e_.i64(),
                          {env.context, slot, size, address});
    }
    // The lowering raises an error for the kernel's memory.
    llvm::Value* read_wide(Environment&, llvm::Value* slot, uint32_t, llvm::Value*, bool) override {
        e_.CreateStore(e_.getInt8(0), slot);
        return e_.number(1);
    }
    void symbol(Environment& env, llvm::Value* slot, llvm::Value* address, llvm::Value* style, llvm::Value*) override {
        e_.routine("sonde_host_symbol", e_.getVoidTy(),
                   {env.context, slot, e_.number(e_.state().plan.max_string), address, style});
    }
    void kernel_symbol(Environment& env, llvm::Value* slot, llvm::Value* address, llvm::Value* style,
                       llvm::Value* work) override {
        symbol(env, slot, address, style, work);
    }
    llvm::Value* python_value(Environment&, llvm::Value* slot, llvm::Value*, llvm::Value*, llvm::Value*) override {
        e_.CreateStore(e_.getInt8(0), slot);
        return e_.number(1);
    }
    llvm::Value* node(llvm::Value* address) override {
        return e_.routine("sonde_host_memory_node", e_.i64(), {address});
    }

  private:
    Emitter& e_;
};

// The current task is sonde itself.
class HostTask final : public Task {
  public:
    explicit HostTask(Emitter& emitter) : e_(emitter) {}
    llvm::Value* number(Environment& env, hir::TaskNumber what) override {
        return e_.routine(std::string("sonde_host_") + hir::traits(what).name, e_.i64(), {env.context});
    }
    void execname(Environment& env, llvm::Value* slot) override {
        e_.routine("sonde_host_execname", e_.getVoidTy(),
                   {env.context, slot, e_.number(std::min(16u, e_.state().plan.max_string))});
    }
    void group_text(Environment& env, llvm::Value* slot, plan::GroupKind kind) override {
        e_.routine("sonde_host_group_text", e_.getVoidTy(),
                   {env.context, slot, e_.number(e_.state().plan.max_string), e_.number(static_cast<int64_t>(kind))});
    }
    llvm::Value* clock(Environment& env, hir::Clock which) override {
        if (which == hir::Clock::Cycles)
            return e_.routine("sonde_host_cycles", e_.i64(), {});
        llvm::Value* now =
            e_.routine(which == hir::Clock::RealTime ? "sonde_host_realtime_ns" : "sonde_host_monotonic_ns", e_.i64(),
                       {env.context});
        if (which != hir::Clock::Steady)
            return now;
        return e_.CreateAdd(
            now, e_.CreateLoad(e_.i64(), e_.offset(env.data, offsetof(plan::SessionWords, realtime_offset_ns))));
    }
    llvm::Value* counter(uint32_t) override { return e_.number(0); }
    llvm::Value* raise_signal(llvm::Value* signal) override {
        return e_.routine("sonde_host_raise", e_.i64(), {signal});
    }
    llvm::Value* load_average(llvm::Value* index) override {
        return e_.routine("sonde_host_loadavg", e_.i64(), {index});
    }

  private:
    Emitter& e_;
};

// Only handlers for a copied stack have registers: those of the copy.
class HostRegisters final : public Registers {
  public:
    explicit HostRegisters(Emitter& emitter) : e_(emitter) {}
    llvm::Value* read(Environment& env, int number) override {
        static_assert(host_thread_pointer == hir::Register::thread_pointer);
        return e_.routine("sonde_host_register", e_.i64(), {env.context, e_.number(number)});
    }
    void write(Environment&, int, llvm::Value*) override {}
    llvm::Value* argument(Environment&, int) override { return e_.number(0); }
    llvm::Value* numbered_argument(Environment&, llvm::Value*, llvm::Value*& fault) override {
        return fault = e_.number(1);
    }
    llvm::Value* argument_words(Environment&) override { return e_.number(0); }
    llvm::Value* kernel_function(Environment&) override { return e_.number(0); }
    llvm::Value* kernel_caller(Environment&) override { return e_.number(0); }
    llvm::Value* user_mode(Environment&) override { return e_.number(0); }
    llvm::Value* user_address(Environment&) override { return e_.number(0); }

  private:
    Emitter& e_;
};

// Host handlers do not probe functions.
class HostEntryValues final : public EntryValues {
  public:
    explicit HostEntryValues(Emitter& emitter) : e_(emitter) {}
    void save(Environment&, const hir::Handler&, llvm::Value*, llvm::Value*) override {}
    void take(const hir::Handler&, llvm::Value*, llvm::BasicBlock*) override {}
    llvm::Value* load(const hir::Handler&, uint32_t, llvm::Value*) override { return e_.number(0); }
    void are_at(llvm::Value*) override {}

  private:
    Emitter& e_;
};

class HostTarget final : public Target {
  public:
    explicit HostTarget(Emitter& emitter)
        : programs_(emitter), output_(emitter), arrays_(emitter), memory_(emitter), task_(emitter), registers_(emitter),
          entry_values_(emitter) {}
    HandlerPrograms& programs() override { return programs_; }
    RecordOutput& output() override { return output_; }
    Arrays& arrays() override { return arrays_; }
    Memory& memory() override { return memory_; }
    Task& task() override { return task_; }
    Registers& registers() override { return registers_; }
    EntryValues& entry_values() override { return entry_values_; }

  private:
    HostPrograms programs_;
    HostOutput output_;
    HostArrays arrays_;
    HostMemory memory_;
    HostTask task_;
    HostRegisters registers_;
    HostEntryValues entry_values_;
};

} // namespace

std::unique_ptr<Target> make_host_target(Emitter& emitter) { return std::make_unique<HostTarget>(emitter); }

} // namespace sonde
