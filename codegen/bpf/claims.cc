#include "codegen/bpf/claims.h"

#include <cstddef>

namespace sonde {
namespace {
constexpr uint32_t claim_tries = 8;
} // namespace

llvm::Value* Claims::claim(const char* map, uint32_t slots) {
    llvm::BasicBlock* claimed = e_.block("claimed");
    auto saved = e_.saveIP();
    e_.SetInsertPoint(claimed);
    llvm::PHINode* slot = e_.CreatePHI(e_.ptr(), claim_tries);
    e_.restoreIP(saved);
    llvm::Value* key = e_.scratch("index", 8);
    llvm::Value* first =
        e_.CreateMul(e_.CreateTrunc(helper(e_, get_smp_processor_id, {}), e_.getInt32Ty()), e_.getInt32(claim_tries));
    for (uint32_t i = 0; i < claim_tries; i++) {
        llvm::Value* index = e_.CreateURem(e_.CreateAdd(first, e_.getInt32(i)), e_.getInt32(slots));
        e_.CreateStore(index, key);
        llvm::Value* element = helper_pointer(e_, map_lookup_elem, {map_reference(e_, map), key});
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
