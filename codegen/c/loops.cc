#include "codegen/c/loops.h"

#include <algorithm>
#include <set>

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "codegen/lower/errors.h"
#include "runtime/plan.h"

namespace sonde {
namespace {

constexpr uint64_t most_turns = 1000;
// The verifier keeps a branch in mind until it has been at the end of the other one, and no more than 8,192 of them
// (BPF_COMPLEXITY_LIMIT_JMP_SEQ).
constexpr uint64_t most_branches = 7000;

// Of the loop that has most.
uint64_t count_branches(llvm::Function& function) {
    llvm::DominatorTree dominators(function);
    llvm::LoopInfo loops(dominators);
    uint64_t most = 0;
    for (const llvm::Loop* loop : loops) {
        uint64_t branches = 1;
        for (const llvm::BasicBlock* block : loop->blocks())
            branches += block->getTerminator()->getNumSuccessors() > 1;
        most = std::max(most, branches);
    }
    return most;
}

void loosen(CBody& body, llvm::PHINode& phi, llvm::BasicBlock& from) {
    body.ir.SetInsertPoint(from.getTerminator());
    llvm::Value* value = phi.getIncomingValueForBlock(&from);
    llvm::Value* zero = body.ir.CreateTrunc(body.unknown_zero(), value->getType());
    phi.setIncomingValueForBlock(&from, body.ir.CreateAdd(value, zero));
}

void end_by_may_goto(CBody& body, llvm::Instruction& before, uint64_t status) {
    llvm::BasicBlock* block = before.getParent();
    llvm::BasicBlock* rest = llvm::SplitBlock(block, &before);
    block->getTerminator()->eraseFromParent();
    body.ir.SetInsertPoint(block);
    body.ir.SetCurrentDebugLocation(before.getDebugLoc());
    auto* type = llvm::FunctionType::get(body.ir.getVoidTy(), false);
    body.ir.CreateCallBr(type, llvm::InlineAsm::get(type, "may_goto ${0:l}", "!i", true), rest, {body.early_end}, {});
    body.early_status->addIncoming(body.ir.getInt64(status), block);
}

} // namespace

void loosen_loops(CBody& body, CPointers& pointers) {
    llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 8> edges;
    llvm::FindFunctionBackedges(body.function, edges);
    std::set<const llvm::BasicBlock*> heads;
    for (const auto& [from, to] : edges)
        heads.insert(to);
    for (const llvm::BasicBlock* head : heads) {
        llvm::SmallVector<llvm::PHINode*, 4> moving;
        for (llvm::PHINode& phi : const_cast<llvm::BasicBlock*>(head)->phis())
            moving.push_back(&phi);
        for (llvm::PHINode* phi : moving) {
            if (phi->getType()->isPointerTy())
                phi = pointers.make_distance(*phi);
            if (!phi || !phi->getType()->isIntegerTy())
                continue;
            for (const auto& [from, to] : edges)
                if (to == head)
                    loosen(body, *phi, *const_cast<llvm::BasicBlock*>(from));
        }
    }
}

void bound_loops(CBody& body) {
    llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 8> edges;
    llvm::FindFunctionBackedges(body.function, edges);
    if (edges.empty())
        return;
    const uint64_t turns =
        body.limits.may_goto
            ? most_turns
            : std::min(most_turns, most_branches / std::max<uint64_t>(count_branches(body.function), 1));
    body.ir.SetInsertPoint(body.has_fault->getNextNode());
    body.ir.SetCurrentDebugLocation({});
    llvm::AllocaInst* left = body.ir.CreateAlloca(body.ir.getInt64Ty());
    llvm::Value* all = body.ir.getInt64(turns);
    body.ir.CreateStore(body.limits.may_goto ? body.ir.CreateAdd(all, body.unknown_zero()) : all, left);
    for (const auto& [from, to] : edges) {
        auto* last = const_cast<llvm::BasicBlock*>(from);
        const llvm::Instruction* jump = last->getTerminator();
        Range range = body.place(*jump);
        llvm::DebugLoc line = jump->getDebugLoc();
        llvm::BasicBlock* turn = llvm::SplitEdge(last, const_cast<llvm::BasicBlock*>(to));
        llvm::Instruction* end = turn->getTerminator();
        body.ir.SetInsertPoint(end);
        body.ir.SetCurrentDebugLocation(line);
        llvm::Value* had = body.ir.CreateLoad(body.ir.getInt64Ty(), left);
        // A read that failed takes all turns that are left. A number that is counted down to the verifier must stay
        // known.
        if (body.limits.may_goto)
            had = body.ir.CreateAnd(had, body.ir.CreateNot(body.ir.CreateLoad(body.ir.getInt64Ty(), body.has_fault)));
        llvm::Value* now = body.ir.CreateSub(had, body.ir.getInt64(1));
        body.ir.CreateStore(now, left);
        const uint64_t status = body.add_place(plan::no_actions_left, range, past_catching);
        body.end_if(body.ir.CreateICmpSLT(now, body.ir.getInt64(0)), end, status);
        if (body.limits.may_goto)
            end_by_may_goto(body, *end, status);
    }
}

} // namespace sonde
