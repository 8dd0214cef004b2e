// Emits the claim of a slot: a short way in the handler for the usual case, and a routine for the rest.
//
// A handler needs memory that no other handler uses meanwhile. The map has some slots, each with a busy word in front
// of its memory. Each processor begins its search at a different slot, so that in most cases the first attempt
// succeeds:
//
//     first = processor * slots_apart % slots
//     slot = lookup(map, first)
//     if (compare_and_swap(slot, 0, 1) == 0) use the slot
//     else slot = sonde_rt_claim(map, first, slots)
//     if (!slot) skip the hit
//
// Two handlers can run on one processor at the same time: a handler may be preempted, and a handler of an interrupt may
// come in between. The second handler then takes one of the next slots. If all of them are busy, the hit is skipped and
// counted. A handler in the kernel must not wait for another one.
//
// What would break this: an exit that does not release the slot. The slot would stay busy until the end of the session,
// and later hits would be skipped. So every exit of a program goes through release(), which processes the claims in
// reverse order.
#include "codegen/bpf/claims.h"

#include <cstddef>

#include "runtime/plan/kinds.h"

namespace sonde {
namespace {
constexpr uint32_t slots_apart =
    8; // slots between the first choices of two processors; each tries that many (rtlib/accounting.bpf.c)
} // namespace

llvm::Value* Claims::claim(const char* map, uint32_t slots) {
    llvm::BasicBlock *there = e_.block("slot"), *busy = e_.block("busy"), *none = e_.block("none"),
                     *claimed = e_.block("claimed");
    llvm::Value* key = e_.scratch("index", 8);
    llvm::Value* first = e_.CreateMul(helper(e_, get_smp_processor_id, {}), e_.number(slots_apart));
    e_.CreateStore(e_.CreateTrunc(e_.CreateURem(first, e_.number(slots)), e_.getInt32Ty()), key);
    llvm::Value* own = helper_pointer(e_, map_lookup_elem, {map_reference(e_, map), key});
    e_.CreateCondBr(e_.CreateIsNotNull(own), there, busy);
    e_.SetInsertPoint(there);
    auto* exchange = e_.CreateAtomicCmpXchg(own, e_.number(0), e_.number(1), llvm::Align(8),
                                            llvm::AtomicOrdering::SequentiallyConsistent,
                                            llvm::AtomicOrdering::SequentiallyConsistent);
    e_.CreateCondBr(e_.CreateICmpEQ(e_.CreateExtractValue(exchange, 0), e_.number(0)), claimed, busy);
    e_.SetInsertPoint(busy);
    llvm::Value* other = e_.routine("sonde_rt_claim", e_.ptr(), {map_reference(e_, map), first, e_.number(slots)});
    e_.CreateCondBr(e_.CreateIsNotNull(other), claimed, none);
    e_.SetInsertPoint(none);
    skip(offsetof(plan::ProbeCounts, skipped));
    e_.SetInsertPoint(claimed);
    llvm::PHINode* slot = e_.CreatePHI(e_.ptr(), 2);
    slot->addIncoming(own, there);
    slot->addIncoming(other, busy);
    words_.push_back(slot);
    return e_.offset(slot, 8);
}

void Claims::skip(size_t field) {
    accounting_.count_skip(field);
    release();
    e_.CreateBr(bpf_.out);
}

void Claims::take_lock(llvm::Value* word) {
    llvm::BasicBlock *busy = e_.block("busy"), *own = e_.block("own"), *got = e_.block("locked");
    auto* taken =
        e_.CreateSwitch(e_.routine("sonde_rt_lock", e_.i64(), {word, e_.number(plan::is_uprobe(bpf_.kind))}), busy, 2);
    taken->addCase(e_.getInt64(1), got);
    taken->addCase(e_.getInt64(2), own);
    e_.SetInsertPoint(own);
    accounting_.take_back_hit();
    release();
    e_.CreateBr(bpf_.out);
    e_.SetInsertPoint(busy);
    skip(offsetof(plan::ProbeCounts, waited));
    e_.SetInsertPoint(got);
    words_.push_back(word);
}

void Claims::release() {
    for (size_t i = words_.size(); i-- > 0;)
        e_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, words_[i], e_.number(0), llvm::Align(8),
                           llvm::AtomicOrdering::SequentiallyConsistent);
}

} // namespace sonde
