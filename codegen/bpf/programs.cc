// Handlers in the kernel: their programs from beginning to end, what these claim, and the maps.
//
// Maps are declared to libbpf by debug types: a member `int (*name)[N]` says name = N. Lines of the script go along.
#include "codegen/bpf/target_bpf.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/InlineAsm.h>

#include "codegen/bpf/loop_callbacks.h"
#include "codegen/rtlib/counters.h"
#include "codegen/rtlib/pt_regs.h"
#include "runtime/attach/watch_events.h"
#include "runtime/attach/watched_programs.h"
#include "runtime/batch.h"
#include "runtime/symbols/stack.h"
#include "runtime/wrap.h"

namespace sonde {
namespace {

constexpr uint64_t ring_no_wakeup = 1, ring_force_wakeup = 2, wake_at_bytes = 64 << 10;
constexpr uint32_t smallest_ring = 4096; // a page
constexpr uint64_t few_errors = 16;      // whose messages wait together at most
constexpr uint32_t frames_of_all = 32, scans_of_all = 8, claim_tries = 8;
constexpr uint64_t largest_element = 4 << 20; // of an array map before 6.7
constexpr uint64_t largest_walk = 256 << 20;  // half of what the verifier takes as an offset (BPF_MAX_VAR_OFF)
constexpr uint64_t walks_of_all = 64 << 20;   // bytes: memory that is always taken

} // namespace

BpfTarget::BpfTarget(Emitter& emitter) : Target(emitter) {
    e_.module().setTargetTriple("bpfel");
    e_.module().addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    e_.module().addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
    auto* license = global("_license", llvm::ConstantDataArray::getString(e_.getContext(), "GPL", true));
    license->setSection("license");
    data_ = new llvm::GlobalVariable(e_.module(), llvm::ArrayType::get(e_.getInt8Ty(), state_.plan.data_size), false,
                                     llvm::GlobalValue::ExternalLinkage, nullptr, "sonde_data");
    data_->setInitializer(llvm::ConstantAggregateZero::get(data_->getValueType()));
    data_->setAlignment(llvm::Align(8));
}

llvm::Function* BpfTarget::begin_handler(const hir::Handler& handler, const std::string& symbol, uint32_t probe,
                                         Needs needs, Environment& env) {
    auto* type = llvm::FunctionType::get(e_.getInt32Ty(), {e_.ptr()}, false);
    kind_ = handler.kind;
    saves_entry_ = symbol != state_.plan.probes[probe].symbol;
    bool event = plan::is_task_event(kind_);
    auto* function = legs_.wanted ? begin_leg(symbol)
                                  : llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, e_.module());
    if (!legs_.wanted)
        function->setSection(section(saves_entry_));
    e_.SetInsertPoint(llvm::BasicBlock::Create(e_.getContext(), "entry", function));
    e_.lines().describe(function, handler.range);
    if (legs_.wanted && saves_entry_) {
        refused_ = e_.stack(8);
        e_.CreateStore(e_.number(1), refused_);
    }
    context_argument_ = function->getArg(0);
    env.context = context_argument_;
    env.data = data_;
    out_ = llvm::BasicBlock::Create(e_.getContext(), "out", function);
    claimed_.clear();
    probe_ = probe;
    timed_ = plan::is_event(kind_) && state_.options.timing;
    env.task = e_.number(0);
    // Programs that wait may not look at counters.
    counts_ = needs.counter;
    env.can_wait = e_.number(plan::is_uprobe(kind_) && !counts_);
    if (plan::is_event(kind_)) {
        llvm::Value* running = e_.CreateICmpEQ(e_.CreateLoad(e_.i64(), data_), e_.number(plan::Running));
        go_if(running);
        llvm::Value* program = event ? begin_event(handler.kind, env) : nullptr;
        if (std::optional<int> task = task_argument(handler))
            env.task = argument(env, *task);
        if (plan::traits(kind_).task_argument >= 0) // 0 after the last one
            go_if(e_.CreateICmpNE(env.task, e_.number(0)));
        // A packet is about no process.
        bool let_in = legs_.wanted && !saves_entry_; // by its entry
        if (state_.options.filter_target && !plan::is_about_no_task(kind_) && !let_in)
            filter_target(env);
        find_row(handler, probe, program, env);
    } else {
        env.row = first_row(probe);
    }
    if (timed_)
        find_timing(env);
    if (timed_ && !saves_entry_)
        started_ = helper(ktime_get_ns, {});
    entry_element_ = nullptr;
    if (handler.checks_stack && (saves_entry_ || !plan::traits(handler.kind).at_return)) {
        // "Below or equal" would jump away, and come back to the function's beginning.
        llvm::Value* flags = context_word(env, SONDE_REGS_FLAGS);
        go_if(e_.CreateICmpEQ(e_.CreateAnd(flags, e_.number(SONDE_CARRY_FLAG | SONDE_ZERO_FLAG)), e_.number(0)));
    }
    if (legs_.in_record && !saves_entry_) {
        entry_element_ = helper_pointer(plan::call_session_cookie, {context_argument_});
    } else if (!state_.plan.probes[probe].entry_map.empty() && !saves_entry_) {
        // A call that began before the session has nothing saved, and is none of its business.
        entry_element_ = helper_pointer(
            map_lookup_elem, {map_reference(state_.plan.probes[probe].entry_map), key_at_return(env, handler)});
        go_if_saved(entry_element_);
    }
    if (plan::is_event(kind_))
        count_hit(env);
    if (needs.scan) {
        scans_ = true;
        env.scan = claim("sonde_scans", scans_of_all);
    }
    if (needs.frame) {
        frames_ = true;
        env.frame = claim("sonde_frames", frames_of_all);
    }
    if (uint64_t lock = state_.plan.probes[probe].lock; lock && symbol == state_.plan.probes[probe].symbol)
        take_lock(e_.offset(env.data, lock));
    return function;
}

void BpfTarget::end_handler(Environment& env) {
    release();
    if (timed_)
        record_outcome(env);
    if (plan::decides(kind_))
        e_.CreateRet(decision(e_.CreateLoad(e_.i64(), decision_place(e_, env))));
    else
        e_.CreateBr(out_);
    e_.SetInsertPoint(out_);
    if (legs_.wanted && saves_entry_)
        e_.CreateRet(e_.CreateTrunc(e_.CreateLoad(e_.i64(), refused_), e_.getInt32Ty()));
    else
        e_.CreateRet(e_.getInt32(plan::traits(kind_).decision == plan::Decision::Verdict));
    // Functions are lowered between begin and end, and are inlined: what they read counts for every handler after.
    llvm::Function* function = out_->getParent();
    if (sleeps_ && !counts_ && function->getSection() == "uprobe")
        function->setSection("uprobe.s");
}

uint64_t BpfTarget::largest_walks() const {
    return state_.options.may_goto ? largest_walk : largest_element; // may_goto: 6.9
}

// Fewer where they are large: a claim finds those that there are.
uint32_t BpfTarget::count_scans() const {
    return static_cast<uint32_t>(std::clamp<uint64_t>(walks_of_all / (8 + scan_bytes_), 1, scans_of_all));
}

void BpfTarget::finish_maps() {
    // What finds mappings tells the runtime of them.
    const bool sends = sends_ || state_.plan.tables != 0;
    map("sonde_events", Ringbuf, 0, 0, sends ? static_cast<uint32_t>(state_.options.ring_bytes) : smallest_ring);
    map("sonde_control", Ringbuf, 0, 0, state_.options.max_errors > few_errors ? 256 << 10 : 64 << 10);
    if (frames_)
        map("sonde_frames", Array, 4, 8 + frame_bytes_ + e_.slot_size(), frames_of_all);
    if (scans_) {
        map("sonde_scans", Array, 4, 8 + scan_bytes_, count_scans());
        if (scan_bytes_ > largest_walks())
            unsupported_ = fmt::format(
                "a foreach in the kernel sorts all elements, and on this kernel these arrays have too many for that "
                "({} "
                "MB of {}): declare a capacity, as in `global a[50000]`, walk in `end` or a timer's probe, or use "
                "-DMAXNESTING for functions that call themselves",
                scan_bytes_ >> 20, largest_walks() >> 20);
    }
    map("sonde_counts", Array, 4, sizeof(plan::ProbeCounts),
        std::max<uint32_t>(1, static_cast<uint32_t>(state_.plan.probes.size())));
    if (counts_stacks_)
        map("sonde_no_stacks", Array, 4, sizeof(sonde_no_stacks), static_cast<uint32_t>(state_.plan.probes.size()));
    if (state_.options.filter_target)
        map("sonde_targets", Array, 4, 8, plan::most_processes / 64);
    if (state_.plan.tables & plan::KernelStacks)
        map("sonde_dispatch", Array, 4, sizeof(sonde_dispatch),
            std::max<uint32_t>(1, static_cast<uint32_t>(state_.plan.rows.size())));
    if (state_.plan.tables & plan::looked_up) {
        map("sonde_files", HashOfMaps, 8, 4, 4096);
        map("sonde_mapped", LruHash, sizeof(sonde_mapping), 8, 16384);
        map("sonde_known", LruHash, 8, sizeof(struct sonde_known), 1024);
        e_.zeros(sizeof(struct sonde_known));
    }
    if (state_.plan.has_subjects()) {
        map("sonde_subjects", Hash, 16, 4, static_cast<uint32_t>(2 * state_.plan.rows.size()));
        map("sonde_tasks", Hash, 4, 8, state_.plan.follows_tasks() ? 65536 : 1);
    }
    if (watches_programs(state_.plan)) {
        constexpr uint32_t families = 8192, members = 16384;
        map("sonde_watches", Ringbuf, 0, 0, 64 << 10);
        map("sonde_watched", Hash, 4, 8, members);
        map("sonde_families", Hash, 8, sizeof(sonde_family), families);
    }
    if (uint32_t counters = static_cast<uint32_t>(state_.plan.counters.size())) {
        // The runtime makes room for each processor.
        map("sonde_counters", PerfEventArray, 4, 4, counters);
        map("sonde_counted", Array, 4, sizeof(sonde_counted), counters);
        map("sonde_counts_of", LruHash, 8, 8, 65536);
    }
    if (state_.options.timing)
        map("sonde_timing", Array, 4, sizeof(plan::ProbeTiming),
            std::max<uint32_t>(1, static_cast<uint32_t>(state_.plan.rows.size())));
    for (const plan::Global& g : state_.plan.globals)
        if (g.in_kernel) {
            map(g.map, Hash, g.key_size, g.value_size, static_cast<uint32_t>(g.capacity));
            if (g.wrap)
                map(g.map + SONDE_WRAP_ORDER, Array, 4, 8 + ((g.key_size + 7ull) & ~7ull),
                    sonde_wrap_places(g.capacity));
        }
    for (size_t i = 0; i < state_.plan.probes.size(); i++)
        if (!state_.plan.probes[i].entry_map.empty())
            map(state_.plan.probes[i].entry_map, LruHash, 16,
                state_.entry_offset(*state_.program.handlers[i], state_.program.handlers[i]->entry_values.size()),
                65536);
    describe_data();
    e_.lines().builder().finalize();
}

uint64_t BpfTarget::batch_bytes() const { return sizeof(sonde_batch); }

void BpfTarget::begin_batch(Environment& env) {
    e_.CreateStore(env.batch, e_.offset(env.batch, offsetof(sonde_batch, id)));
    for (size_t field : {offsetof(sonde_batch, used), offsetof(sonde_batch, sent), offsetof(sonde_batch, lost)})
        e_.CreateStore(e_.number(0), e_.offset(env.batch, field));
}

void BpfTarget::send_batch(Environment& env) {
    llvm::Value* lost = e_.routine("sonde_rt_send_records", e_.i64(), {env.batch});
    lose_if(env, e_.CreateICmpNE(lost, e_.number(0)));
}

void BpfTarget::emit_record(Environment& env, uint32_t type, llvm::Value* buffer, llvm::Value* size, bool) {
    bool control = type >= plan::Exit;
    sends_ = sends_ || !control;
    if (env.batch && !control) {
        e_.CreateStore(buffer, e_.offset(env.batch, offsetof(sonde_batch, record)));
        e_.routine("sonde_rt_add_record", e_.i64(), {env.batch, size});
        return;
    }
    llvm::Value* ring = map_reference(control ? "sonde_control" : "sonde_events");
    llvm::Value* flags = e_.number(ring_force_wakeup);
    if (!control) {
        // Waking the reader is the most expensive part of a print: only when much waits. The runtime looks every
        // few milliseconds.
        llvm::Value* waiting = helper(ringbuf_query, {ring, e_.number(0)});
        flags = e_.CreateSelect(e_.CreateICmpUGE(waiting, e_.number(wake_at_bytes)), e_.number(ring_force_wakeup),
                                e_.number(ring_no_wakeup));
    }
    llvm::BasicBlock* told = e_.block("told");
    if (type == plan::RaiseError)
        count_error(env, told);
    llvm::Value* status = helper(ringbuf_output, {ring, buffer, size, flags});
    if (type != plan::RaiseError) // it is counted in any case
        lose_if(env, e_.CreateICmpSLT(status, e_.number(0)));
    e_.CreateBr(told);
    e_.SetInsertPoint(told);
}

llvm::Value* BpfTarget::unknown_zero(Environment& env) {
    auto* load = e_.CreateLoad(e_.i64(), e_.offset(env.data, offsetof(plan::SessionWords, zero)));
    load->setVolatile(true); // another one each time: what is found out about one must not tie another
    return load;
}

void BpfTarget::loop_head(llvm::BasicBlock* limit) {
    llvm::BasicBlock* go = e_.block("go");
    if (state_.options.may_goto) {
        auto* type = llvm::FunctionType::get(e_.getVoidTy(), false);
        auto* assembly = llvm::InlineAsm::get(type, "may_goto ${0:l}", "!i", true);
        e_.CreateCallBr(type, assembly, go, {limit}, {});
    } else {
        auto* type = llvm::FunctionType::get(e_.getInt1Ty(), false);
        e_.CreateCondBr(e_.CreateCall(e_.module().getOrInsertFunction(loop_mark, type)), limit, go);
    }
    e_.SetInsertPoint(go);
}

std::string BpfTarget::finish() {
    e_.merge_scratch();
    finish_maps();
    return unsupported_;
}

llvm::GlobalVariable* BpfTarget::global(const char* name, llvm::Constant* value) {
    return new llvm::GlobalVariable(e_.module(), value->getType(), true, llvm::GlobalValue::ExternalLinkage, value,
                                    name);
}

void BpfTarget::go_if(llvm::Value* condition) {
    llvm::BasicBlock* go = e_.block("go");
    e_.CreateCondBr(condition, go, out_);
    e_.SetInsertPoint(go);
}

llvm::Value* BpfTarget::call_helper(uint64_t which, llvm::Type* result, std::initializer_list<llvm::Value*> args) {
    std::vector<llvm::Type*> types;
    for (llvm::Value* arg : args)
        types.push_back(arg->getType());
    auto* type = llvm::FunctionType::get(result, types, false);
    llvm::Value* callee = e_.CreateIntToPtr(e_.number(static_cast<int64_t>(which)), e_.getPtrTy());
    return e_.CreateCall(type, callee, std::vector<llvm::Value*>(args));
}

llvm::Value* BpfTarget::map_reference(const std::string& name) {
    if (llvm::GlobalVariable* old = e_.module().getNamedGlobal(name))
        return old;
    auto* type = llvm::ArrayType::get(e_.ptr(), 4);
    auto* out = new llvm::GlobalVariable(e_.module(), type, false, llvm::GlobalValue::ExternalLinkage,
                                         llvm::ConstantAggregateZero::get(type), name);
    out->setSection(".maps");
    out->setAlignment(llvm::Align(8));
    return out;
}

void BpfTarget::map(const std::string& name, uint32_t type, uint64_t key_size, uint64_t value_size, uint32_t entries) {
    auto* variable = llvm::cast<llvm::GlobalVariable>(map_reference(name));
    llvm::DIBuilder& di = e_.lines().builder();
    llvm::DIFile* file = e_.lines().file(0);
    llvm::DICompileUnit* unit = e_.lines().unit(0);
    auto* integer = di.createBasicType("int", 32, llvm::dwarf::DW_ATE_signed);
    llvm::SmallVector<llvm::Metadata*, 4> members;
    uint64_t at = 0;
    auto* owner =
        di.createStructType(unit, "", file, 0, 256, 64, llvm::DINode::FlagZero, nullptr, di.getOrCreateArray({}));
    auto member = [&](const char* title, uint64_t value) {
        auto* range = di.getOrCreateSubrange(0, static_cast<int64_t>(value));
        auto* array = di.createArrayType(value * 32, 32, integer, di.getOrCreateArray({range}));
        members.push_back(di.createMemberType(owner, title, file, 0, 64, 64, at, llvm::DINode::FlagZero,
                                              di.createPointerType(array, 64)));
        at += 64;
    };
    member("type", type);
    if (type != Ringbuf) {
        member("key_size", key_size);
        member("value_size", value_size);
    }
    member("max_entries", entries);
    auto* structure =
        di.createStructType(unit, "", file, 0, at, 64, llvm::DINode::FlagZero, nullptr, di.getOrCreateArray(members));
    variable->addDebugInfo(di.createGlobalVariableExpression(unit, name, "", file, 0, structure, false));
}

void BpfTarget::describe_data() {
    llvm::DIBuilder& di = e_.lines().builder();
    llvm::DIFile* file = e_.lines().file(0);
    auto* byte = di.createBasicType("char", 8, llvm::dwarf::DW_ATE_signed_char);
    auto* range = di.getOrCreateSubrange(0, static_cast<int64_t>(state_.plan.data_size));
    auto* array = di.createArrayType(state_.plan.data_size * 8, 8, byte, di.getOrCreateArray({range}));
    data_->addDebugInfo(di.createGlobalVariableExpression(e_.lines().unit(0), "sonde_data", "", file, 0, array, false));
}

// A constant of the module, and not on the stack: what was left there would make two of the verifier's states differ.
llvm::Value* BpfTarget::u32_key(uint32_t value) {
    return e_.literal(std::string(reinterpret_cast<const char*>(&value), sizeof value));
}

llvm::Value* BpfTarget::first_row(uint32_t probe) {
    const auto& points = state_.plan.probes[probe].points;
    return e_.getInt32(points.empty() ? 0 : points[0].row);
}

llvm::Value* BpfTarget::claim(const char* slots, uint32_t count_slots) {
    llvm::BasicBlock* claimed = e_.block("claimed");
    auto saved = e_.saveIP();
    e_.SetInsertPoint(claimed);
    llvm::PHINode* slot = e_.CreatePHI(e_.ptr(), claim_tries);
    e_.restoreIP(saved);
    llvm::Value* key = e_.scratch("index", 8);
    llvm::Value* first =
        e_.CreateMul(e_.CreateTrunc(helper(get_smp_processor_id, {}), e_.getInt32Ty()), e_.getInt32(claim_tries));
    for (uint32_t i = 0; i < claim_tries; i++) {
        llvm::Value* index = e_.CreateURem(e_.CreateAdd(first, e_.getInt32(i)), e_.getInt32(count_slots));
        e_.CreateStore(index, key);
        llvm::Value* element = helper_pointer(map_lookup_elem, {map_reference(slots), key});
        llvm::BasicBlock *there = e_.block("slot"), *next = e_.block("nextslot");
        e_.CreateCondBr(e_.CreateIsNotNull(element), there, next);
        e_.SetInsertPoint(there);
        auto* exchange = e_.CreateAtomicCmpXchg(element, e_.number(0), e_.number(1), llvm::Align(8),
                                                llvm::AtomicOrdering::SequentiallyConsistent,
                                                llvm::AtomicOrdering::SequentiallyConsistent);
        llvm::Value* free = e_.CreateICmpEQ(e_.CreateExtractValue(exchange, 0), e_.number(0));
        e_.CreateCondBr(free, claimed, next);
        slot->addIncoming(element, there);
        e_.SetInsertPoint(next);
    }
    skip(offsetof(plan::ProbeCounts, skipped));
    e_.SetInsertPoint(claimed);
    claimed_.push_back(slot);
    return e_.offset(slot, 8);
}

void BpfTarget::skip(size_t field) {
    count(field);
    if (timed_ && saves_entry_)
        add_timing(offsetof(plan::ProbeTiming, hits), e_.number(1));
    e_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, e_.offset(data_, offsetof(plan::SessionWords, skipped)), e_.number(1),
                       llvm::Align(8), llvm::AtomicOrdering::Monotonic);
    release();
    e_.CreateBr(out_);
}

void BpfTarget::take_lock(llvm::Value* word) {
    llvm::BasicBlock *busy = e_.block("busy"), *own = e_.block("own"), *got = e_.block("locked");
    auto* taken =
        e_.CreateSwitch(e_.routine("sonde_rt_lock", e_.i64(), {word, e_.number(plan::is_uprobe(kind_))}), busy, 2);
    taken->addCase(e_.getInt64(1), got);
    taken->addCase(e_.getInt64(2), own);
    e_.SetInsertPoint(own);
    if (timed_) // it is no hit after all
        add_timing(offsetof(plan::ProbeTiming, hits), e_.number(-1));
    release();
    e_.CreateBr(out_);
    e_.SetInsertPoint(busy);
    skip(offsetof(plan::ProbeCounts, waited));
    e_.SetInsertPoint(got);
    claimed_.push_back(word);
}

void BpfTarget::release() {
    for (size_t i = claimed_.size(); i-- > 0;)
        e_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, claimed_[i], e_.number(0), llvm::Align(8),
                           llvm::AtomicOrdering::SequentiallyConsistent);
}

llvm::Value* BpfTarget::decision(llvm::Value* value) {
    if (plan::traits(kind_).decision == plan::Decision::Verdict)
        return e_.CreateTrunc(e_.CreateAnd(value, e_.number(1)), e_.getInt32Ty());
    llvm::Value* magnitude = e_.masked(e_.CreateNeg(value), 4095);
    return e_.CreateTrunc(e_.CreateSub(e_.opaque(e_.number(0)), magnitude), e_.getInt32Ty());
}

const char* BpfTarget::section(bool entry) const {
    const plan::KindTraits& kind = plan::traits(kind_);
    if (!plan::is_event(kind_)) // what the session runs, run in the kernel instead (--host-probes=kernel)
        return "raw_tracepoint";
    return entry && *kind.at_entry ? kind.at_entry : kind.section;
}

std::unique_ptr<Target> make_bpf_target(Emitter& emitter) { return std::make_unique<BpfTarget>(emitter); }

} // namespace sonde
