// Arrays in the kernel are hash maps. Each element begins with its insertion number, which gives foreach its order. A
// foreach puts copies of all elements, or references to them, into its own memory and sorts them with a heap
// (codegen/rtlib/scan.h).
//
// An element of `global a[string]` with long values has this layout:
//
//     key     the string, padded with NULs to its size
//     value   u64 insertion number, then s64 value
//
// If the string can be long, the key is a hash of the string, and the string follows the value
// (runtime/plan/array_maps.h). A key is composed behind room for the value, so the two become a new element without
// another copy (compose_key()).
//
// Operators such as `a[k] += 1` and `a[k] <<< x` become atomic operations on the element in the map. So handlers on
// several processors need no lock, and lose no update.
//
// An array whose elements each belong to one thread (runtime/plan/task_arrays.h) is the kernel's task storage instead.
// Its elements have the same layout, but the insertion number is only 1 or 0: the element exists or does not. A
// deletion clears the element, and leaves its memory with the thread, because attaching memory takes longer than
// everything else. The number of existing elements is counted, so that a full array is an error as in a hash map. A few
// elements are in a hash map next to it. An element never moves: a thread that has one there stays there.
//
// The verifier forces some detours:
// * A pointer to an element is null or valid, and only a comparison with null tells the verifier which. So each access
//   has its own branch (with_element(), with_created()).
// * Structures that contain pointers must be on the stack. They are zeroed after use, so that paths to a later loop do
//   not differ in leftovers (walk(), wiped_scratch.h).
// * An index into an area must be masked with a constant directly before its use (foreach_next()).
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "codegen/bpf/parts.h"
#include "codegen/emit/shared_data.h"
#include "codegen/emit/statistics.h"
#include "codegen/rtlib/scan.h"
#include "runtime/plan/array_maps.h"
#include "runtime/plan/host_api.h"
#include "runtime/plan/shared_globals.h"
#include "runtime/plan/task_arrays.h"
#include "runtime/plan/wrap.h"

namespace sonde {
namespace {

constexpr uint64_t task_storage_get = 156; // 5.11, bpf: Implement task local storage

// The arguments of a routine that visits all elements (sonde_scan). Unused pointers are null.
struct Scan {
    llvm::Value *spec, *area, *slice;
};

std::string map_name(const BpfContext& bpf, const hir::Global& array) {
    return bpf.state.plan.globals[array.index].map;
}

// The number of entries in a foreach's area: the array's capacity, rounded up to a power of two so that a mask limits
// an index.
uint64_t scan_slots(const hir::Global& array) { return std::bit_ceil(uint64_t{array.capacity}); }

// Bytes of the heap, which has a u32 for each entry (codegen/rtlib/scan.h).
uint64_t heap_bytes(const hir::Global& array) { return (scan_slots(array) * 4 + 7) & ~7ull; }

// Bytes of the value in an element's copy. 0 if the loop neither reads the values nor sorts by them, and for
// statistics, which are always read in place.
uint64_t payload_bytes(const BpfContext& bpf, const hir::Foreach& loop) {
    bool wanted = loop.value || (loop.sort_direction != 0 && loop.sort_column == 0);
    if (!wanted || loop.array->type == hir::ValueType::Stats)
        return 0;
    return loop.array->type == hir::ValueType::String ? bpf.state.plan.max_string : 8;
}

// Bytes of an element's copy: the key and the part of the value that the loop reads.
uint64_t copy_bytes(const BpfContext& bpf, const hir::Foreach& loop) {
    return SONDE_SCAN_KEY(bpf.state.plan.globals[loop.array->index].key_size) + payload_bytes(bpf, loop);
}

// Whether copies of all elements are too large for the memory that one handler has for its loops. Then the loop sorts
// references, and looks the elements up again.
bool is_by_reference(const BpfContext& bpf, const hir::Foreach& loop) {
    constexpr uint64_t largest_copies = 4 << 20, loops = 4; // loops can be nested; each has its own memory
    return scan_slots(*loop.array) * (SONDE_SCAN_ENTRY + copy_bytes(bpf, loop)) >
           std::min(largest_copies, largest_walks(bpf.state.facts) / loops);
}

// The constants of a scan. `mask`: bit i is set if the slice gives component i of the key.
sonde_scan_spec spec_of(const BpfContext& bpf, const hir::Global& array, uint64_t mask) {
    sonde_scan_spec out{};
    out.mask = mask;
    const plan::Global& global = bpf.state.plan.globals[array.index];
    for (size_t i = 0; i < global.keys.size(); i++) {
        out.offsets[i] = global.keys[i].offset;
        out.sizes[i] = global.keys[i].size;
    }
    out.components = array.keys.size();
    out.capacity = array.capacity;
    out.slots = scan_slots(array);
    out.key_size = global.key_size;
    out.key_at = plan::has_identities(global) ? global.value_size : 0;
    return out;
}

llvm::Constant* scan_constant(BpfContext& bpf, const sonde_scan_spec& spec) {
    static_assert(sizeof spec % 8 == 0);
    uint64_t words[sizeof spec / 8];
    std::memcpy(words, &spec, sizeof spec);
    return constant_words(bpf.e, words, "scan_spec");
}

// Zeroes scratch memory whose tag begins with "wiped" (see wiped_scratch.h).
void wipe(BpfContext& bpf, llvm::Value* scratch, uint64_t bytes) {
    Emitter& e = bpf.e;
    for (uint64_t at = 0; at < bytes; at += 8)
        e.CreateStore(e.number(0), e.offset(scratch, at))->setVolatile(true);
}

// Calls a routine of scan.bpf.c; `array` and `limit` are passed if the routine takes them. The routine gets its
// arguments through pointers in a structure on the stack, because the verifier keeps track of pointers only there. The
// structure is wiped after the call: an error may leave a foreach from anywhere, and the verifier must see the same
// stack there as at the foreach's end.
llvm::Value* walk(BpfContext& bpf, const char* name, const Scan& what, const hir::Global* array,
                  llvm::Value* limit = nullptr) {
    Emitter& e = bpf.e;
    llvm::Value* scan = e.scratch("wiped scan", sizeof(sonde_scan));
    llvm::Value* null = e.null();
    e.CreateStore(what.area ? what.area : null, e.offset(scan, offsetof(sonde_scan, area)));
    e.CreateStore(what.slice ? what.slice : null, e.offset(scan, offsetof(sonde_scan, slice)));
    e.CreateStore(what.spec, e.offset(scan, offsetof(sonde_scan, spec)));
    llvm::SmallVector<llvm::Value*, 3> args;
    if (array)
        args.push_back(map_reference(e, map_name(bpf, *array)));
    args.push_back(scan);
    if (limit)
        args.push_back(limit);
    llvm::Value* result = e.routine(name, e.i64(), args);
    wipe(bpf, scan, sizeof(sonde_scan));
    return result;
}

// The number of the current thread in the kernel, as a key in memory.
llvm::Value* thread_key(Emitter& e) {
    llvm::Value* key = e.scratch("thread", 8);
    e.CreateStore(e.CreateAnd(helper(e, get_current_pid_tgid, {}), e.number(0xffffffff)), key);
    return key;
}

bool is_in_tasks(const BpfContext& bpf, const hir::Global& array) {
    return plan::is_in_tasks(bpf.state.plan.globals[array.index]);
}

llvm::Value* stored_with_task(Emitter& e, const plan::Global& global, int64_t flags) {
    return helper_pointer(
        e, task_storage_get,
        {map_reference(e, global.map), helper_pointer(e, get_current_task_btf, {}), e.null(), e.number(flags)});
}

// The variable of the current function that holds the address of the thread's memory once it is found, so that a
// handler looks it up once. The optimizer removes the variable.
llvm::Value* found_memory(BpfContext& bpf, const hir::Global& array) {
    llvm::BasicBlock& entry = bpf.e.GetInsertBlock()->getParent()->getEntryBlock();
    const std::string name = "found_" + map_name(bpf, array);
    for (llvm::Instruction& instruction : entry)
        if (llvm::isa<llvm::AllocaInst>(instruction) && instruction.getName() == name)
            return &instruction;
    llvm::IRBuilder<> begin(&entry, entry.begin());
    llvm::AllocaInst* variable = begin.CreateAlloca(bpf.e.ptr(), nullptr, name);
    begin.CreateStore(bpf.e.null(), variable);
    return variable;
}

// The thread's memory for an element of an array in tasks; null if it has none yet. The element may not exist.
llvm::Value* find_memory(BpfContext& bpf, const hir::Global& array) {
    Emitter& e = bpf.e;
    const plan::Global& global = bpf.state.plan.globals[array.index];
    llvm::Value* found = found_memory(bpf, array);
    llvm::BasicBlock *find = e.block("find"), *spare = e.block("spare"), *end = e.block("memory");
    llvm::Value* before = e.CreateLoad(e.ptr(), found);
    llvm::BasicBlock* begin = e.GetInsertBlock();
    e.CreateCondBr(e.CreateIsNull(before), find, end);
    e.SetInsertPoint(find);
    llvm::Value* stored = stored_with_task(e, global, 0);
    llvm::BasicBlock* tried = e.GetInsertBlock();
    llvm::BasicBlock* keep = e.block("keep");
    e.CreateCondBr(e.CreateIsNull(stored), spare, keep);
    e.SetInsertPoint(spare);
    llvm::Value* other = helper_pointer(e, map_lookup_elem, {map_reference(e, plan::spare_map(global)), thread_key(e)});
    llvm::BasicBlock* spared = e.GetInsertBlock();
    e.CreateBr(keep);
    e.SetInsertPoint(keep);
    llvm::PHINode* now = e.CreatePHI(e.ptr(), 2);
    now->addIncoming(stored, tried);
    now->addIncoming(other, spared);
    e.CreateStore(now, found);
    e.CreateBr(end);
    e.SetInsertPoint(end);
    llvm::PHINode* memory = e.CreatePHI(e.ptr(), 2);
    memory->addIncoming(before, begin);
    memory->addIncoming(now, keep);
    return memory;
}

// Emits `body` for the thread's element, if it exists.
template <typename Body> void with_own_element(BpfContext& bpf, const hir::Global& array, Body body) {
    Emitter& e = bpf.e;
    llvm::Value* memory = find_memory(bpf, array);
    llvm::BasicBlock *there = e.block("own"), *exists = e.block("element"), *end = e.block("endelement");
    e.CreateCondBr(e.CreateIsNotNull(memory), there, end);
    e.SetInsertPoint(there);
    e.CreateCondBr(e.CreateICmpNE(e.CreateLoad(e.i64(), memory), e.number(0)), exists, end);
    e.SetInsertPoint(exists);
    body(memory);
    e.CreateBr(end);
    e.SetInsertPoint(end);
}

llvm::Value* element_counter(BpfContext& bpf, const hir::Global& array) {
    return data_address(bpf.e, bpf.data, bpf.state.plan.globals[array.index].offset);
}

void count_elements(BpfContext& bpf, const hir::Global& array, int64_t change) {
    bpf.e.CreateAtomicRMW(llvm::AtomicRMWInst::Add, element_counter(bpf, array), bpf.e.number(change), llvm::Align(8),
                          llvm::AtomicOrdering::Monotonic);
}

// As with_created(), for the thread's element.
//
// The kernel attaches no memory while another program on this processor is attaching some and has been preempted. An
// idle thread has its element in the spare map, because the idle threads of all processors share it.
template <typename Body> llvm::Value* with_own_created(BpfContext& bpf, const hir::Global& array, Body body) {
    Emitter& e = bpf.e;
    constexpr int64_t create = 1; // BPF_LOCAL_STORAGE_GET_F_CREATE
    const plan::Global& global = bpf.state.plan.globals[array.index];
    llvm::Value* status = e.stack(8);
    e.CreateStore(e.number(0), status);
    llvm::Value* memory = find_memory(bpf, array);
    llvm::BasicBlock* found = e.GetInsertBlock();
    llvm::BasicBlock *missing = e.block("missing"), *spare = e.block("spare"), *have = e.block("have"),
                     *keep = e.block("keep"), *fresh = e.block("fresh"), *ready = e.block("ready"),
                     *full = e.block("full"), *end = e.block("endelement");
    e.CreateCondBr(e.CreateIsNull(memory), missing, have);

    e.SetInsertPoint(missing);
    llvm::BasicBlock* busy = e.block("busy");
    llvm::Value* thread = e.CreateAnd(helper(e, get_current_pid_tgid, {}), e.number(0xffffffff));
    e.CreateCondBr(e.CreateICmpEQ(thread, e.number(0)), spare, busy);
    e.SetInsertPoint(busy);
    llvm::Value* attached = stored_with_task(e, global, create);
    llvm::BasicBlock* tried = e.GetInsertBlock();
    e.CreateCondBr(e.CreateIsNull(attached), spare, keep);

    e.SetInsertPoint(spare);
    llvm::Value* map = map_reference(e, plan::spare_map(global));
    llvm::Value* key = thread_key(e);
    helper(e, map_update_elem, {map, key, e.zeros(global.value_size), e.number(1 /* BPF_NOEXIST */)});
    llvm::Value* other = helper_pointer(e, map_lookup_elem, {map, key});
    llvm::BasicBlock* spared = e.GetInsertBlock();
    e.CreateCondBr(e.CreateIsNull(other), full, keep);

    e.SetInsertPoint(keep);
    llvm::PHINode* now = e.CreatePHI(e.ptr(), 2);
    now->addIncoming(attached, tried);
    now->addIncoming(other, spared);
    e.CreateStore(now, found_memory(bpf, array));
    e.CreateBr(have);

    e.SetInsertPoint(have);
    llvm::PHINode* element = e.CreatePHI(e.ptr(), 2);
    element->addIncoming(memory, found);
    element->addIncoming(now, keep);
    e.CreateCondBr(e.CreateICmpEQ(e.CreateLoad(e.i64(), element), e.number(0)), fresh, ready);

    e.SetInsertPoint(fresh);
    llvm::BasicBlock *too_many = e.block("toomany"), *one_more = e.block("onemore");
    llvm::Value* before = e.CreateAtomicRMW(llvm::AtomicRMWInst::Add, element_counter(bpf, array), e.number(1),
                                            llvm::Align(8), llvm::AtomicOrdering::Monotonic);
    e.CreateCondBr(e.CreateICmpUGE(before, e.number(static_cast<int64_t>(global.capacity))), too_many, one_more);
    e.SetInsertPoint(too_many);
    count_elements(bpf, array, -1);
    e.CreateBr(full);
    e.SetInsertPoint(one_more);
    e.CreateStore(e.number(1), element);
    e.CreateBr(ready);

    e.SetInsertPoint(ready);
    body(element);
    e.CreateBr(end);
    e.SetInsertPoint(full);
    e.CreateStore(e.number(1), status);
    e.CreateBr(end);
    e.SetInsertPoint(end);
    return e.CreateLoad(e.i64(), status);
}

// Calls `visit` with the offset of each piece of a key: a string of more than 64 bytes, or a number of 4 or 8 bytes
// with its type. A shorter string is padded, and consists of numbers.
template <typename Visit> void for_each_piece(Emitter& e, const plan::Global& global, Visit visit) {
    for (const plan::KeyPart& part : global.keys) {
        if (part.type == plan::Value::String && part.size > plan::short_key) {
            visit(part.offset, nullptr);
            continue;
        }
        const uint32_t bytes = std::min(part.size, 8u);
        for (uint32_t at = 0; at < part.size; at += bytes)
            visit(part.offset + at, e.getIntNTy(8 * bytes));
    }
}

// The identity of a key, in memory.
llvm::Value* identity_of(BpfContext& bpf, const plan::Global& global, llvm::Value* key) {
    Emitter& e = bpf.e;
    llvm::Value* identity = e.scratch("identity", sizeof(sonde_identity));
    for (uint64_t at = 0; at < sizeof(sonde_identity); at += 8)
        e.CreateStore(e.number(0), e.offset(identity, at));
    for_each_piece(e, global, [&](uint32_t at, llvm::Type* number) {
        if (number)
            e.routine("sonde_rt_identify_number", e.i64(),
                      {identity, e.CreateZExt(e.CreateLoad(number, e.offset(key, at)), e.i64())});
        else
            e.routine("sonde_rt_identify_string", e.i64(), {identity, e.offset(key, at)});
    });
    return identity;
}

// An i1, whether the element has this key.
llvm::Value* has_key(BpfContext& bpf, const plan::Global& global, llvm::Value* element, llvm::Value* key) {
    Emitter& e = bpf.e;
    llvm::Value* differs = e.number(0);
    for_each_piece(e, global, [&](uint32_t at, llvm::Type* number) {
        llvm::Value *own = e.offset(element, global.value_size + at), *wanted = e.offset(key, at);
        llvm::Value* piece =
            number ? e.CreateZExt(e.CreateXor(e.CreateLoad(number, own), e.CreateLoad(number, wanted)), e.i64())
                   : e.routine("sonde_rt_strings_differ", e.i64(), {own, wanted});
        differs = e.CreateOr(differs, piece);
    });
    return e.CreateICmpEQ(differs, e.number(0));
}

// The element in the map with this key, or null; and the map's key.
struct FoundElement {
    llvm::Value *element, *map_key;
};
FoundElement find_element(BpfContext& bpf, const hir::Global& array, llvm::Value* key) {
    Emitter& e = bpf.e;
    const plan::Global& global = bpf.state.plan.globals[array.index];
    llvm::Value* map = map_reference(e, global.map);
    if (!plan::has_identities(global))
        return {helper_pointer(e, map_lookup_elem, {map, key}), key};
    llvm::Value* identity = identity_of(bpf, global, key);
    llvm::Value* found = helper_pointer(e, map_lookup_elem, {map, identity});
    llvm::BasicBlock *begin = e.GetInsertBlock(), *compare = e.block("compare"), *end = e.block("compared");
    e.CreateCondBr(e.CreateIsNull(found), end, compare);
    e.SetInsertPoint(compare);
    llvm::Value* equal = has_key(bpf, global, found, key);
    llvm::BasicBlock *compared = e.GetInsertBlock(), *other = e.block("other");
    e.CreateCondBr(equal, end, other);
    e.SetInsertPoint(other);
    e.CreateBr(end);
    e.SetInsertPoint(end);
    llvm::PHINode* element = e.CreatePHI(e.ptr(), 3);
    element->addIncoming(found, begin); // null
    element->addIncoming(found, compared);
    element->addIncoming(e.null(), other);
    return {element, identity};
}

// Emits `body` for the element of this key; skips it at run time if the element does not exist.
template <typename Body> void with_element(BpfContext& bpf, const hir::Global& array, llvm::Value* key, Body body) {
    if (is_in_tasks(bpf, array))
        return with_own_element(bpf, array, body);
    Emitter& e = bpf.e;
    llvm::Value* element = find_element(bpf, array, key).element;
    llvm::BasicBlock *there = e.block("element"), *end = e.block("endelement");
    e.CreateCondBr(e.CreateIsNotNull(element), there, end);
    e.SetInsertPoint(there);
    body(element);
    e.CreateBr(end);
    e.SetInsertPoint(end);
}

// Calls a routine of wrap.bpf.c, for an array that replaces its oldest element when it is full (`%`).
llvm::Value* wrap_routine(BpfContext& bpf, const char* name, const hir::Global& array, llvm::Value* key) {
    Emitter& e = bpf.e;
    const plan::Global& global = bpf.state.plan.globals[array.index];
    const uint64_t spec[] = {global.key_size, sonde_wrap_places(global.capacity)};
    static_assert(sizeof spec == sizeof(sonde_wrap_spec));
    return e.routine(name, e.i64(),
                     {map_reference(e, global.map), key, map_reference(e, global.map + SONDE_WRAP_ORDER),
                      data_address(e, bpf.data, global.offset), constant_words(e, spec, "wrap_spec")});
}

// The insertion number for an element that is being created.
llvm::Value* insertion_number(BpfContext& bpf, const hir::Global& array, llvm::Value* key) {
    Emitter& e = bpf.e;
    if (array.wrap)
        return wrap_routine(bpf, "sonde_rt_number_wrapped", array, key);
    const uint64_t counter = plan::is_shared(bpf.state.plan.globals[array.index])
                                 ? plan::shared_insertion
                                 : offsetof(plan::SessionWords, insertion);
    llvm::Value* last = e.CreateAtomicRMW(llvm::AtomicRMWInst::Add, data_address(e, bpf.data, counter), e.number(1),
                                          llvm::Align(8), llvm::AtomicOrdering::Monotonic);
    return e.CreateAdd(last, e.number(1));
}

// The value of a new element with this key, which is in memory after room for it.
llvm::Value* new_element(BpfContext& bpf, const plan::Global& global, llvm::Value* key) {
    Emitter& e = bpf.e;
    for (const plan::KeyPart& part : global.keys)
        if (part.type == plan::Value::String && part.size > plan::short_key)
            e.routine("sonde_rt_pad_string", e.i64(), {e.offset(key, part.offset)});
    llvm::Value* element = e.CreateConstGEP1_64(e.getInt8Ty(), key, -static_cast<uint64_t>(global.value_size));
    e.zeros(global.value_size);
    e.routine("sonde_rt_zero", e.i64(), {element, e.getInt32(global.value_size)});
    return element;
}

// Looks up the element, creates it if necessary, and emits `body` for it. Returns a HostStatus.
//
// Other processors may create the same element at the same time. The update inserts zeros only if the key does not
// exist yet, and every creator that finds an element without an insertion number gives it one. So no update gets lost
// between the two steps. If the array wraps and is full, the oldest element is removed first.
template <typename Body>
llvm::Value* with_created(BpfContext& bpf, const hir::Global& array, llvm::Value* key, Body body) {
    Emitter& e = bpf.e;
    const plan::Global& global = bpf.state.plan.globals[array.index];
    if (plan::is_in_tasks(global))
        return with_own_created(bpf, array, body);
    llvm::Value* map = map_reference(e, global.map);
    llvm::Value* status = e.stack(8);
    e.CreateStore(e.number(0), status);
    const auto [element, map_key] = find_element(bpf, array, key);
    llvm::BasicBlock* found = e.GetInsertBlock();
    llvm::BasicBlock *missing = e.block("missing"), *numbering = e.block("numbering"), *have = e.block("have"),
                     *full = e.block("full"), *end = e.block("endelement");
    e.CreateCondBr(e.CreateIsNull(element), missing, have);
    e.SetInsertPoint(missing);
    const bool identified = plan::has_identities(global);
    llvm::Value* fresh = identified ? new_element(bpf, global, key) : e.zeros(global.value_size);
    helper(e, map_update_elem, {map, map_key, fresh, e.number(1 /* BPF_NOEXIST */)});
    llvm::Value* again = helper_pointer(e, map_lookup_elem, {map, map_key});
    llvm::BasicBlock* no_room = array.wrap ? e.block("wrap") : full;
    llvm::BasicBlock* inserted = identified ? e.block("inserted") : numbering;
    e.CreateCondBr(e.CreateIsNull(again), no_room, inserted);
    if (identified) {
        e.SetInsertPoint(inserted);
        llvm::Value* is_ours = has_key(bpf, global, again, key);
        llvm::BasicBlock* other = e.block("other");
        e.CreateCondBr(is_ours, numbering, other);
        inserted = e.GetInsertBlock();
        e.SetInsertPoint(other);
        e.CreateStore(e.number(HostSameIdentity), status);
        e.CreateBr(end);
    } else {
        inserted = missing;
    }
    llvm::Value* wrapped = nullptr;
    llvm::BasicBlock* made_room = nullptr;
    if (array.wrap) {
        e.SetInsertPoint(no_room);
        wrap_routine(bpf, "sonde_rt_insert_wrapped", array, key);
        wrapped = helper_pointer(e, map_lookup_elem, {map, key});
        made_room = e.GetInsertBlock();
        e.CreateCondBr(e.CreateIsNull(wrapped), full, numbering);
    }
    e.SetInsertPoint(numbering);
    llvm::PHINode* created = e.CreatePHI(e.ptr(), 2);
    created->addIncoming(again, inserted);
    if (wrapped)
        created->addIncoming(wrapped, made_room);
    e.CreateAtomicCmpXchg(created, e.number(0), insertion_number(bpf, array, key), llvm::Align(8),
                          llvm::AtomicOrdering::SequentiallyConsistent, llvm::AtomicOrdering::SequentiallyConsistent);
    e.CreateBr(have);
    e.SetInsertPoint(have);
    llvm::PHINode* value = e.CreatePHI(e.ptr(), 2);
    value->addIncoming(element, found);
    value->addIncoming(created, numbering);
    body(value);
    e.CreateBr(end);
    e.SetInsertPoint(full);
    e.CreateStore(e.number(1), status);
    e.CreateBr(end);
    e.SetInsertPoint(end);
    return e.CreateLoad(e.i64(), status);
}

} // namespace

llvm::Value* BpfArrays::load_long(Environment&, const hir::Global& array, llvm::Value* key) {
    llvm::Value* result = e_.stack(8);
    e_.CreateStore(e_.number(0), result);
    with_element(bpf_, array, key,
                 [&](llvm::Value* element) { e_.CreateStore(e_.CreateLoad(e_.i64(), e_.offset(element, 8)), result); });
    return e_.CreateLoad(e_.i64(), result);
}

void BpfArrays::load_string(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value* slot) {
    e_.CreateStore(e_.getInt8(0), slot);
    with_element(bpf_, array, key,
                 [&](llvm::Value* element) { e_.routine("sonde_rt_copy", e_.i64(), {slot, e_.offset(element, 8)}); });
}

llvm::Value* BpfArrays::store_long(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value* value) {
    return with_created(bpf_, array, key, [&](llvm::Value* element) { e_.CreateStore(value, e_.offset(element, 8)); });
}

llvm::Value* BpfArrays::store_string(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value* slot) {
    return with_created(bpf_, array, key, [&](llvm::Value* element) {
        helper(e_, probe_read_kernel_str, {e_.offset(element, 8), e_.number(bpf_.state.plan.max_string), slot});
    });
}

llvm::Value* BpfArrays::update(Environment&, const hir::Global& array, llvm::Value* key, llvm::AtomicRMWInst::BinOp op,
                               llvm::Value* value, llvm::Value** old_value) {
    llvm::Value* old = e_.stack(8);
    e_.CreateStore(e_.number(0), old);
    if (op == llvm::AtomicRMWInst::Sub) {
        op = llvm::AtomicRMWInst::Add;
        value = e_.CreateNeg(value);
    }
    llvm::Value* status = with_created(bpf_, array, key, [&](llvm::Value* element) {
        llvm::Value* before =
            e_.CreateAtomicRMW(op, e_.offset(element, 8), value, llvm::Align(8), llvm::AtomicOrdering::Monotonic);
        if (old_value)
            e_.CreateStore(before, old);
    });
    if (old_value)
        *old_value = e_.CreateLoad(e_.i64(), old);
    return status;
}

llvm::Value* BpfArrays::add_to_statistic(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value* value) {
    return with_created(bpf_, array, key, [&](llvm::Value* element) {
        sonde::add_to_statistic(e_, e_.offset(element, 8), array.stats, value);
    });
}

llvm::Value* BpfArrays::statistic(Environment&, const hir::Global& array, llvm::Value* key, llvm::Value*) {
    // A missing element reads as an empty statistic: all zeros.
    uint64_t size = plan::stats_bytes(array.stats);
    llvm::Value* element = find_element(bpf_, array, key).element;
    llvm::Value* none = e_.zeros(8 + size + 8);
    return e_.offset(e_.CreateSelect(e_.CreateIsNull(element), none, element), 8);
}

llvm::Value* BpfArrays::contains(Environment&, const hir::Global& array, llvm::Value* key, uint64_t mask) {
    if (is_in_tasks(bpf_, array)) {
        llvm::Value* there = e_.stack(8);
        e_.CreateStore(e_.number(0), there);
        with_own_element(bpf_, array, [&](llvm::Value*) { e_.CreateStore(e_.number(1), there); });
        return e_.CreateLoad(e_.i64(), there);
    }
    if (mask != ~0ull) {
        llvm::Value* state = e_.scratch("wiped state", sizeof(sonde_scan_state));
        llvm::Value* found =
            walk(bpf_, "sonde_rt_scan_contains", {scan_constant(bpf_, spec_of(bpf_, array, mask)), state, key}, &array);
        wipe(bpf_, state, sizeof(sonde_scan_state));
        return found;
    }
    llvm::Value* element = find_element(bpf_, array, key).element;
    // Opaque: otherwise the optimizer computes with the pointer itself, which the verifier forbids.
    return e_.opaque(e_.CreateZExt(e_.CreateIsNotNull(element), e_.i64()));
}

void BpfArrays::erase(Environment&, const hir::Global& array, llvm::Value* key, uint64_t mask, bool all) {
    if (is_in_tasks(bpf_, array)) {
        // `a[tid()] += 1` creates an element, and relies on a value of 0. The first byte ends a string.
        with_own_element(bpf_, array, [&](llvm::Value* element) {
            e_.CreateStore(e_.number(0), element);
            e_.CreateStore(e_.number(0), e_.offset(element, 8));
            count_elements(bpf_, array, -1);
        });
        return;
    }
    if (all || mask != ~0ull) {
        walk(bpf_, "sonde_rt_scan_delete", {scan_constant(bpf_, spec_of(bpf_, array, all ? 0 : mask)), nullptr, key},
             &array);
        return;
    }
    if (!plan::has_identities(bpf_.state.plan.globals[array.index])) {
        helper(e_, map_delete_elem, {map_reference(e_, map_name(bpf_, array)), key});
        return;
    }
    const auto [element, map_key] = find_element(bpf_, array, key);
    llvm::BasicBlock *there = e_.block("erase"), *end = e_.block("erased");
    e_.CreateCondBr(e_.CreateIsNotNull(element), there, end);
    e_.SetInsertPoint(there);
    helper(e_, map_delete_elem, {map_reference(e_, map_name(bpf_, array)), map_key});
    e_.CreateBr(end);
    e_.SetInsertPoint(end);
}

uint64_t BpfArrays::scan_bytes(const hir::Foreach& loop) {
    const uint64_t kept = sizeof(sonde_scan_state) + heap_bytes(*loop.array);
    // Keys that are strings are compared up to their end. The verifier assumes that this end is anywhere within the
    // maximum length, so the area needs that much room after the last element.
    const uint64_t slack = bpf_.state.plan.max_string, entries = scan_slots(*loop.array);
    if (is_by_reference(bpf_, loop))
        return kept + entries * SONDE_SCAN_REFERENCE + copy_bytes(bpf_, loop) + 2 * bpf_.state.plan.max_string + slack;
    return kept + entries * (SONDE_SCAN_ENTRY + copy_bytes(bpf_, loop)) + slack;
}

llvm::Value* BpfArrays::foreach_begin(Environment&, const ForeachSpec& spec) {
    const hir::Foreach& loop = *spec.loop;
    const hir::Global& array = *loop.array;
    const plan::Global& global = bpf_.state.plan.globals[array.index];
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
    sonde_scan_spec what = spec_of(bpf_, array, spec.slice_mask);
    what.copy_size = payload_bytes(bpf_, loop);
    what.rank = rank;
    what.at = at;
    what.descending = loop.sort_direction < 0;
    what.by_reference = is_by_reference(bpf_, loop);
    what.quantiles_at = plan::quantiles_at(array.stats);
    what.percentile = static_cast<uint64_t>(loop.sort_percentile);
    llvm::Constant* constant = scan_constant(bpf_, what);
    walk(bpf_, "sonde_rt_scan_begin", {constant, spec.area, spec.slice_key}, &array,
         spec.limit ? spec.limit : e_.number(INT64_MAX));
    return constant;
}

llvm::Value* BpfArrays::foreach_next(Environment&, const ForeachSpec& spec, llvm::Value* iterator, llvm::Value*& key,
                                     llvm::Value*& value) {
    const hir::Global& array = *spec.loop->array;
    const uint64_t after_heap = sizeof(sonde_scan_state) + heap_bytes(array);
    if (is_by_reference(bpf_, *spec.loop)) {
        llvm::Value* status = walk(bpf_, "sonde_rt_scan_visit", {iterator, spec.area, nullptr}, &array);
        llvm::BasicBlock* there = e_.block("there");
        e_.CreateCondBr(e_.CreateICmpSGT(status, e_.number(0)), spec.again, there);
        e_.SetInsertPoint(there);
        key = e_.offset(spec.area, after_heap + scan_slots(array) * SONDE_SCAN_REFERENCE);
        if (value)
            value = e_.offset(key, SONDE_SCAN_KEY(bpf_.state.plan.globals[array.index].key_size));
        return e_.CreateICmpSGE(status, e_.number(0));
    }
    llvm::Value* index = walk(bpf_, "sonde_rt_scan_next", {iterator, spec.area, nullptr}, nullptr);
    llvm::Value* more = e_.CreateICmpSGE(index, e_.number(0));
    // A mask, because the verifier understands it even if it has forgotten a comparison (as in scan.bpf.c).
    index = e_.masked(index, scan_slots(array) - 1);
    llvm::Value* at =
        e_.CreateMul(index, e_.number(static_cast<int64_t>(SONDE_SCAN_ENTRY + copy_bytes(bpf_, *spec.loop))));
    key = e_.CreateGEP(e_.getInt8Ty(), e_.offset(spec.area, after_heap + SONDE_SCAN_ENTRY), at);
    if (value)
        value = e_.offset(key, SONDE_SCAN_KEY(bpf_.state.plan.globals[array.index].key_size));
    return more;
}

} // namespace sonde
