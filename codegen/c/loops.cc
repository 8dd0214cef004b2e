// Makes loops in the script's C acceptable to the verifier.
//
// Each back edge of a loop (each turn) subtracts 1 from a counter of the function, and the function ends with an error
// at 0. The verifier must also accept the loop, which depends on the kernel:
//
//   with may_goto (6.9)            a may_goto at each back edge
//   before                         the loop's head gets a mark and becomes a callback of bpf_loop()
//                                  (codegen/bpf/loop_callbacks.h)
//   before, loop with two heads    the verifier follows all turns through all branches and sees the counter reach 0
//
// In the first two cases the verifier checks only a few turns and concludes that all others behave the same. So all
// values that a turn changes must be unknown to the verifier at the loop's head. A number gets a zero added that the
// verifier does not know (CBody::unknown_zero()). An array is read onto itself. A pointer that moves is replaced by its
// distance from the object's beginning, which is checked at each access.
//
// Example: in `for (i = 0; i < n; i++) sum += a[i]`, the verifier knows that `i` is 0 in the first turn. Without the
// unknown zero it would check the turn with `i` = 0, then 1, then 2, and so on.
//
// In nested loops, the values of the first turn must be unknown, too, also those in memory. Otherwise the verifier
// checks the inner loop several times for each check of the outer one.
#include "codegen/c/loops.h"

#include <algorithm>
#include <set>

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "codegen/bpf/loop_callbacks.h"
#include "codegen/emit/environment.h"
#include "runtime/plan/plan.h"

namespace sonde {
namespace {

using Edges = llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 8>;

// The verifier stores each branch until it has followed the other side to its end. It stores at most 8,192
// (BPF_COMPLEXITY_LIMIT_JMP_SEQ).
constexpr uint64_t most_branches = 7000;

Edges back_edges(const llvm::Function& function) {
    Edges out;
    llvm::FindFunctionBackedges(function, out);
    return out;
}

uint64_t count_branches(const llvm::Function& function) {
    uint64_t out = 1;
    for (const llvm::BasicBlock& block : function)
        out += block.getTerminator()->getNumSuccessors() > 1;
    return out;
}

// Gives 0 to variables without a value on some path. C never takes such a path, because the loop runs at least once,
// but the verifier does not know that and refuses to read the variable.
void define_values(llvm::Function& function) {
    for (llvm::BasicBlock& block : function)
        for (llvm::PHINode& phi : block.phis())
            for (llvm::Use& value : phi.incoming_values())
                if (llvm::isa<llvm::UndefValue>(value) && phi.getType()->isIntegerTy())
                    value.set(llvm::Constant::getNullValue(phi.getType()));
}

bool has_nested_loops(llvm::Function& function) {
    llvm::DominatorTree dominators(function);
    const llvm::LoopInfo loops(dominators);
    return llvm::any_of(loops, [](const llvm::Loop* loop) { return !loop->isInnermost(); });
}

void loosen(CBody& body, llvm::PHINode& phi, llvm::BasicBlock& from) {
    body.ir.SetInsertPoint(from.getTerminator());
    llvm::Value* value = phi.getIncomingValueForBlock(&from);
    llvm::Value* zero = body.ir.CreateTrunc(body.unknown_zero(), value->getType());
    phi.setIncomingValueForBlock(&from, body.ir.CreateAdd(value, zero));
}

// Makes a phi's value unknown from the first turn on. The callback is checked with the values before the loop, and
// before 6.8 only once.
llvm::Value& loosen_at_head(CBody& body, llvm::PHINode& phi) {
    body.ir.SetInsertPoint(&*phi.getParent()->getFirstInsertionPt());
    body.ir.SetCurrentDebugLocation(phi.getDebugLoc());
    llvm::Value* zero = body.unknown_zero();
    llvm::Instruction *first = nullptr, *loose = nullptr;
    if (phi.getType()->isPointerTy()) {
        first = llvm::cast<llvm::Instruction>(body.ir.CreatePtrToInt(&phi, body.ir.getInt64Ty()));
        loose = llvm::cast<llvm::Instruction>(body.ir.CreateIntToPtr(body.ir.CreateAdd(first, zero), phi.getType()));
    } else {
        zero = body.ir.CreateTrunc(zero, phi.getType());
        first = loose = llvm::cast<llvm::Instruction>(body.ir.CreateAdd(&phi, zero));
    }
    phi.replaceUsesWithIf(loose, [&](const llvm::Use& use) { return use.getUser() != first; });
    return *loose;
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

// Variables that a loop changes, except those that each turn writes before it reads them.
std::set<llvm::AllocaInst*> changed_variables(const CBody& body, const llvm::Loop& loop) {
    std::set<llvm::AllocaInst*> out;
    auto add = [&](const llvm::Value* address) {
        const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(address, 0));
        if (variable)
            out.insert(const_cast<llvm::AllocaInst*>(variable));
    };
    for (const llvm::BasicBlock* block : loop.blocks())
        for (const llvm::Instruction& at : *block)
            if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&at))
                add(store->getPointerOperand());
            else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&at))
                for (const llvm::Use& argument : call->args())
                    if (argument->getType()->isPointerTy())
                        add(argument);
    for (const auto& [size, variable] : body.variables)
        out.erase(variable);
    std::erase_if(out, [&](const llvm::AllocaInst* variable) { return body.moved.contains(variable); });
    return out;
}

bool keeps_address(const llvm::AllocaInst& variable) {
    llvm::SmallVector<const llvm::User*, 8> users(variable.users());
    while (!users.empty()) {
        const llvm::User* user = users.pop_back_val();
        if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
            const llvm::Value* value = store->getValueOperand();
            if (value->getType()->isPointerTy() && !llvm::isa<llvm::IntToPtrInst>(value) &&
                !llvm::isa<llvm::ConstantPointerNull>(value))
                return true;
        } else if (llvm::isa<llvm::GetElementPtrInst>(user)) {
            users.append(user->user_begin(), user->user_end());
        }
    }
    return false;
}

// Makes the contents of variables unknown to the verifier from this block on. `changed`: the variables that the loop
// changes.
void loosen_variables(CBody& body, CPointers& pointers, const std::set<llvm::AllocaInst*>& changed,
                      llvm::BasicBlock& from) {
    body.ir.SetInsertPoint(&*from.getFirstInsertionPt());
    for (llvm::AllocaInst* variable : changed) {
        if (variable->getAllocatedType()->isIntegerTy()) {
            llvm::Type* number = variable->getAllocatedType();
            llvm::Value* value = body.ir.CreateLoad(number, variable);
            llvm::Value* zero = body.ir.CreateZExtOrTrunc(body.unknown_zero(), number);
            body.ir.CreateStore(body.ir.CreateAdd(value, zero), variable);
        } else if (!keeps_address(*variable)) {
            pointers.read_onto_itself(*variable);
        }
    }
}

void mark_loop(CBody& body, CPointers& pointers, const llvm::Loop& loop, uint64_t status) {
    const std::set<llvm::AllocaInst*> changed = changed_variables(body, loop);
    llvm::BasicBlock* head = loop.getHeader();
    llvm::DebugLoc line = head->getTerminator()->getDebugLoc();
    llvm::BasicBlock* turn = llvm::SplitBlock(head, head->getFirstNonPHI());
    llvm::BasicBlock* limit = llvm::BasicBlock::Create(head->getContext(), "limit", &body.function);
    body.ir.SetInsertPoint(limit);
    body.ir.SetCurrentDebugLocation(line);
    body.ir.CreateBr(body.early_end);
    body.early_status->addIncoming(body.ir.getInt64(status), limit);
    head->getTerminator()->eraseFromParent();
    body.ir.SetInsertPoint(head);
    llvm::FunctionType* type = llvm::FunctionType::get(body.ir.getInt1Ty(), false);
    llvm::FunctionCallee mark = body.function.getParent()->getOrInsertFunction(loop_mark, type);
    body.ir.CreateCondBr(body.ir.CreateCall(mark), limit, turn);
    loosen_variables(body, pointers, changed, *turn);
}

// Keeps a variable in memory. In a register, it would be passed at each head and exit of a loop, each time through
// another stack slot.
void keep_in_memory(const llvm::AllocaInst& variable) {
    for (llvm::User* user : const_cast<llvm::AllocaInst&>(variable).users())
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user))
            load->setVolatile(true);
        else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user))
            store->setVolatile(true);
}

} // namespace

void loosen_loops(CBody& body, CPointers& pointers) {
    define_values(body.function);
    const Edges edges = back_edges(body.function);
    body.has_may_goto = body.limits.may_goto;
    body.loosens_at_heads = !body.has_may_goto || has_nested_loops(body.function);
    // In the order of the function, so that the same text always gives the same program.
    std::vector<llvm::BasicBlock*> heads;
    for (llvm::BasicBlock& block : body.function)
        if (llvm::any_of(edges, [&](const auto& edge) { return edge.second == &block; }))
            heads.push_back(&block);
    auto for_each_phi = [&](auto work) {
        for (llvm::BasicBlock* head : heads) {
            llvm::SmallVector<llvm::PHINode*, 8> now;
            for (llvm::PHINode& phi : head->phis())
                now.push_back(&phi);
            for (llvm::PHINode* phi : now)
                work(*head, *phi);
        }
    };
    for_each_phi([&](llvm::BasicBlock&, llvm::PHINode& phi) {
        if (phi.getType()->isPointerTy())
            pointers.make_distance(phi);
    });
    for_each_phi([&](llvm::BasicBlock&, llvm::PHINode& phi) {
        if (phi.getType()->isPointerTy() && pointers.target_of(&phi).has_local)
            pointers.make_numbers(phi);
    });
    for_each_phi([&](llvm::BasicBlock& head, llvm::PHINode& phi) {
        const bool is_number = phi.getType()->isIntegerTy();
        if (body.loosens_at_heads && (is_number || !pointers.target_of(&phi).has_local)) {
            pointers.replace_number(phi, loosen_at_head(body, phi));
        } else if (is_number) {
            for (const auto& [from, to] : edges)
                if (to == &head)
                    loosen(body, phi, *const_cast<llvm::BasicBlock*>(from));
        }
    });
}

// Separates the heads of loops from preceding calls. Older verifiers refuse a back edge to the instruction after a call
// (push_insn(), `loop_ok`; their message mentions `back-edge`). LLVM may place blocks that way.
void part_calls_from_heads(CBody& body) {
    auto* type = llvm::FunctionType::get(body.ir.getVoidTy(), false);
    for (llvm::BasicBlock& block : body.function) {
        auto* jump = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
        if (!jump || jump->isConditional())
            continue;
        body.ir.SetInsertPoint(jump);
        body.ir.SetCurrentDebugLocation(jump->getDebugLoc());
        body.ir.CreateCall(type, llvm::InlineAsm::get(type, "goto +0", "", true));
    }
}

// Adds the check at each back edge: `if (--left < 0) goto failed`. All loops share the counter `left`. With may_goto, a
// may_goto follows the check. Without it, a loop with one head is also marked for a callback. Loops with several heads
// share a second counter instead, whose start the verifier knows.
void bound_loops(CBody& body, CPointers& pointers) {
    const Edges edges = back_edges(body.function);
    if (edges.empty())
        return;
    llvm::DominatorTree dominators(body.function);
    llvm::LoopInfo loops(dominators);
    body.ir.SetInsertPoint(body.has_fault->getNextNode());
    body.ir.SetCurrentDebugLocation({});
    llvm::AllocaInst *left = body.ir.CreateAlloca(body.ir.getInt64Ty()), *counted = nullptr;
    body.ir.CreateStore(body.ir.CreateAdd(body.ir.getInt64(body.limits.turns), body.unknown_zero()), left);
    const uint64_t few_turns = std::min(body.limits.turns, most_branches / count_branches(body.function));
    std::vector<std::pair<const llvm::Loop*, uint64_t>> marked;
    for (const auto& [from, to] : edges) {
        auto* last = const_cast<llvm::BasicBlock*>(from);
        const llvm::Loop* loop = loops.getLoopFor(to);
        const bool has_head = loop && loop->getHeader() == to && loop->contains(from);
        const llvm::Instruction* jump = last->getTerminator();
        Range range = body.place(*jump);
        llvm::DebugLoc line = jump->getDebugLoc();
        llvm::AllocaInst* count = left;
        const bool is_counted = !body.has_may_goto && !has_head;
        if (is_counted && !counted) {
            body.ir.SetInsertPoint(body.has_fault->getNextNode());
            body.ir.SetCurrentDebugLocation({});
            counted = body.ir.CreateAlloca(body.ir.getInt64Ty());
            body.ir.CreateStore(body.ir.getInt64(few_turns), counted);
        }
        if (is_counted)
            count = counted;
        llvm::BasicBlock* turn = llvm::SplitEdge(last, const_cast<llvm::BasicBlock*>(to), &dominators, &loops);
        llvm::Instruction* end = turn->getTerminator();
        body.ir.SetInsertPoint(end);
        body.ir.SetCurrentDebugLocation(line);
        llvm::Value* had = body.ir.CreateLoad(body.ir.getInt64Ty(), count);
        // A failed read takes all remaining turns. If the verifier counts the turns itself, the counter must remain
        // known.
        if (!is_counted)
            had = body.ir.CreateAnd(had, body.ir.CreateNot(body.ir.CreateLoad(body.ir.getInt64Ty(), body.has_fault)));
        llvm::Value* now = body.ir.CreateSub(had, body.ir.getInt64(1));
        body.ir.CreateStore(now, count);
        const uint64_t status = body.add_place(plan::ErrorId::ActionsSpent, range, past_catching);
        body.end_if(body.ir.CreateICmpSLT(now, body.ir.getInt64(0)), end, status);
        if (body.has_may_goto)
            end_by_may_goto(body, *end, status);
        if (body.loosens_at_heads && has_head &&
            std::none_of(marked.begin(), marked.end(), [&](const auto& one) { return one.first == loop; }))
            marked.emplace_back(loop, status);
    }
    if (counted)
        part_calls_from_heads(body);
    if (marked.empty())
        return;
    // Compute the loops again, because they now contain the blocks of the checks.
    std::map<const llvm::BasicBlock*, uint64_t> statuses;
    for (const auto& [loop, status] : marked)
        statuses[loop->getHeader()] = status;
    llvm::DominatorTree now(body.function);
    llvm::LoopInfo whole(now);
    for (const llvm::Loop* loop : whole.getLoopsInPreorder()) {
        auto found = statuses.find(loop->getHeader());
        if (found == statuses.end())
            continue;
        if (body.has_may_goto)
            loosen_variables(body, pointers, changed_variables(body, *loop), *loop->getHeader());
        else
            mark_loop(body, pointers, *loop, found->second);
    }
    for (const llvm::AllocaInst* variable : {body.fault_status, body.fault_address, body.has_fault, left})
        keep_in_memory(*variable);
}

} // namespace sonde
