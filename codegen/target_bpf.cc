// Handlers in the kernel: BPF programs for libbpf, with BTF-defined maps and line information of the script.
//
// Helper numbers: include/uapi/linux/bpf.h. Maps are declared to libbpf by debug types: a member `int (*name)[N]` says
// name = N.
#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>

#include <llvm/IR/InlineAsm.h>

#include "codegen/loop_callbacks.h"
#include "codegen/rtlib/counters.h"
#include "codegen/rtlib/scan.h"
#include "codegen/target.h"
#include "runtime/symbols/stack.h"

namespace sonde {
namespace {

enum Helper : uint64_t {
    map_lookup_elem = 1,
    map_update_elem = 2,
    map_delete_elem = 3,
    ktime_get_ns = 5,
    get_smp_processor_id = 8,
    get_current_pid_tgid = 14,
    get_current_uid_gid = 15,
    get_current_comm = 16,
    get_current_task = 35,
    probe_read_kernel = 113,
    send_signal = 109,
    send_signal_thread = 117,
    ringbuf_output = 130,
    ringbuf_reserve = 131,
    ringbuf_submit = 132,
    ringbuf_query = 134,
    get_func_ip = 173,
    get_attach_cookie = 174,
    get_func_arg = 183,
    get_func_ret = 184,
};
enum MapType : uint32_t { Hash = 1, Array = 2, PerfEventArray = 4, LruHash = 9, HashOfMaps = 13, Ringbuf = 27 };
constexpr uint64_t ring_no_wakeup = 1, ring_force_wakeup = 2, wake_at_bytes = 64 << 10;
constexpr uint32_t frames_of_all = 32, scans_of_all = 8, claim_tries = 8;
constexpr uint64_t largest_element = 4 << 20; // of an array map before 6.7

// pt_regs of x86-64 by DWARF register number (arch/x86/include/asm/ptrace.h; System V psABI, figure 3.36).
constexpr uint32_t register_offsets[17] = {80, 96, 88, 40, 104, 112, 32, 152, 72, 64, 56, 48, 24, 16, 8, 0, 128};
constexpr int64_t regs_orig_ax = 120, regs_cs = 136, regs_ss = 160, user_cs = 0x33;
constexpr int rbp = 6, rsp = 7, r14 = 14;
constexpr uint32_t flags_offset = 144;
constexpr int64_t carry_flag = 1, zero_flag = 0x40;

class BpfTarget final : public Target {
  public:
    explicit BpfTarget(PlanState& state) : Target(state, "bpf") {
        module_->setTargetTriple("bpfel");
        module_->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
        module_->addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
        auto* license = global("_license", llvm::ConstantDataArray::getString(*context_, "GPL", true));
        license->setSection("license");
        data_ = new llvm::GlobalVariable(*module_, llvm::ArrayType::get(ir_.getInt8Ty(), state.plan.data_size), false,
                                         llvm::GlobalValue::ExternalLinkage, nullptr, "sonde_data");
        data_->setInitializer(llvm::ConstantAggregateZero::get(data_->getValueType()));
        data_->setAlignment(llvm::Align(8));
    }

    bool is_bpf() const override { return true; }

    llvm::Function* begin_handler(const hir::Handler& handler, const std::string& symbol, uint32_t probe, Needs needs,
                                  Environment& env) override {
        auto* type = llvm::FunctionType::get(ir_.getInt32Ty(), {ptr()}, false);
        auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, *module_);
        kind_ = handler.kind;
        saves_entry_ = symbol != state_.plan.probes[probe].symbol;
        bool event = plan::is_task_event(kind_);
        function->setSection(section(saves_entry_));
        ir_.SetInsertPoint(llvm::BasicBlock::Create(*context_, "entry", function));
        describe(function, handler.range);
        context_argument_ = function->getArg(0);
        env.context = context_argument_;
        env.data = data_;
        out_ = llvm::BasicBlock::Create(*context_, "out", function);
        claimed_.clear();
        probe_ = probe;
        timed_ = plan::is_event(kind_) && state_.options.timing;
        registers_are_behind_ = event;
        env.task = number(0);
        // Programs that wait may not look at counters.
        counts_ = needs.counter;
        env.can_wait = number(plan::is_uprobe(kind_) && !counts_);
        if (plan::is_event(kind_)) {
            llvm::Value* running = ir_.CreateICmpEQ(ir_.CreateLoad(i64(), data_), number(plan::Running));
            go_if(running);
            llvm::Value* program = event ? begin_event(handler.kind, env) : nullptr;
            if (std::optional<int> task = task_argument(handler))
                env.task = argument(env, *task);
            // A packet is about no process.
            if (state_.options.filter_target && kind_ != plan::ProbeKind::Netfilter)
                filter_target(env);
            find_row(handler, probe, program, env);
        } else {
            env.row = first_row(probe);
        }
        if (timed_)
            started_ = helper(ktime_get_ns, {});
        entry_element_ = nullptr;
        if (handler.checks_stack && (saves_entry_ || handler.kind == plan::ProbeKind::Uprobe)) {
            // "Below or equal" would jump away, and come back to the function's beginning.
            llvm::Value* flags = context_word(env, flags_offset);
            go_if(ir_.CreateICmpEQ(ir_.CreateAnd(flags, number(carry_flag | zero_flag)), number(0)));
        }
        if (!handler.entry_values.empty() && !saves_entry_) {
            // A call that began before the session has nothing saved, and is none of its business.
            entry_element_ = helper_pointer(
                map_lookup_elem, {map_reference(state_.plan.probes[probe].entry_map), key_at_return(env, handler)});
            go_if(ir_.CreateIsNotNull(entry_element_));
        }
        if (needs.scan) {
            scans_ = true;
            env.scan = claim("sonde_scans", scans_of_all);
        }
        if (needs.frame) {
            frames_ = true;
            env.frame = claim("sonde_frames", frames_of_all);
        }
        if (uint64_t lock = state_.plan.probes[probe].lock; lock && symbol == state_.plan.probes[probe].symbol)
            take_lock(offset(env.data, lock));
        return function;
    }

    void end_handler(Environment& env) override {
        release();
        if (timed_)
            record_time();
        if (plan::decides(kind_))
            ir_.CreateRet(decision(ir_.CreateLoad(i64(), offset(env.budget, 8))));
        else
            ir_.CreateBr(out_);
        ir_.SetInsertPoint(out_);
        ir_.CreateRet(ir_.getInt32(kind_ == plan::ProbeKind::Netfilter));
        // Functions are lowered between begin and end, and are inlined: what they read counts for every handler after.
        llvm::Function* function = out_->getParent();
        if (sleeps_ && !counts_ && function->getSection() == "uprobe")
            function->setSection("uprobe.s");
    }

    void need_frame(uint64_t size) override { frame_bytes_ = std::max(frame_bytes_, size); }
    void need_scan(uint64_t size) override { scan_bytes_ = std::max(scan_bytes_, size); }

    // Everything is lowered: maps get their sizes.
    void finish_maps() {
        map("sonde_events", Ringbuf, 0, 0, static_cast<uint32_t>(state_.options.ring_bytes));
        map("sonde_control", Ringbuf, 0, 0, 256 << 10);
        if (frames_)
            map("sonde_frames", Array, 4, 8 + frame_bytes_ + slot_size(), frames_of_all);
        if (scans_) {
            map("sonde_scans", Array, 4, 8 + scan_bytes_, scans_of_all);
            if (scan_bytes_ > largest_element)
                unsupported_ = "a foreach in the kernel takes down all elements, and these arrays are too large for "
                               "that: declare a capacity, as in `global a[500]`, or use -DMAXSTRINGLEN";
        }
        map("sonde_counts", Array, 4, sizeof(plan::ProbeCounts),
            std::max<uint32_t>(1, static_cast<uint32_t>(state_.plan.probes.size())));
        if (state_.options.filter_target)
            map("sonde_targets", Hash, 4, 1, 16384);
        if (state_.plan.tables & plan::KernelStacks)
            map("sonde_dispatch", Array, 4, sizeof(sonde_dispatch),
                std::max<uint32_t>(1, static_cast<uint32_t>(state_.plan.rows.size())));
        if (state_.plan.tables & plan::looked_up) {
            map("sonde_files", HashOfMaps, 8, 4, 4096);
            map("sonde_mapped", LruHash, sizeof(sonde_mapping), 8, 16384);
            map("sonde_known", LruHash, 8, sizeof(struct sonde_known), 1024);
            zeros(sizeof(struct sonde_known));
        }
        if (state_.plan.has_subjects()) {
            map("sonde_subjects", Hash, 16, 4, static_cast<uint32_t>(2 * state_.plan.rows.size()));
            map("sonde_tasks", Hash, 4, 8, state_.plan.follows_tasks() ? 65536 : 1);
        }
        if (uint32_t counters = static_cast<uint32_t>(state_.plan.counters.size())) {
            // The runtime makes room for each processor.
            map("sonde_counters", PerfEventArray, 4, 4, counters);
            map("sonde_counted", Array, 4, sizeof(sonde_counted), counters);
            map("sonde_counts_of", LruHash, 8, 8, 65536);
        }
        if (state_.options.timing)
            map("sonde_timing", Array, 4, sizeof(plan::ProbeTiming),
                std::max<uint32_t>(1, static_cast<uint32_t>(state_.plan.probes.size())));
        for (const plan::Global& g : state_.plan.globals)
            if (g.in_kernel)
                map(g.map, Hash, g.key_size, g.value_size, static_cast<uint32_t>(g.capacity));
        for (size_t i = 0; i < state_.plan.probes.size(); i++)
            if (!state_.plan.probes[i].entry_map.empty())
                map(state_.plan.probes[i].entry_map, LruHash, 16,
                    entry_offset(*state_.program.handlers[i], state_.program.handlers[i]->entry_values.size()), 65536);
        describe_data();
        di_.finalize();
    }

    // ---- output

    void emit_record(Environment&, uint32_t type, llvm::Value* buffer, llvm::Value* size, bool) override {
        bool control = type >= plan::Exit;
        llvm::Value* ring = map_reference(control ? "sonde_control" : "sonde_events");
        llvm::Value* flags = number(ring_force_wakeup);
        if (!control) {
            // Waking the reader is the most expensive part of a print: only when much waits. The runtime looks every
            // few milliseconds.
            llvm::Value* waiting = helper(ringbuf_query, {ring, number(0)});
            flags = ir_.CreateSelect(ir_.CreateICmpUGE(waiting, number(wake_at_bytes)), number(ring_force_wakeup),
                                     number(ring_no_wakeup));
        }
        if (type == plan::RaiseError)
            count_error();
        llvm::Value* status = helper(ringbuf_output, {ring, buffer, size, flags});
        llvm::BasicBlock *lost = block("lost"), *sent = block("sent");
        ir_.CreateCondBr(ir_.CreateICmpSLT(status, number(0)), lost, sent);
        ir_.SetInsertPoint(lost);
        count(offsetof(plan::ProbeCounts, lost));
        ir_.CreateBr(sent);
        ir_.SetInsertPoint(sent);
    }

    // ---- arrays

    llvm::Value* array_load_long(Environment&, const hir::Global& array, llvm::Value* key) override {
        llvm::Value* result = stack(8);
        ir_.CreateStore(number(0), result);
        with_element(array, key,
                     [&](llvm::Value* element) { ir_.CreateStore(ir_.CreateLoad(i64(), offset(element, 8)), result); });
        return ir_.CreateLoad(i64(), result);
    }
    void array_load_string(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value* slot) override {
        ir_.CreateStore(ir_.getInt8(0), slot);
        with_element(array, key,
                     [&](llvm::Value* element) { routine("sonde_rt_copy", i64(), {slot, offset(element, 8)}); });
    }
    llvm::Value* array_store_long(Environment&, const hir::Global& array, llvm::Value* key,
                                  llvm::Value* value) override {
        return with_created(array, key, [&](llvm::Value* element) { ir_.CreateStore(value, offset(element, 8)); });
    }
    llvm::Value* array_store_string(Environment&, const hir::Global& array, llvm::Value* key,
                                    llvm::Value* slot) override {
        return with_created(array, key, [&](llvm::Value* element) {
            helper(115, {offset(element, 8), number(state_.options.max_string), slot});
        });
    }
    llvm::Value* array_update(Environment&, const hir::Global& array, llvm::Value* key, llvm::AtomicRMWInst::BinOp op,
                              llvm::Value* value, llvm::Value** old_value) override {
        llvm::Value* old = stack(8);
        ir_.CreateStore(number(0), old);
        if (op == llvm::AtomicRMWInst::Sub) {
            op = llvm::AtomicRMWInst::Add;
            value = ir_.CreateNeg(value);
        }
        llvm::Value* status = with_created(array, key, [&](llvm::Value* element) {
            llvm::Value* before =
                ir_.CreateAtomicRMW(op, offset(element, 8), value, llvm::Align(8), llvm::AtomicOrdering::Monotonic);
            if (old_value)
                ir_.CreateStore(before, old);
        });
        if (old_value)
            *old_value = ir_.CreateLoad(i64(), old);
        return status;
    }
    llvm::Value* array_stat_add(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value* value) override {
        return with_created(array, key,
                            [&](llvm::Value* element) { stat_add_(offset(element, 8), array.stats, value); });
    }
    llvm::Value* array_stats(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value*) override {
        // What is not there reads as the empty statistic: zeros.
        uint64_t size = sizeof(plan::StatsBlock) + 8ull * array.stats.buckets();
        llvm::Value* element = helper_pointer(map_lookup_elem, {map_reference(map_name(array)), key});
        llvm::Value* none = zeros(8 + size + 8);
        return offset(ir_.CreateSelect(ir_.CreateIsNull(element), none, element), 8);
    }
    llvm::Value* array_contains(Environment&, const hir::Global& array, llvm::Value* key, uint64_t mask) override {
        if (mask != ~0ull) {
            llvm::Value* scan =
                make_scan("scan", scan_spec(array, mask), scratch("scan state", sizeof(sonde_scan_state)), key);
            return routine("sonde_rt_scan_contains", i64(), {map_reference(map_name(array)), scan});
        }
        llvm::Value* element = helper_pointer(map_lookup_elem, {map_reference(map_name(array)), key});
        // The optimiser would compute with the pointer instead of the truth about it, which the verifier forbids.
        return opaque(ir_.CreateZExt(ir_.CreateIsNotNull(element), i64()));
    }
    void array_delete(Environment&, const hir::Global& array, llvm::Value* key, uint64_t mask, bool all) override {
        if (all || mask != ~0ull) {
            llvm::Value* scan = make_scan("scan", scan_spec(array, all ? 0 : mask), nullptr, key);
            routine("sonde_rt_scan_delete", i64(), {map_reference(map_name(array)), scan});
            return;
        }
        helper(map_delete_elem, {map_reference(map_name(array)), key});
    }

    // ---- foreach: a heap of all elements in memory of its own (codegen/rtlib/scan.h)

    uint64_t scan_bytes(const hir::Foreach& loop) override {
        // Strings are compared up to their end, which the verifier takes to be anywhere within the maximum.
        return sizeof(sonde_scan_state) + heap_bytes(*loop.array) + scan_slots(*loop.array) * entry_bytes(loop) +
               state_.options.max_string;
    }
    llvm::Value* foreach_begin(Environment&, const ForeachSpec& spec) override {
        const hir::Foreach& loop = *spec.loop;
        const hir::Global& array = *loop.array;
        const plan::Global& global = state_.plan.globals[array.index];
        // Loops that follow each other share their memory.
        uint64_t rank = SONDE_RANK_INSERTION, at = 0;
        if (loop.sort_direction != 0 && loop.sort_column == 0 && array.type == hir::ValueType::Stats) {
            rank = SONDE_RANK_STATISTIC + static_cast<uint64_t>(loop.sort_stat);
        } else if (loop.sort_direction != 0) {
            auto column = static_cast<size_t>(loop.sort_column);
            hir::ValueType type = column == 0 ? array.type : array.keys[column - 1];
            rank = type == hir::ValueType::String ? SONDE_RANK_STRING : SONDE_RANK_LONG;
            at = column == 0 ? global.key_size : global.keys[column - 1].offset;
        }
        sonde_scan_spec what = scan_spec(array, spec.slice_mask);
        what.copy_size = payload_bytes(loop);
        what.rank = rank;
        what.at = at;
        what.descending = loop.sort_direction < 0;
        // Loops that follow each other share their memory.
        llvm::Value* scan = make_scan("scan" + std::to_string(scan_depth_++), what, spec.area, spec.slice_key);
        routine("sonde_rt_scan_begin", i64(),
                {map_reference(map_name(array)), scan, spec.limit ? spec.limit : number(INT64_MAX)});
        return scan;
    }
    llvm::Value* foreach_next(Environment&, const ForeachSpec& spec, llvm::Value* iterator, llvm::Value*& key,
                              llvm::Value*& value) override {
        const hir::Global& array = *spec.loop->array;
        llvm::Value* index = routine("sonde_rt_scan_next", i64(), {iterator});
        llvm::Value* more = ir_.CreateICmpSGE(index, number(0));
        // As in scan.bpf.c: a bound that the verifier sees without a comparison.
        index = ir_.CreateAnd(opaque(index), number(static_cast<int64_t>(scan_slots(array) - 1)));
        llvm::Value* at = ir_.CreateMul(index, number(static_cast<int64_t>(entry_bytes(*spec.loop))));
        uint64_t entries = sizeof(sonde_scan_state) + heap_bytes(array) + SONDE_SCAN_ENTRY;
        key = ir_.CreateGEP(ir_.getInt8Ty(), offset(spec.area, entries), at);
        if (value)
            value = offset(key, state_.plan.globals[array.index].key_size);
        return more;
    }
    void foreach_end(Environment&, llvm::Value*) override { scan_depth_--; }

    llvm::Value* unknown_zero(Environment& env) override {
        auto* load = ir_.CreateLoad(i64(), offset(env.data, offsetof(plan::SessionWords, zero)));
        load->setVolatile(true); // another one each time: what is found out about one must not tie another
        return load;
    }
    // may_goto (6.9, bpf: Introduce may_goto instruction) lets the verifier accept a loop that it cannot count;
    // MAXACTION ends it. Without, the loop is marked for loop_callbacks.cc.
    void loop_head(llvm::BasicBlock* limit) override {
        llvm::BasicBlock* go = block("go");
        if (state_.options.may_goto) {
            auto* type = llvm::FunctionType::get(ir_.getVoidTy(), false);
            auto* assembly = llvm::InlineAsm::get(type, "may_goto ${0:l}", "!i", true);
            ir_.CreateCallBr(type, assembly, go, {limit}, {});
        } else {
            auto* type = llvm::FunctionType::get(ir_.getInt1Ty(), false);
            ir_.CreateCondBr(ir_.CreateCall(module_->getOrInsertFunction(loop_mark, type)), limit, go);
        }
        ir_.SetInsertPoint(go);
    }

    // ---- the task, time, registers, memory

    llvm::Value* task_number(Environment& env, const std::string& what) override {
        if (what == "cpu")
            return ir_.CreateAnd(helper(get_smp_processor_id, {}), number(0xffffffff));
        if (what == "random" || what == "jiffies")
            return routine("sonde_rt_" + what, i64(), {});
        // Programs about packets have fewer helpers.
        if (kind_ == plan::ProbeKind::Netfilter)
            return routine("sonde_rt_" + what, i64(), {number(0)});
        llvm::Value* result = stack(8);
        with_task(
            env,
            [&] {
                ir_.CreateStore(what == "pid"   ? ir_.CreateLShr(helper(get_current_pid_tgid, {}), number(32))
                                : what == "tid" ? ir_.CreateAnd(helper(get_current_pid_tgid, {}), number(0xffffffff))
                                : what == "uid" ? ir_.CreateAnd(helper(get_current_uid_gid, {}), number(0xffffffff))
                                : what == "gid" ? ir_.CreateLShr(helper(get_current_uid_gid, {}), number(32))
                                : what == "task_current" ? helper(get_current_task, {})
                                                         : routine("sonde_rt_" + what, i64(), {number(0)}),
                                result);
            },
            [&] {
                ir_.CreateStore(what == "task_current" ? env.task : routine("sonde_rt_" + what, i64(), {env.task}),
                                result);
            });
        return ir_.CreateLoad(i64(), result);
    }
    void execname(Environment& env, llvm::Value* slot) override {
        if (kind_ == plan::ProbeKind::Netfilter) {
            routine("sonde_rt_execname", i64(), {slot, number(0)});
            return;
        }
        with_task(
            env, [&] { helper(get_current_comm, {slot, number(16)}); },
            [&] { routine("sonde_rt_execname", i64(), {slot, env.task}); });
    }
    llvm::Value* clock(Environment& env, const std::string& what) override {
        llvm::Value* now = helper(ktime_get_ns, {});
        if (what != "gettimeofday_ns")
            return now;
        return ir_.CreateAdd(now,
                             ir_.CreateLoad(i64(), offset(env.data, offsetof(plan::SessionWords, realtime_offset_ns))));
    }
    llvm::Value* user_register(Environment& env, int number_) override {
        if (number_ == hir::Register::thread_pointer)
            return routine("sonde_rt_thread_pointer", i64(), {});
        int64_t at = number_ == hir::Register::syscall_number ? regs_orig_ax
                     : number_ == hir::Register::flags        ? flags_offset
                     : number_ == hir::Register::cs           ? regs_cs
                     : number_ == hir::Register::ss           ? regs_ss
                                                              : register_offsets[number_];
        if (registers_are_behind_) {
            llvm::Value* value = scratch("register", 8);
            helper(probe_read_kernel, {value, number(8), ir_.CreateAdd(context_word(env, 0), number(at))});
            return ir_.CreateLoad(i64(), value);
        }
        return context_word(env, static_cast<uint64_t>(at));
    }
    llvm::Value* user_mode(Environment& env) override {
        if (!plan::is_sample(kind_))
            return number(plan::is_uprobe(kind_));
        // What was interrupted: the lowest bits of its code segment are its privilege.
        return ir_.CreateZExt(ir_.CreateICmpEQ(ir_.CreateAnd(context_word(env, regs_cs), number(3)), number(3)), i64());
    }
    llvm::Value* user_address(Environment&) override { return routine("sonde_rt_user_address", i64(), {}); }
    llvm::Value* function_address(Environment& env) override { return helper(get_func_ip, {env.context}); }
    llvm::Value* raise_signal(llvm::Value* signal) override {
        return helper(send_signal_thread, {ir_.CreateTrunc(signal, ir_.getInt32Ty())});
    }
    llvm::Value* load_average(llvm::Value* index) override { return routine("sonde_rt_loadavg", i64(), {index}); }
    llvm::Value* numbered_argument(Environment& env, llvm::Value* number_, llvm::Value*& fault) override {
        llvm::Value* value = scratch("argument", 8);
        ir_.CreateStore(number(0), value);
        fault = helper(get_func_arg, {env.context, ir_.CreateTrunc(number_, ir_.getInt32Ty()), value});
        return ir_.CreateLoad(i64(), value);
    }
    llvm::Value* argument(Environment& env, int number_) override {
        // System V: rdi, rsi, rdx, rcx, r8, r9, then the stack above the return address.
        static constexpr int registers[] = {5, 4, 1, 2, 8, 9};
        bool result = number_ == hir::Argument::result;
        switch (kind_) {
        case plan::ProbeKind::Tracepoint:
            return context_word(env, 8ull * static_cast<unsigned>(number_));
        case plan::ProbeKind::Netfilter:
        case plan::ProbeKind::Lsm: {
            // Read as memory, for the same reason as below; these have no helper for it.
            llvm::Value* value = scratch("argument", 8);
            helper(probe_read_kernel, {value, number(8), offset(env.context, 8ull * static_cast<unsigned>(number_))});
            return ir_.CreateLoad(i64(), value);
        }
        case plan::ProbeKind::Fentry:
        case plan::ProbeKind::Fexit: {
            // By helpers, which the verifier inlines, and not from the context: those would be typed pointers, and
            // numbers are what a script computes with.
            llvm::Value* value = scratch("argument", 8);
            ir_.CreateStore(number(0), value);
            if (result)
                helper(get_func_ret, {env.context, value});
            else
                helper(get_func_arg, {env.context, ir_.getInt32(static_cast<uint32_t>(number_)), value});
            return ir_.CreateLoad(i64(), value);
        }
        default:
            break;
        }
        if (result)
            return user_register(env, 0);
        if (static_cast<size_t>(number_) < std::size(registers))
            return user_register(env, registers[number_]);
        llvm::Value* value = scratch("argument", 8);
        auto above = 8 * (number_ - static_cast<int>(std::size(registers)) + 1);
        helper(probe_read_kernel, {value, number(8), ir_.CreateAdd(user_register(env, 7), number(above))});
        return ir_.CreateLoad(i64(), value);
    }
    llvm::Value* read_memory(Environment& env, llvm::Value* buffer, uint32_t size, llvm::Value* address,
                             bool user) override {
        if (address->getType()->isPointerTy() || !user)
            return helper(probe_read_kernel, {buffer, number(size), address});
        return routine("sonde_rt_read_user", i64(), {buffer, ir_.getInt32(size), address, may_wait(env)});
    }
    llvm::Value* write_memory(Environment&, llvm::Value* buffer, uint32_t size, llvm::Value* address) override {
        return routine("sonde_rt_write_user", i64(), {buffer, ir_.getInt32(size), address});
    }
    llvm::Value* write_block(Environment&, llvm::Value* slot, llvm::Value* size, llvm::Value* address) override {
        return routine("sonde_rt_write_user_block", i64(), {slot, size, address});
    }
    llvm::Value* read_block(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address) override {
        return routine("sonde_rt_read_user_block", i64(), {slot, size, address, may_wait(env)});
    }
    llvm::Value* read_wide(Environment& env, llvm::Value* slot, uint32_t width, llvm::Value* address,
                           bool user) override {
        if (!user)
            return routine("sonde_rt_read_kernel_wide", i64(), {slot, number(width), address});
        return routine("sonde_rt_read_user_wide", i64(), {slot, number(width), address, may_wait(env)});
    }
    llvm::Value* read_string(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address,
                             bool user) override {
        llvm::Value* got = user ? routine("sonde_rt_read_user_string", i64(), {slot, size, address, may_wait(env)})
                                : routine("sonde_rt_read_kernel_string", i64(), {slot, size, address});
        return ir_.CreateZExt(ir_.CreateICmpSLT(got, number(0)), i64());
    }

    void symbol(Environment&, llvm::Value* slot, llvm::Value* address, llvm::Value* style) override {
        routine("sonde_rt_symbol", i64(), {slot, address, style});
    }
    void kernel_symbol(Environment&, llvm::Value* slot, llvm::Value* address, llvm::Value* style) override {
        routine("sonde_rt_kernel_symbol", i64(), {slot, address, style});
    }
    llvm::Value* kernel_function(Environment& env) override {
        llvm::Value* function = helper(get_func_ip, {env.context}); // of a breakpoint elsewhere: 0
        if (kind_ != plan::ProbeKind::Kprobe)
            return function;
        llvm::Value* behind_breakpoint = user_register(env, 16);
        return ir_.CreateSelect(ir_.CreateICmpNE(function, number(0)), function,
                                ir_.CreateSub(behind_breakpoint, number(1)));
    }

    llvm::Value* counter(Environment&, uint32_t index) override {
        return routine("sonde_rt_counter", i64(), {number(index)});
    }
    // Of a process that begins: a fork's child is not the current one, and what ran before the session is stopped by
    // nobody.
    llvm::Value* stop_process(Environment& env) override {
        llvm::Value* result = stack(8);
        ir_.CreateStore(number(0), result);
        llvm::Value* current = ir_.CreateLShr(helper(get_current_pid_tgid, {}), number(32));
        llvm::BasicBlock *same = block("same"), *end = block("endstop");
        ir_.CreateCondBr(ir_.CreateICmpEQ(current, task_number(env, "pid")), same, end);
        ir_.SetInsertPoint(same);
        constexpr uint32_t stop_signal = 19;
        helper(send_signal, {ir_.getInt32(stop_signal)});
        ir_.CreateStore(number(1), result);
        ir_.CreateBr(end);
        ir_.SetInsertPoint(end);
        return ir_.CreateLoad(i64(), result);
    }

    // ---- values from a function's entry, under (thread, address of the return address)

    // Goroutines change threads, and their stacks move when they grow: the return address has a distance from the
    // stack's upper end that stays. R14 is the goroutine's `g`, whose second word is that end.
    llvm::Value* goroutine_key(Environment& env, llvm::Value* place) {
        constexpr int stack_high = 8;
        llvm::Value* goroutine = user_register(env, r14);
        llvm::Value* high = scratch("stack_high", 8);
        ir_.CreateStore(number(0), high);
        read_memory(env, high, 8, ir_.CreateAdd(goroutine, number(stack_high)), true);
        // A stack has at most 1 GB; other processes have goroutines at the same addresses.
        llvm::Value* distance = ir_.CreateAnd(ir_.CreateSub(ir_.CreateLoad(i64(), high), place), number(UINT32_MAX));
        llvm::Value* process = ir_.CreateAnd(helper(get_current_pid_tgid, {}), number(INT64_C(-1) << 32));
        return saved_key(ir_.CreateOr(process, distance), goroutine);
    }

    void save_entry_values(Environment& env, const hir::Handler& handler, llvm::Value* values,
                           llvm::Value* return_address) override {
        const plan::Probe& probe = state_.plan.probes[probe_];
        helper(map_update_elem,
               {map_reference(probe.entry_map), return_address ? saved_key(return_address) : key_at_entry(env, handler),
                values, number(0)});
    }

    llvm::Value* entry_value(Environment&, const hir::Handler& handler, uint32_t index, llvm::Value* slot) override {
        llvm::Value* at = offset(entry_element_, entry_offset(handler, index));
        if (!slot)
            return ir_.CreateLoad(i64(), at);
        routine("sonde_rt_copy", i64(), {slot, at});
        return slot;
    }

    const std::string& unsupported() const { return unsupported_; }
    // Set by the code generator: statistics are lowered by the Lowering.
    std::function<void(llvm::Value*, const plan::StatsNeeds&, llvm::Value*)> stat_add_;
    void set_stat_add(std::function<void(llvm::Value*, const plan::StatsNeeds&, llvm::Value*)> add) override {
        stat_add_ = std::move(add);
    }
    std::string finish() override {
        merge_scratch();
        finish_maps();
        return unsupported_;
    }

  private:
    llvm::GlobalVariable* global(const char* name, llvm::Constant* value) {
        return new llvm::GlobalVariable(*module_, value->getType(), true, llvm::GlobalValue::ExternalLinkage, value,
                                        name);
    }
    llvm::BasicBlock* block(const char* name) {
        return llvm::BasicBlock::Create(*context_, name, ir_.GetInsertBlock()->getParent());
    }

    // The same number, of which the optimiser knows nothing.
    llvm::Value* opaque(llvm::Value* value) {
        auto* type = llvm::FunctionType::get(i64(), {i64()}, false);
        return ir_.CreateCall(type, llvm::InlineAsm::get(type, "", "=r,0", true), {value});
    }

    // Goes on only if the condition holds; otherwise the handler ends.
    void go_if(llvm::Value* condition) {
        llvm::BasicBlock* go = block("go");
        ir_.CreateCondBr(condition, go, out_);
        ir_.SetInsertPoint(go);
    }

    llvm::Value* helper(uint64_t which, std::initializer_list<llvm::Value*> args) {
        return call_helper(which, i64(), args);
    }
    llvm::Value* helper_pointer(uint64_t which, std::initializer_list<llvm::Value*> args) {
        return call_helper(which, ptr(), args);
    }
    llvm::Value* call_helper(uint64_t which, llvm::Type* result, std::initializer_list<llvm::Value*> args) {
        std::vector<llvm::Type*> types;
        for (llvm::Value* arg : args)
            types.push_back(arg->getType());
        auto* type = llvm::FunctionType::get(result, types, false);
        llvm::Value* callee = ir_.CreateIntToPtr(number(static_cast<int64_t>(which)), ir_.getPtrTy());
        return ir_.CreateCall(type, callee, std::vector<llvm::Value*>(args));
    }

    std::string map_name(const hir::Global& array) { return state_.plan.globals[array.index].map; }

    // Referred to before its type is known: defined by finish_maps().
    llvm::Value* map_reference(const std::string& name) {
        if (llvm::GlobalVariable* old = module_->getNamedGlobal(name))
            return old;
        auto* type = llvm::ArrayType::get(ptr(), 4);
        auto* out = new llvm::GlobalVariable(*module_, type, false, llvm::GlobalValue::ExternalLinkage,
                                             llvm::ConstantAggregateZero::get(type), name);
        out->setSection(".maps");
        out->setAlignment(llvm::Align(8));
        return out;
    }

    void map(const std::string& name, uint32_t type, uint64_t key_size, uint64_t value_size, uint32_t entries) {
        auto* variable = llvm::cast<llvm::GlobalVariable>(map_reference(name));
        llvm::DIFile* file = di_file(0);
        if (!unit_)
            unit_ = di_.createCompileUnit(llvm::dwarf::DW_LANG_C11, file, "sonde", true, "", 0);
        auto* integer = di_.createBasicType("int", 32, llvm::dwarf::DW_ATE_signed);
        llvm::SmallVector<llvm::Metadata*, 4> members;
        uint64_t at = 0;
        auto* owner = di_.createStructType(unit_, "", file, 0, 256, 64, llvm::DINode::FlagZero, nullptr,
                                           di_.getOrCreateArray({}));
        auto member = [&](const char* title, uint64_t value) {
            auto* range = di_.getOrCreateSubrange(0, static_cast<int64_t>(value));
            auto* array = di_.createArrayType(value * 32, 32, integer, di_.getOrCreateArray({range}));
            members.push_back(di_.createMemberType(owner, title, file, 0, 64, 64, at, llvm::DINode::FlagZero,
                                                   di_.createPointerType(array, 64)));
            at += 64;
        };
        member("type", type);
        if (type != Ringbuf) {
            member("key_size", key_size);
            member("value_size", value_size);
        }
        member("max_entries", entries);
        auto* structure = di_.createStructType(unit_, "", file, 0, at, 64, llvm::DINode::FlagZero, nullptr,
                                               di_.getOrCreateArray(members));
        variable->addDebugInfo(di_.createGlobalVariableExpression(unit_, name, "", file, 0, structure, false));
    }

    // libbpf makes .bss memory-mappable only if BTF says that it holds a global variable.
    void describe_data() {
        llvm::DIFile* file = di_file(0);
        auto* byte = di_.createBasicType("char", 8, llvm::dwarf::DW_ATE_signed_char);
        auto* range = di_.getOrCreateSubrange(0, static_cast<int64_t>(state_.plan.data_size));
        auto* array = di_.createArrayType(state_.plan.data_size * 8, 8, byte, di_.getOrCreateArray({range}));
        data_->addDebugInfo(di_.createGlobalVariableExpression(unit_, "sonde_data", "", file, 0, array, false));
    }

    llvm::Value* u32_key(uint32_t value) {
        llvm::Value* key = scratch("index", 8);
        ir_.CreateStore(ir_.getInt32(value), key);
        return key;
    }

    void count(size_t field) {
        llvm::Value* row = helper_pointer(map_lookup_elem, {map_reference("sonde_counts"), u32_key(probe_)});
        llvm::BasicBlock *there = block("count"), *end = block("counted");
        ir_.CreateCondBr(ir_.CreateIsNotNull(row), there, end);
        ir_.SetInsertPoint(there);
        ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, offset(row, field), number(1), llvm::Align(8),
                            llvm::AtomicOrdering::Monotonic);
        ir_.CreateBr(end);
        ir_.SetInsertPoint(end);
    }

    // More soft errors than MAXERRORS stop all handlers at once.
    void count_error() {
        llvm::Value* before =
            ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, offset(data_, offsetof(plan::SessionWords, errors)),
                                number(1), llvm::Align(8), llvm::AtomicOrdering::Monotonic);
        llvm::Value* most = ir_.CreateLoad(i64(), offset(data_, offsetof(plan::SessionWords, max_errors)));
        llvm::BasicBlock *stop = block("stop"), *end = block("go");
        ir_.CreateCondBr(ir_.CreateICmpUGE(before, most), stop, end);
        ir_.SetInsertPoint(stop);
        ir_.CreateStore(number(plan::Stopping), data_);
        ir_.CreateBr(end);
        ir_.SetInsertPoint(end);
    }

    // A tracepoint that is about a task other than the one at hand says so by `__about_task(N)`: it is the N'th
    // argument, from 0 on.
    static std::optional<int> task_argument(const hir::Handler& handler) {
        std::optional<int> found;
        for_each_expr(*handler.body, [&](const hir::Expr& expr) {
            if (expr.kind == hir::ExprKind::Intrinsic && hir::as<hir::Intrinsic>(expr).name == "__about_task")
                found = static_cast<int>(hir::as<hir::ConstLong>(*hir::as<hir::Intrinsic>(expr).args[0]).value);
        });
        return found;
    }

    // Begins the handler of an event: only if it is one of that kind. Gives the inode of the task's program.
    llvm::Value* begin_event(plan::ProbeKind kind, Environment& env) {
        using enum plan::ProbeKind;
        if (kind == ProcessEnd || kind == ThreadEnd) {
            llvm::Value* program = routine("sonde_rt_ended", i64(), {context_argument_, number(kind == ThreadEnd)});
            go_if(ir_.CreateICmpNE(program, number(0)));
            return program;
        }
        if (kind == ProcessBegin || kind == ThreadBegin) {
            env.task = routine("sonde_rt_begun", i64(), {context_argument_, number(kind == ThreadBegin)});
            go_if(ir_.CreateICmpNE(env.task, number(0)));
        }
        return routine("sonde_rt_program", i64(), {env.task});
    }

    llvm::Value* first_row(uint32_t probe) {
        const auto& points = state_.plan.probes[probe].points;
        return ir_.getInt32(points.empty() ? 0 : points[0].row);
    }

    // The point that was hit, if it is about this process.
    void find_row(const hir::Handler& handler, uint32_t index, llvm::Value* program, Environment& env) {
        const plan::Probe& probe = state_.plan.probes[index];
        bool event = plan::is_task_event(handler.kind), one = probe.points.size() == 1;
        env.row = first_row(index);
        if (!probe.points.empty() && probe.points[0].number >= 0)
            env.row = find_syscall(env, probe.points);
        else if (!one && !event)
            env.row = ir_.CreateTrunc(helper(get_attach_cookie, {context_argument_}), ir_.getInt32Ty());
        if (!probe.has_subjects())
            return;
        llvm::Value* group =
            event ? number(index)
                  : ir_.CreateOr(ir_.CreateZExt(env.row, i64()),
                                 number(static_cast<int64_t>(plan::Probe::subject_group(handler.kind, index, 0))));
        if (!program)
            program = routine("sonde_rt_program", i64(), {number(0)});
        llvm::Value* found = routine("sonde_rt_subject", i64(), {program, task_number(env, "pid"), group});
        go_if(ir_.CreateICmpSGE(found, number(0)));
        if (!one)
            env.row = ir_.CreateTrunc(found, ir_.getInt32Ty());
    }

    llvm::Value* context_word(Environment& env, uint64_t at) {
        auto* load = ir_.CreateLoad(i64(), offset(env.context, at));
        load->setVolatile(true); // the verifier wants the context's own loads, at constant offsets
        return load;
    }

    // `here` for the current task, `there` for another one.
    template <typename Here, typename There> void with_task(Environment& env, Here here, There there) {
        auto* constant = llvm::dyn_cast<llvm::ConstantInt>(env.task);
        if (constant)
            return here();
        llvm::BasicBlock *current = block("current"), *other = block("other"), *end = block("task");
        ir_.CreateCondBr(ir_.CreateICmpEQ(env.task, number(0)), current, other);
        ir_.SetInsertPoint(current);
        here();
        ir_.CreateBr(end);
        ir_.SetInsertPoint(other);
        there();
        ir_.CreateBr(end);
        ir_.SetInsertPoint(end);
    }

    void filter_target(Environment& env) {
        llvm::Value* tgid = scratch("index", 8);
        ir_.CreateStore(ir_.CreateTrunc(task_number(env, "pid"), ir_.getInt32Ty()), tgid);
        go_if(ir_.CreateIsNotNull(helper_pointer(map_lookup_elem, {map_reference("sonde_targets"), tgid})));
    }

    static uint64_t scan_slots(const hir::Global& array) { return std::bit_ceil(uint64_t{array.capacity}); }
    static uint64_t heap_bytes(const hir::Global& array) { return (scan_slots(array) * 4 + 7) & ~7ull; }
    uint64_t payload_bytes(const hir::Foreach& loop) const {
        bool wanted = loop.value || (loop.sort_direction != 0 && loop.sort_column == 0);
        if (!wanted || loop.array->type == hir::ValueType::Stats)
            return 0;
        return loop.array->type == hir::ValueType::String ? state_.options.max_string : 8;
    }
    uint64_t entry_bytes(const hir::Foreach& loop) const {
        return SONDE_SCAN_ENTRY + state_.plan.globals[loop.array->index].key_size + payload_bytes(loop);
    }
    sonde_scan_spec scan_spec(const hir::Global& array, uint64_t mask) const {
        sonde_scan_spec out{};
        out.mask = mask;
        const plan::Global& global = state_.plan.globals[array.index];
        for (size_t i = 0; i < global.keys.size(); i++)
            out.sizes[i] = global.keys[i].size;
        out.components = array.keys.size();
        out.capacity = array.capacity;
        out.slots = scan_slots(array);
        out.key_size = global.key_size;
        return out;
    }
    llvm::Value* make_scan(const std::string& tag, const sonde_scan_spec& spec, llvm::Value* area, llvm::Value* slice) {
        static_assert(sizeof spec % 8 == 0);
        uint64_t words[sizeof spec / 8];
        std::memcpy(words, &spec, sizeof spec);
        auto* constant = new llvm::GlobalVariable(*module_, llvm::ArrayType::get(i64(), std::size(words)), true,
                                                  llvm::GlobalValue::InternalLinkage,
                                                  llvm::ConstantDataArray::get(*context_, words), "scan_spec");
        constant->setSection(".rodata");
        constant->setAlignment(llvm::Align(8));
        llvm::Value* scan = scratch(tag, sizeof(sonde_scan));
        llvm::Value* null = llvm::ConstantPointerNull::get(ir_.getPtrTy());
        ir_.CreateStore(area ? area : null, offset(scan, offsetof(sonde_scan, area)));
        ir_.CreateStore(slice ? slice : null, offset(scan, offsetof(sonde_scan, slice)));
        ir_.CreateStore(constant, offset(scan, offsetof(sonde_scan, spec)));
        return scan;
    }

    // A slot of a map by compare-and-exchange: handlers are preempted and can sleep, so nothing that belongs to a CPU
    // is safe. Gives what lies behind its busy word.
    llvm::Value* claim(const char* slots, uint32_t count_slots) {
        llvm::BasicBlock* claimed = block("claimed");
        auto saved = ir_.saveIP();
        ir_.SetInsertPoint(claimed);
        llvm::PHINode* slot = ir_.CreatePHI(ptr(), claim_tries);
        ir_.restoreIP(saved);
        llvm::Value* key = scratch("index", 8);
        llvm::Value* first = ir_.CreateMul(ir_.CreateTrunc(helper(get_smp_processor_id, {}), ir_.getInt32Ty()),
                                           ir_.getInt32(claim_tries));
        for (uint32_t i = 0; i < claim_tries; i++) {
            llvm::Value* index = ir_.CreateURem(ir_.CreateAdd(first, ir_.getInt32(i)), ir_.getInt32(count_slots));
            ir_.CreateStore(index, key);
            llvm::Value* element = helper_pointer(map_lookup_elem, {map_reference(slots), key});
            llvm::BasicBlock *there = block("slot"), *next = block("nextslot");
            ir_.CreateCondBr(ir_.CreateIsNotNull(element), there, next);
            ir_.SetInsertPoint(there);
            auto* exchange = ir_.CreateAtomicCmpXchg(element, number(0), number(1), llvm::Align(8),
                                                     llvm::AtomicOrdering::SequentiallyConsistent,
                                                     llvm::AtomicOrdering::SequentiallyConsistent);
            llvm::Value* free = ir_.CreateICmpEQ(ir_.CreateExtractValue(exchange, 0), number(0));
            ir_.CreateCondBr(free, claimed, next);
            slot->addIncoming(element, there);
            ir_.SetInsertPoint(next);
        }
        skip(offsetof(plan::ProbeCounts, skipped));
        ir_.SetInsertPoint(claimed);
        claimed_.push_back(slot);
        return offset(slot, 8);
    }
    // The handler cannot run this time.
    void skip(size_t field) {
        count(field);
        ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, offset(data_, offsetof(plan::SessionWords, skipped)), number(1),
                            llvm::Align(8), llvm::AtomicOrdering::Monotonic);
        release();
        ir_.CreateBr(out_);
    }
    void take_lock(llvm::Value* word) {
        llvm::BasicBlock *busy = block("busy"), *got = block("locked");
        ir_.CreateCondBr(ir_.CreateICmpNE(routine("sonde_rt_lock", i64(), {word}), number(0)), got, busy);
        ir_.SetInsertPoint(busy);
        skip(offsetof(plan::ProbeCounts, waited));
        ir_.SetInsertPoint(got);
        claimed_.push_back(word);
    }
    // Gives back what is claimed, the last first: everything written there is done.
    void release() {
        for (size_t i = claimed_.size(); i-- > 0;)
            ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, claimed_[i], number(0), llvm::Align(8),
                                llvm::AtomicOrdering::SequentiallyConsistent);
    }

    template <typename Body> void with_element(const hir::Global& array, llvm::Value* key, Body body) {
        llvm::Value* element = helper_pointer(map_lookup_elem, {map_reference(map_name(array)), key});
        llvm::BasicBlock *there = block("element"), *end = block("endelement");
        ir_.CreateCondBr(ir_.CreateIsNotNull(element), there, end);
        ir_.SetInsertPoint(there);
        body(element);
        ir_.CreateBr(end);
        ir_.SetInsertPoint(end);
    }

    // Looks up, creates what is missing, and runs `body` on the element. Creation inserts zeros only if nobody was
    // faster, and whoever finds no insertion number gives one: no update can be lost in between. In an array that wraps
    // the oldest element makes room. Status 1: the array is full.
    template <typename Body> llvm::Value* with_created(const hir::Global& array, llvm::Value* key, Body body) {
        const plan::Global& global = state_.plan.globals[array.index];
        llvm::Value* map = map_reference(global.map);
        llvm::Value* status = stack(8);
        ir_.CreateStore(number(0), status);
        llvm::Value* element = helper_pointer(map_lookup_elem, {map, key});
        llvm::BasicBlock *missing = block("missing"), *numbering = block("numbering"), *have = block("have"),
                         *full = block("full"), *end = block("endelement");
        ir_.CreateCondBr(ir_.CreateIsNull(element), missing, have);
        ir_.SetInsertPoint(missing);
        helper(map_update_elem, {map, key, zeros(global.value_size), number(1 /* BPF_NOEXIST */)});
        llvm::Value* again = helper_pointer(map_lookup_elem, {map, key});
        llvm::BasicBlock* inserted = ir_.GetInsertBlock();
        llvm::BasicBlock* no_room = array.wrap ? block("wrap") : full;
        ir_.CreateCondBr(ir_.CreateIsNull(again), no_room, numbering);
        llvm::Value* wrapped = nullptr;
        llvm::BasicBlock* made_room = nullptr;
        if (array.wrap) {
            ir_.SetInsertPoint(no_room);
            routine("sonde_rt_insert_wrapped", i64(), {map, key});
            wrapped = helper_pointer(map_lookup_elem, {map, key});
            made_room = ir_.GetInsertBlock();
            ir_.CreateCondBr(ir_.CreateIsNull(wrapped), full, numbering);
        }
        ir_.SetInsertPoint(numbering);
        llvm::PHINode* created = ir_.CreatePHI(ptr(), 2);
        created->addIncoming(again, inserted);
        if (wrapped)
            created->addIncoming(wrapped, made_room);
        llvm::Value* insertion =
            ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, offset(data_, offsetof(plan::SessionWords, insertion)),
                                number(1), llvm::Align(8), llvm::AtomicOrdering::Monotonic);
        ir_.CreateAtomicCmpXchg(created, number(0), ir_.CreateAdd(insertion, number(1)), llvm::Align(8),
                                llvm::AtomicOrdering::SequentiallyConsistent,
                                llvm::AtomicOrdering::SequentiallyConsistent);
        ir_.CreateBr(have);
        ir_.SetInsertPoint(have);
        llvm::PHINode* value = ir_.CreatePHI(ptr(), 2);
        value->addIncoming(element, missing->getSinglePredecessor());
        value->addIncoming(created, numbering);
        body(value);
        ir_.CreateBr(end);
        ir_.SetInsertPoint(full);
        ir_.CreateStore(number(1), status);
        ir_.CreateBr(end);
        ir_.SetInsertPoint(end);
        return ir_.CreateLoad(i64(), status);
    }

    // Where a table by the calls' numbers has a call's row, and 1 added; 0: it is none of these.
    llvm::Value* syscall_cell(llvm::Value* called, const std::vector<plan::Point>& points) {
        // Up to 32 bytes it would be a constant to be merged, which LLVM puts into another section of that name.
        uint64_t most = 15;
        for (const plan::Point& point : points)
            most = std::max(most, static_cast<uint64_t>(point.number));
        std::vector<uint32_t> rows(std::bit_ceil(most + 1));
        for (const plan::Point& point : points)
            rows[static_cast<size_t>(point.number)] = point.row + 1;
        go_if(ir_.CreateICmpULT(called, number(static_cast<int64_t>(rows.size()))));
        auto* table = new llvm::GlobalVariable(
            *module_, llvm::ArrayType::get(ir_.getInt32Ty(), rows.size()), true, llvm::GlobalValue::InternalLinkage,
            llvm::ConstantDataArray::get(*context_, llvm::ArrayRef<uint32_t>(rows)), "syscall_rows");
        table->setSection(".rodata");
        table->setAlignment(llvm::Align(8));
        // The verifier does not remember the comparison with each copy of the number.
        llvm::Value* safe = ir_.CreateAnd(opaque(called), number(static_cast<int64_t>(rows.size() - 1)));
        return ir_.CreateGEP(ir_.getInt32Ty(), table, safe);
    }

    // Which of these system calls it is, as its row; the handler ends at any other. Those of 32-bit programs have
    // numbers of their own.
    llvm::Value* find_syscall(Environment& env, const std::vector<plan::Point>& points) {
        llvm::Value* regs = argument(env, 0);
        auto field = [&](int64_t at) {
            llvm::Value* value = scratch("load", 8);
            ir_.CreateStore(number(0), value);
            helper(probe_read_kernel, {value, number(8), ir_.CreateAdd(regs, number(at))});
            return ir_.CreateLoad(i64(), value);
        };
        bool enters = points[0].symbol == "sys_enter" || saves_entry_;
        llvm::Value* called = enters ? argument(env, 1) : field(regs_orig_ax);
        llvm::Value* row = nullptr;
        if (points.size() == 1) {
            go_if(ir_.CreateICmpEQ(called, number(points[0].number)));
            row = ir_.getInt32(points[0].row);
        } else {
            llvm::Value* found = ir_.CreateLoad(ir_.getInt32Ty(), syscall_cell(called, points));
            go_if(ir_.CreateICmpNE(found, ir_.getInt32(0)));
            row = ir_.CreateSub(found, ir_.getInt32(1));
        }
        go_if(ir_.CreateICmpEQ(ir_.CreateAnd(field(regs_cs), number(0xffff)), number(user_cs)));
        return row;
    }

    // What the program gives back, within bounds that the verifier sees: 0 or 1, or -4095 to 0.
    llvm::Value* decision(llvm::Value* value) {
        if (kind_ == plan::ProbeKind::Netfilter)
            return ir_.CreateTrunc(ir_.CreateAnd(value, number(1)), ir_.getInt32Ty());
        llvm::Value* magnitude = ir_.CreateAnd(opaque(ir_.CreateNeg(value)), number(4095));
        return ir_.CreateTrunc(ir_.CreateSub(opaque(number(0)), magnitude), ir_.getInt32Ty());
    }

    // Whether a read may wait for its page; functions are told by their callers.
    llvm::Value* may_wait(Environment& env) {
        sleeps_ = sleeps_ || (plan::is_uprobe(kind_) && !counts_);
        return env.can_wait;
    }

    // Which kind of program libbpf makes of it; several may be in one section. `entry`: of a function's return, what
    // saves values at its entry.
    const char* section(bool entry) const {
        switch (kind_) {
        case plan::ProbeKind::Uprobe:
        case plan::ProbeKind::Uretprobe:
            return "uprobe";
        case plan::ProbeKind::Kprobe:
        case plan::ProbeKind::Kretprobe:
            return "kprobe";
        case plan::ProbeKind::Profile:
        case plan::ProbeKind::Perf:
        case plan::ProbeKind::Watch:
            return "perf_event";
        case plan::ProbeKind::Netfilter:
            return "netfilter";
        case plan::ProbeKind::Lsm:
            return "lsm";
        case plan::ProbeKind::Fentry:
            return "fentry";
        case plan::ProbeKind::Fexit:
            return entry ? "fentry" : "fexit";
        default:
            return "raw_tracepoint";
        }
    }

    // What tells a call from all others of its thread, or of its goroutine, the same at its entry and at its return.
    llvm::Value* key_at_entry(Environment& env, const hir::Handler& handler) {
        // The arguments' place on the stack.
        if (kind_ == plan::ProbeKind::Fexit)
            return saved_key(ir_.CreatePtrToInt(env.context, i64()));
        // A thread is in one system call.
        if (kind_ == plan::ProbeKind::Tracepoint)
            return saved_key(number(0));
        if (handler.is_go_return) // behind the check of the stack, where it is still on top
            return goroutine_key(env, user_register(env, rsp));
        // At the very entry the return address is on top of the stack; behind `push %rbp; mov %rsp,%rbp` it is above
        // the frame pointer.
        bool at_entry = handler.points.empty() || handler.points[0].entry_offset == handler.points[0].offset;
        return saved_key(at_entry ? user_register(env, rsp) : ir_.CreateAdd(user_register(env, rbp), number(8)));
    }
    llvm::Value* key_at_return(Environment& env, const hir::Handler& handler) {
        if (kind_ == plan::ProbeKind::Tracepoint)
            return saved_key(number(0));
        if (kind_ == plan::ProbeKind::Fexit)
            return saved_key(ir_.CreatePtrToInt(env.context, i64()));
        // The return has popped the return address, but not yet where the probe is at the return instruction.
        llvm::Value* place = user_register(env, rsp);
        return handler.is_go_return ? goroutine_key(env, place) : saved_key(ir_.CreateSub(place, number(8)));
    }

    // `owner`: by default the thread.
    llvm::Value* saved_key(llvm::Value* place, llvm::Value* owner = nullptr) {
        llvm::Value* key = scratch("saved", 16);
        ir_.CreateStore(owner ? owner : helper(get_current_pid_tgid, {}), key);
        ir_.CreateStore(place, offset(key, 8));
        return key;
    }

    void record_time() {
        llvm::Value* spent = ir_.CreateSub(helper(ktime_get_ns, {}), started_);
        llvm::Value* row = helper_pointer(map_lookup_elem, {map_reference("sonde_timing"), u32_key(probe_)});
        llvm::BasicBlock *there = block("time"), *end = block("timed");
        ir_.CreateCondBr(ir_.CreateIsNotNull(row), there, end);
        ir_.SetInsertPoint(there);
        auto add = [&](size_t field, llvm::Value* value) {
            ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, offset(row, field), value, llvm::Align(8),
                                llvm::AtomicOrdering::Monotonic);
        };
        add(offsetof(plan::ProbeTiming, hits), number(1));
        add(offsetof(plan::ProbeTiming, total_ns), spent);
        // Extremes may miss a simultaneous one; they are a report, not a result.
        for (auto [field, value] : {std::pair(offsetof(plan::ProbeTiming, min_biased_ns), ir_.CreateNot(spent)),
                                    std::pair(offsetof(plan::ProbeTiming, max_ns), spent)}) {
            llvm::Value* old = ir_.CreateLoad(i64(), offset(row, field));
            ir_.CreateStore(ir_.CreateSelect(ir_.CreateICmpUGT(value, old), value, old), offset(row, field));
        }
        ir_.CreateBr(end);
        ir_.SetInsertPoint(end);
    }

    llvm::GlobalVariable* data_ = nullptr;
    llvm::Value* context_argument_ = nullptr;
    llvm::Value* entry_element_ = nullptr; // what the function's entry has saved
    llvm::BasicBlock* out_ = nullptr;
    std::vector<llvm::Value*> claimed_; // busy words, the lock's too
    llvm::Value* started_ = nullptr;
    bool timed_ = false;
    uint32_t scan_depth_ = 0;
    bool frames_ = false, scans_ = false;
    bool registers_are_behind_ = false; // the context's first word points to them
    bool counts_ = false;               // the handler that is being lowered looks at counters
    bool saves_entry_ = false;          // the handler's program for the entry is being lowered
    bool sleeps_ = false;               // user memory is read: its pages may have to be waited for
    uint32_t probe_ = 0;
    plan::ProbeKind kind_ = plan::ProbeKind::Begin; // of the handler that is being lowered
    uint64_t frame_bytes_ = 0, scan_bytes_ = 0;
    std::string unsupported_;
};

} // namespace

std::unique_ptr<Target> make_bpf_target(PlanState& state) { return std::make_unique<BpfTarget>(state); }

} // namespace sonde
