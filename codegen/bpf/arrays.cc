// Arrays in the kernel: hash maps whose elements begin with their insertion number, and foreach over them.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "codegen/bpf/target_bpf.h"
#include "codegen/statistics.h"
#include "runtime/wrap.h"

namespace sonde {

llvm::Value* BpfTarget::array_load_long(Environment&, const hir::Global& array, llvm::Value* key) {
    llvm::Value* result = e_.stack(8);
    e_.CreateStore(e_.number(0), result);
    with_element(array, key,
                 [&](llvm::Value* element) { e_.CreateStore(e_.CreateLoad(e_.i64(), e_.offset(element, 8)), result); });
    return e_.CreateLoad(e_.i64(), result);
}

void BpfTarget::array_load_string(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value* slot) {
    e_.CreateStore(e_.getInt8(0), slot);
    with_element(array, key,
                 [&](llvm::Value* element) { e_.routine("sonde_rt_copy", e_.i64(), {slot, e_.offset(element, 8)}); });
}

llvm::Value* BpfTarget::array_store_long(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value* value) {
    return with_created(array, key, [&](llvm::Value* element) { e_.CreateStore(value, e_.offset(element, 8)); });
}

llvm::Value* BpfTarget::array_store_string(Environment&, const hir::Global& array, llvm::Value* key,
                                           llvm::Value* slot) {
    return with_created(array, key, [&](llvm::Value* element) {
        helper(probe_read_kernel_str, {e_.offset(element, 8), e_.number(state_.options.max_string), slot});
    });
}

llvm::Value* BpfTarget::array_update(Environment&, const hir::Global& array, llvm::Value* key,
                                     llvm::AtomicRMWInst::BinOp op, llvm::Value* value, llvm::Value** old_value) {
    llvm::Value* old = e_.stack(8);
    e_.CreateStore(e_.number(0), old);
    if (op == llvm::AtomicRMWInst::Sub) {
        op = llvm::AtomicRMWInst::Add;
        value = e_.CreateNeg(value);
    }
    llvm::Value* status = with_created(array, key, [&](llvm::Value* element) {
        llvm::Value* before =
            e_.CreateAtomicRMW(op, e_.offset(element, 8), value, llvm::Align(8), llvm::AtomicOrdering::Monotonic);
        if (old_value)
            e_.CreateStore(before, old);
    });
    if (old_value)
        *old_value = e_.CreateLoad(e_.i64(), old);
    return status;
}

llvm::Value* BpfTarget::array_stat_add(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value* value) {
    return with_created(array, key,
                        [&](llvm::Value* element) { add_to_statistic(e_, e_.offset(element, 8), array.stats, value); });
}

llvm::Value* BpfTarget::array_stats(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value*) {
    // What is not there reads as the empty statistic: zeros.
    uint64_t size = sizeof(plan::StatsBlock) + 8ull * array.stats.buckets();
    llvm::Value* element = helper_pointer(map_lookup_elem, {map_reference(map_name(array)), key});
    llvm::Value* none = e_.zeros(8 + size + 8);
    return e_.offset(e_.CreateSelect(e_.CreateIsNull(element), none, element), 8);
}

llvm::Value* BpfTarget::array_contains(Environment&, const hir::Global& array, llvm::Value* key, uint64_t mask) {
    if (mask != ~0ull) {
        llvm::Value* state = e_.scratch("wiped state", sizeof(sonde_scan_state));
        llvm::Value* found =
            walk("sonde_rt_scan_contains", {scan_constant(scan_spec(array, mask)), state, key}, &array);
        wipe(state, sizeof(sonde_scan_state));
        return found;
    }
    llvm::Value* element = helper_pointer(map_lookup_elem, {map_reference(map_name(array)), key});
    // The optimiser would compute with the pointer instead of the truth about it, which the verifier forbids.
    return e_.opaque(e_.CreateZExt(e_.CreateIsNotNull(element), e_.i64()));
}

void BpfTarget::array_delete(Environment&, const hir::Global& array, llvm::Value* key, uint64_t mask, bool all) {
    if (all || mask != ~0ull) {
        walk("sonde_rt_scan_delete", {scan_constant(scan_spec(array, all ? 0 : mask)), nullptr, key}, &array);
        return;
    }
    helper(map_delete_elem, {map_reference(map_name(array)), key});
}

uint64_t BpfTarget::scan_bytes(const hir::Foreach& loop) {
    const uint64_t kept = sizeof(sonde_scan_state) + heap_bytes(*loop.array);
    // Strings are compared up to their end, which the verifier takes to be anywhere within the maximum.
    const uint64_t slack = state_.options.max_string, entries = scan_slots(*loop.array);
    if (is_by_reference(loop))
        return kept + entries * SONDE_SCAN_REFERENCE + copy_bytes(loop) + 2 * state_.options.max_string + slack;
    return kept + entries * (SONDE_SCAN_ENTRY + copy_bytes(loop)) + slack;
}

bool BpfTarget::is_by_reference(const hir::Foreach& loop) const {
    constexpr uint64_t largest_copies = 4 << 20, loops = 4; // nested in each other, each with its own area
    return scan_slots(*loop.array) * (SONDE_SCAN_ENTRY + copy_bytes(loop)) >
           std::min(largest_copies, largest_walks() / loops);
}

llvm::Value* BpfTarget::foreach_begin(Environment&, const ForeachSpec& spec) {
    const hir::Foreach& loop = *spec.loop;
    const hir::Global& array = *loop.array;
    const plan::Global& global = state_.plan.globals[array.index];
    uint64_t rank = SONDE_RANK_INSERTION, at = 0;
    if (loop.sort_direction != 0 && loop.sort_column == 0 && array.type == hir::ValueType::Stats) {
        rank = SONDE_RANK_STATISTIC + static_cast<uint64_t>(loop.sort_stat);
    } else if (loop.sort_direction != 0) {
        plan::KeyPart by{global.type, static_cast<uint32_t>(SONDE_SCAN_KEY(global.key_size))};
        if (loop.sort_column > 0)
            by = global.keys[static_cast<size_t>(loop.sort_column - 1)];
        rank = by.type == plan::Value::String ? SONDE_RANK_STRING
               : by.size == 8                 ? SONDE_RANK_LONG
               : by.is_signed                 ? SONDE_RANK_INT
                                              : SONDE_RANK_UNSIGNED;
        at = by.offset;
    }
    sonde_scan_spec what = scan_spec(array, spec.slice_mask);
    what.copy_size = payload_bytes(loop);
    what.rank = rank;
    what.at = at;
    what.descending = loop.sort_direction < 0;
    what.by_reference = is_by_reference(loop);
    llvm::Constant* constant = scan_constant(what);
    walk("sonde_rt_scan_begin", {constant, spec.area, spec.slice_key}, &array,
         spec.limit ? spec.limit : e_.number(INT64_MAX));
    return constant;
}

llvm::Value* BpfTarget::foreach_next(Environment&, const ForeachSpec& spec, llvm::Value* iterator, llvm::Value*& key,
                                     llvm::Value*& value) {
    const hir::Global& array = *spec.loop->array;
    const uint64_t after_heap = sizeof(sonde_scan_state) + heap_bytes(array);
    if (is_by_reference(*spec.loop)) {
        llvm::Value* status = walk("sonde_rt_scan_visit", {iterator, spec.area, nullptr}, &array);
        llvm::BasicBlock* there = e_.block("there");
        e_.CreateCondBr(e_.CreateICmpSGT(status, e_.number(0)), spec.again, there);
        e_.SetInsertPoint(there);
        key = e_.offset(spec.area, after_heap + scan_slots(array) * SONDE_SCAN_REFERENCE);
        if (value)
            value = e_.offset(key, SONDE_SCAN_KEY(state_.plan.globals[array.index].key_size));
        return e_.CreateICmpSGE(status, e_.number(0));
    }
    llvm::Value* index = walk("sonde_rt_scan_next", {iterator, spec.area, nullptr}, nullptr);
    llvm::Value* more = e_.CreateICmpSGE(index, e_.number(0));
    // As in scan.bpf.c: a bound that the verifier sees without a comparison.
    index = e_.masked(index, scan_slots(array) - 1);
    llvm::Value* at = e_.CreateMul(index, e_.number(static_cast<int64_t>(SONDE_SCAN_ENTRY + copy_bytes(*spec.loop))));
    key = e_.CreateGEP(e_.getInt8Ty(), e_.offset(spec.area, after_heap + SONDE_SCAN_ENTRY), at);
    if (value)
        value = e_.offset(key, SONDE_SCAN_KEY(state_.plan.globals[array.index].key_size));
    return more;
}

uint64_t BpfTarget::payload_bytes(const hir::Foreach& loop) const {
    bool wanted = loop.value || (loop.sort_direction != 0 && loop.sort_column == 0);
    if (!wanted || loop.array->type == hir::ValueType::Stats)
        return 0;
    return loop.array->type == hir::ValueType::String ? state_.options.max_string : 8;
}

uint64_t BpfTarget::copy_bytes(const hir::Foreach& loop) const {
    return SONDE_SCAN_KEY(state_.plan.globals[loop.array->index].key_size) + payload_bytes(loop);
}

sonde_scan_spec BpfTarget::scan_spec(const hir::Global& array, uint64_t mask) const {
    sonde_scan_spec out{};
    out.mask = mask;
    const plan::Global& global = state_.plan.globals[array.index];
    for (size_t i = 0; i < global.keys.size(); i++) {
        out.offsets[i] = global.keys[i].offset;
        out.sizes[i] = global.keys[i].size;
    }
    out.components = array.keys.size();
    out.capacity = array.capacity;
    out.slots = scan_slots(array);
    out.key_size = global.key_size;
    return out;
}

llvm::Constant* BpfTarget::scan_constant(const sonde_scan_spec& spec) {
    static_assert(sizeof spec % 8 == 0);
    uint64_t words[sizeof spec / 8];
    std::memcpy(words, &spec, sizeof spec);
    return constant_words(words, "scan_spec");
}

llvm::Constant* BpfTarget::constant_words(llvm::ArrayRef<uint64_t> words, const char* name) {
    auto* constant = new llvm::GlobalVariable(e_.module(), llvm::ArrayType::get(e_.i64(), words.size()), true,
                                              llvm::GlobalValue::InternalLinkage,
                                              llvm::ConstantDataArray::get(e_.getContext(), words), name);
    constant->setSection(".rodata");
    constant->setAlignment(llvm::Align(8));
    return constant;
}

// The routine finds what it works on by pointers, which only the stack can hold. They are there for the call alone: an
// error leaves a foreach from anywhere, and must not leave another stack than the foreach's end does.
llvm::Value* BpfTarget::walk(const char* name, const Scan& what, const hir::Global* array, llvm::Value* limit) {
    llvm::Value* scan = e_.scratch("wiped scan", sizeof(sonde_scan));
    llvm::Value* null = e_.null();
    e_.CreateStore(what.area ? what.area : null, e_.offset(scan, offsetof(sonde_scan, area)));
    e_.CreateStore(what.slice ? what.slice : null, e_.offset(scan, offsetof(sonde_scan, slice)));
    e_.CreateStore(what.spec, e_.offset(scan, offsetof(sonde_scan, spec)));
    llvm::SmallVector<llvm::Value*, 3> args;
    if (array)
        args.push_back(map_reference(map_name(*array)));
    args.push_back(scan);
    if (limit)
        args.push_back(limit);
    llvm::Value* result = e_.routine(name, e_.i64(), args);
    wipe(scan, sizeof(sonde_scan));
    return result;
}

void BpfTarget::wipe(llvm::Value* scratch, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += 8)
        e_.CreateStore(e_.number(0), e_.offset(scratch, at))->setVolatile(true);
}

void BpfTarget::foreach_end(Environment&, llvm::Value*) {}

template <typename Body> void BpfTarget::with_element(const hir::Global& array, llvm::Value* key, Body body) {
    llvm::Value* element = helper_pointer(map_lookup_elem, {map_reference(map_name(array)), key});
    llvm::BasicBlock *there = e_.block("element"), *end = e_.block("endelement");
    e_.CreateCondBr(e_.CreateIsNotNull(element), there, end);
    e_.SetInsertPoint(there);
    body(element);
    e_.CreateBr(end);
    e_.SetInsertPoint(end);
}

llvm::Value* BpfTarget::wrap_routine(const char* name, const hir::Global& array, llvm::Value* key) {
    const plan::Global& global = state_.plan.globals[array.index];
    const uint64_t spec[] = {global.key_size, sonde_wrap_places(global.capacity)};
    static_assert(sizeof spec == sizeof(sonde_wrap_spec));
    return e_.routine(name, e_.i64(),
                      {map_reference(global.map), key, map_reference(global.map + SONDE_WRAP_ORDER),
                       e_.offset(data_, global.offset), constant_words(spec, "wrap_spec")});
}

llvm::Value* BpfTarget::insertion_number(const hir::Global& array, llvm::Value* key) {
    if (array.wrap)
        return wrap_routine("sonde_rt_number_wrapped", array, key);
    llvm::Value* last =
        e_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, e_.offset(data_, offsetof(plan::SessionWords, insertion)),
                           e_.number(1), llvm::Align(8), llvm::AtomicOrdering::Monotonic);
    return e_.CreateAdd(last, e_.number(1));
}

template <typename Body> llvm::Value* BpfTarget::with_created(const hir::Global& array, llvm::Value* key, Body body) {
    const plan::Global& global = state_.plan.globals[array.index];
    llvm::Value* map = map_reference(global.map);
    llvm::Value* status = e_.stack(8);
    e_.CreateStore(e_.number(0), status);
    llvm::Value* element = helper_pointer(map_lookup_elem, {map, key});
    llvm::BasicBlock *missing = e_.block("missing"), *numbering = e_.block("numbering"), *have = e_.block("have"),
                     *full = e_.block("full"), *end = e_.block("endelement");
    e_.CreateCondBr(e_.CreateIsNull(element), missing, have);
    e_.SetInsertPoint(missing);
    helper(map_update_elem, {map, key, e_.zeros(global.value_size), e_.number(1 /* BPF_NOEXIST */)});
    llvm::Value* again = helper_pointer(map_lookup_elem, {map, key});
    llvm::BasicBlock* inserted = e_.GetInsertBlock();
    llvm::BasicBlock* no_room = array.wrap ? e_.block("wrap") : full;
    e_.CreateCondBr(e_.CreateIsNull(again), no_room, numbering);
    llvm::Value* wrapped = nullptr;
    llvm::BasicBlock* made_room = nullptr;
    if (array.wrap) {
        e_.SetInsertPoint(no_room);
        wrap_routine("sonde_rt_insert_wrapped", array, key);
        wrapped = helper_pointer(map_lookup_elem, {map, key});
        made_room = e_.GetInsertBlock();
        e_.CreateCondBr(e_.CreateIsNull(wrapped), full, numbering);
    }
    e_.SetInsertPoint(numbering);
    llvm::PHINode* created = e_.CreatePHI(e_.ptr(), 2);
    created->addIncoming(again, inserted);
    if (wrapped)
        created->addIncoming(wrapped, made_room);
    e_.CreateAtomicCmpXchg(created, e_.number(0), insertion_number(array, key), llvm::Align(8),
                           llvm::AtomicOrdering::SequentiallyConsistent, llvm::AtomicOrdering::SequentiallyConsistent);
    e_.CreateBr(have);
    e_.SetInsertPoint(have);
    llvm::PHINode* value = e_.CreatePHI(e_.ptr(), 2);
    value->addIncoming(element, missing->getSinglePredecessor());
    value->addIncoming(created, numbering);
    body(value);
    e_.CreateBr(end);
    e_.SetInsertPoint(full);
    e_.CreateStore(e_.number(1), status);
    e_.CreateBr(end);
    e_.SetInsertPoint(end);
    return e_.CreateLoad(e_.i64(), status);
}

} // namespace sonde
