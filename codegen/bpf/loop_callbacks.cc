// Turns marked loops into callbacks of bpf_loop(), for kernels without may_goto.
//
// The problem: before may_goto (6.9) the verifier accepts a loop only if it can count the iterations, and it simulates
// every single one. A loop of 10,000 iterations, or a loop over a list, exceeds its limit of one million instructions.
// The verifier checks the callback of bpf_loop() once instead, and the callback may run millions of times.
//
// The idea: extract one iteration, from the loop's head back to the head, as a function that returns the number of the
// exit it took. The callback calls this function, stores the number, and returns 1 (stop) unless the iteration wants
// another one. After bpf_loop(), a switch on the number continues where the loop would have left.
//
//     while (i < n) {                          int iteration(values) {         // values: addresses of i, n, found
//         if (a[i] == x) goto found;     =>        if (!(i < n)) return 0;     // exit 0: after the loop
//         i++;                                     if (a[i] == x) return 1;    // exit 1: found
//     }                                            i++; return 2;              // exit 2: again
//                                              }
//                                              callback(index, handed) { handed->exit = iteration(handed->values);
//                                                                        return handed->exit != 2; }
//                                              handed = {values, 2};
//                                              bpf_loop(1 << 23, callback, &handed, 0);
//                                              switch (handed.exit) { ... }
//
// An iteration has no other result than the exit's number. The values that it shares with the next iteration, or with
// the code after the loop, are in stack memory of the calling function. The callback gets one address into that memory.
//
// What would break this:
// * A pointer into the callback's own stack in the caller's memory. The verifier refuses it, so variables that belong
//   to one iteration move into the iteration (take_pieces()).
// * Knowledge of the first iteration. The verifier may have seen that `i` is 0. begin_iteration() in lower/stmt.cc
//   therefore makes the numbers that a loop changes unknown at its head. Kernels before 6.8 check one iteration only,
//   so each iteration must work with any values.
// * A result that exists only after an iteration. The verifier assumes that bpf_loop() may run its callback zero times.
#include "codegen/bpf/loop_callbacks.h"

#include <algorithm>

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/CodeExtractor.h>
#include <llvm/Transforms/Utils/Local.h>

#include "base/check.h"
#include "codegen/emit/emitter.h"

namespace sonde {
namespace {

constexpr const char *handed_name = "loop.", *values_name = "loop.values", *way_name = "loop.way";
constexpr uint64_t bpf_loop = 181;
constexpr uint32_t most_iterations = 1 << 23; // BPF_MAX_LOOPS (include/linux/bpf.h)

// Searches only blocks whose innermost loop is this one. If a loop is entered in the middle, LLVM knows only the loop
// around it, and then the mark at the head of the outer loop comes first.
llvm::CallInst* find_mark(const llvm::Loop& loop, const llvm::LoopInfo& loops) {
    for (llvm::BasicBlock* block : loop.blocks())
        for (llvm::Instruction& instruction : *block)
            if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction))
                if (call->getCalledFunction() && call->getCalledFunction()->getName() == loop_mark &&
                    loops.getLoopFor(block) == &loop)
                    return call;
    return nullptr;
}

// Innermost loops are replaced first. The remains of an inner loop (a call of bpf_loop() and a switch) are then part of
// the outer loop's iteration.
llvm::Loop* find_innermost(llvm::LoopInfo& loops) {
    for (llvm::Loop* loop : loops.getLoopsInPreorder())
        if (loop->isInnermost() && find_mark(*loop, loops))
            return loop;
    return nullptr;
}

// Whether code outside of the loop uses the stack variable. Such a variable must stay in the calling function.
bool uses_outside(const llvm::AllocaInst& piece, const llvm::Loop& loop) {
    return llvm::any_of(piece.users(), [&](const llvm::User* user) {
        return !loop.contains(llvm::cast<llvm::Instruction>(user)->getParent());
    });
}

// Moves the stack variables that belong to one iteration into the loop, because a callback may not store addresses of
// its own stack in its caller's stack. Scratch variables have no value before the step that uses them, so the loop gets
// copies. Returns the variables that are now in the loop.
std::vector<llvm::AllocaInst*> take_pieces(llvm::Function& function, llvm::Loop& loop) {
    std::vector<llvm::AllocaInst*> out;
    llvm::BasicBlock& header = *loop.getHeader();
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(function.getEntryBlock())) {
        auto* piece = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
        if (!piece || piece->user_empty())
            continue;
        llvm::StringRef name = piece->getName();
        if (name.starts_with(handed_name) && !uses_outside(*piece, loop)) {
            piece->moveBefore(&*header.getFirstInsertionPt());
            out.push_back(piece);
        } else if (name.starts_with(scratch_name)) {
            auto* own = llvm::cast<llvm::AllocaInst>(piece->clone());
            own->insertBefore(&*header.getFirstInsertionPt());
            own->setName(name);
            piece->replaceUsesWithIf(own, [&](llvm::Use& use) {
                return loop.contains(llvm::cast<llvm::Instruction>(use.getUser())->getParent());
            });
            if (own->use_empty())
                own->eraseFromParent();
            else
                out.push_back(own);
        }
    }
    return out;
}

// Loops that run one after the other share one variable for what they pass to their callbacks. BPF's stack has 512
// bytes.
void share_pieces(llvm::Function& function) {
    const llvm::DataLayout& layout = function.getParent()->getDataLayout();
    auto size = [&](const llvm::AllocaInst& piece) { return piece.getAllocationSize(layout)->getFixedValue(); };
    for (const char* kind : {values_name, way_name}) {
        std::vector<llvm::AllocaInst*> pieces;
        for (llvm::Instruction& instruction : function.getEntryBlock())
            if (auto* piece = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
                piece && piece->getName().starts_with(kind))
                pieces.push_back(piece);
        if (pieces.size() < 2)
            continue;
        auto largest = std::max_element(pieces.begin(), pieces.end(),
                                        [&](const auto* a, const auto* b) { return size(*a) < size(*b); });
        llvm::AllocaInst* whole = *largest;
        whole->moveBefore(&*function.getEntryBlock().getFirstInsertionPt());
        for (llvm::AllocaInst* piece : pieces)
            if (piece != whole) {
                piece->replaceAllUsesWith(whole);
                piece->eraseFromParent();
            }
    }
}

// Joins all stack variables that the loop uses to one, so that the callback needs a single address.
void join_stack(llvm::Function& function, const llvm::Loop& loop) {
    std::vector<llvm::AllocaInst*> used;
    for (llvm::Instruction& instruction : function.getEntryBlock())
        if (auto* piece = llvm::dyn_cast<llvm::AllocaInst>(&instruction); piece && piece->isStaticAlloca())
            if (llvm::any_of(piece->users(), [&](llvm::User* user) {
                    return loop.contains(llvm::cast<llvm::Instruction>(user)->getParent());
                }))
                used.push_back(piece);
    if (used.size() < 2)
        return;
    const llvm::DataLayout& layout = function.getParent()->getDataLayout();
    uint64_t size = 0;
    std::vector<uint64_t> offsets;
    for (llvm::AllocaInst* piece : used) {
        offsets.push_back(size);
        size += (piece->getAllocationSize(layout)->getFixedValue() + 7) & ~7ull;
    }
    llvm::IRBuilder<> builder(&function.getEntryBlock(), function.getEntryBlock().begin());
    llvm::AllocaInst* whole = builder.CreateAlloca(llvm::ArrayType::get(builder.getInt8Ty(), size));
    whole->setAlignment(llvm::Align(8));
    for (size_t i = 0; i < used.size(); i++) {
        builder.SetInsertPoint(whole->getNextNode()); // `used[i]` may be the entry block's last variable
        llvm::Value* place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), whole, offsets[i]);
        used[i]->replaceAllUsesWith(place);
        used[i]->eraseFromParent();
    }
}

// Computes an address at a constant distance from another one in the loop, where it is used. Otherwise the extracted
// function would get both addresses as arguments, and it may have only one.
void compute_addresses_inside(const llvm::Loop& loop, const llvm::DataLayout& layout) {
    for (llvm::BasicBlock* block : loop.blocks())
        for (llvm::Instruction& instruction : llvm::make_early_inc_range(*block))
            for (llvm::Use& use : instruction.operands()) {
                auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(use.get());
                if (!address || loop.contains(address->getParent()) || llvm::isa<llvm::PHINode>(instruction))
                    continue;
                llvm::APInt offset(64, 0);
                llvm::Value* base = address->stripAndAccumulateConstantOffsets(layout, offset, true);
                llvm::IRBuilder<> builder(&instruction);
                if (base != address)
                    use.set(builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset.getZExtValue()));
            }
}

// The number that the extracted iteration returns if it leaves for the block `to`. CodeExtractor compares the result
// with it in the branch after the call.
uint64_t number_of_way(const llvm::Instruction& branch, const llvm::BasicBlock* to) {
    if (const auto* two = llvm::dyn_cast<llvm::BranchInst>(&branch))
        return two->isConditional() && two->getSuccessor(0) == to;
    const auto& many = llvm::cast<llvm::SwitchInst>(branch);
    for (const auto& way : many.cases())
        if (way.getCaseSuccessor() == to)
            return way.getCaseValue()->getZExtValue();
    return many.getNumCases(); // the last one is the default
}

// Creates the function that the kernel calls for each iteration:
//
//     u64 loop(u64 index, handed *h) { u64 way = iteration(h->values); h->way = way; return way != again; }
//
// `again`: the number of the exit that stands for the next iteration. `handed`: the type {values, way}. If the
// iteration has only one exit, it returns void. Then that exit is `again`, and the callback always returns 0.
llvm::Function* make_callback(llvm::Function& iteration, uint64_t again, llvm::StructType* handed) {
    llvm::Module& module = *iteration.getParent();
    llvm::LLVMContext& context = module.getContext();
    llvm::Type *i64 = llvm::Type::getInt64Ty(context), *ptr = llvm::PointerType::get(context, 0);
    auto* callback = llvm::Function::Create(llvm::FunctionType::get(i64, {i64, ptr}, false),
                                            llvm::Function::InternalLinkage, "loop", module);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", callback));
    // If one function of a program has BTF, the kernel requires it for all.
    llvm::DISubprogram* like = iteration.getSubprogram();
    for (const llvm::Function& other : module)
        like = like ? like : other.getSubprogram();
    if (like) {
        llvm::DIBuilder types(module, false, like->getUnit());
        auto* type = types.createSubroutineType(
            types.getOrCreateTypeArray({types.createBasicType("int", 32, llvm::dwarf::DW_ATE_signed)}));
        llvm::DISubprogram* own = types.createFunction(
            like->getFile(), callback->getName(), "", like->getFile(), like->getLine(), type, like->getLine(),
            llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagLocalToUnit);
        types.finalizeSubprogram(own);
        callback->setSubprogram(own);
        builder.SetCurrentDebugLocation(llvm::DILocation::get(context, like->getLine(), 0, own));
    }
    llvm::Value* values = builder.CreateLoad(ptr, builder.CreateStructGEP(handed, callback->getArg(1), 0));
    llvm::CallInst* way = builder.CreateCall(&iteration, {values});
    if (way->getType()->isVoidTy()) {
        builder.CreateRet(builder.getInt64(0));
    } else {
        llvm::Value* number = builder.CreateZExt(way, i64);
        builder.CreateStore(number, builder.CreateStructGEP(handed, callback->getArg(1), 1));
        builder.CreateRet(builder.CreateZExt(builder.CreateICmpNE(number, builder.getInt64(again)), i64));
    }
    return callback;
}

// Whether all uses of an address, and of addresses that are computed from it, are in this block.
bool used_only_in(const llvm::BasicBlock& block, const llvm::Value& address) {
    return llvm::all_of(address.users(), [&](const llvm::User* user) {
        return llvm::cast<llvm::Instruction>(user)->getParent() == &block &&
               (!llvm::isa<llvm::GetElementPtrInst>(user) || used_only_in(block, *user));
    });
}

// Limits the variable's lifetime to the block with the call. After inlining, the variables of other loops can then
// share the same stack memory.
void bound_lifetime(llvm::Value& piece, llvm::BasicBlock& block) {
    if (!llvm::isa<llvm::AllocaInst>(piece) || !used_only_in(block, piece))
        return;
    llvm::IRBuilder<> builder(&block, block.getFirstInsertionPt());
    builder.CreateLifetimeStart(&piece);
    builder.SetInsertPoint(block.getTerminator());
    builder.CreateLifetimeEnd(&piece);
}

// Replaces the call of the iteration by a call of bpf_loop(). The verifier assumes that the callback may run zero
// times, so the exit's number has a valid value before: `again`, which after bpf_loop() means "too many iterations".
void run_by_helper(llvm::CallInst& call, llvm::Function& callback, llvm::StructType* handed, uint64_t again) {
    llvm::BasicBlock& entry = call.getFunction()->getEntryBlock();
    llvm::IRBuilder<> builder(&entry, entry.begin());
    llvm::AllocaInst* hand = builder.CreateAlloca(handed, nullptr, way_name);
    builder.SetInsertPoint(&call);
    builder.CreateStore(call.getArgOperand(0), builder.CreateStructGEP(handed, hand, 0));
    llvm::Value* number = builder.CreateStructGEP(handed, hand, 1);
    builder.CreateStore(builder.getInt64(again), number);
    llvm::Type *i64 = builder.getInt64Ty(), *i32 = builder.getInt32Ty(), *ptr = builder.getPtrTy();
    builder.CreateCall(llvm::FunctionType::get(i64, {i32, ptr, ptr, i64}, false),
                       builder.CreateIntToPtr(builder.getInt64(bpf_loop), ptr),
                       {builder.getInt32(most_iterations), &callback, hand, builder.getInt64(0)});
    if (!call.getType()->isVoidTy())
        call.replaceAllUsesWith(builder.CreateTrunc(builder.CreateLoad(i64, number), call.getType()));
    llvm::Value& values = *call.getArgOperand(0);
    llvm::BasicBlock& block = *call.getParent();
    call.eraseFromParent();
    bound_lifetime(*hand, block);
    bound_lifetime(values, block);
}

// Makes the loads from a stack variable of less than 8 bytes volatile, so that LLVM does not move them to paths on
// which nothing was stored. If the stack slot still holds an old pointer there, the verifier refuses a load of a part
// of it. For the same reason a value is stored on every path (move_phis_to_stack()).
bool is_part_of_word(llvm::Type& type, const llvm::DataLayout& layout) { return layout.getTypeStoreSize(&type) < 8; }
void keep_in_place(const llvm::AllocaInst* place, const llvm::DataLayout& layout) {
    if (!place || !is_part_of_word(*place->getAllocatedType(), layout))
        return;
    for (const llvm::User* user : place->users())
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user))
            const_cast<llvm::LoadInst*>(load)->setVolatile(true);
}

// Replaces the block's phis by stack variables. A phi merges values of several predecessors, and after extraction these
// are in different functions.
void move_phis_to_stack(llvm::BasicBlock& block) {
    const llvm::DataLayout& layout = block.getModule()->getDataLayout();
    while (!block.phis().empty()) {
        llvm::PHINode& phi = *block.phis().begin();
        for (llvm::Use& value : phi.incoming_values())
            if (llvm::isa<llvm::UndefValue>(value) && is_part_of_word(*phi.getType(), layout))
                value.set(llvm::Constant::getNullValue(phi.getType()));
        keep_in_place(llvm::DemotePHIToStack(&phi), layout);
    }
}

// Puts into stack variables what one iteration passes to the next, and what the loop passes to the code after it. The
// extracted function returns nothing but the exit's number.
void pass_through_stack(llvm::Loop& loop) {
    move_phis_to_stack(*loop.getHeader());
    llvm::SmallVector<llvm::BasicBlock*, 4> exits;
    loop.getUniqueExitBlocks(exits);
    for (llvm::BasicBlock* exit : exits)
        move_phis_to_stack(*exit);
    std::vector<llvm::Instruction*> used_behind;
    for (llvm::BasicBlock* block : loop.blocks())
        for (llvm::Instruction& instruction : *block)
            if (llvm::any_of(instruction.users(), [&](const llvm::User* user) {
                    return !loop.contains(llvm::cast<llvm::Instruction>(user)->getParent());
                }))
                used_behind.push_back(&instruction);
    for (llvm::Instruction* instruction : used_behind)
        keep_in_place(llvm::DemoteRegToStack(*instruction), instruction->getModule()->getDataLayout());
}

// Replaces one loop by a call of bpf_loop(). The steps:
//
// 1. Values that cross the loop's border move to the stack (pass_through_stack()).
// 2. The stack variables are sorted into two groups: those of one iteration, and all others, which become one block of
//    memory (take_pieces(), join_stack()).
// 3. Jumps back to the head go to the new block `again` instead. The region is then free of cycles.
// 4. LLVM's CodeExtractor makes a function of the region, and the code after the call becomes a branch on its result.
// 5. The call is replaced by bpf_loop() with a callback.
//
// If one of the checks fails, the extracted function has an argument that was not expected. The program would be wrong,
// so sonde stops here.
void replace(llvm::Function& function, llvm::Loop& loop, llvm::LoopInfo& loops) {
    llvm::LLVMContext& context = function.getContext();
    pass_through_stack(loop);
    std::vector<llvm::AllocaInst*> own = take_pieces(function, loop);
    join_stack(function, loop);
    compute_addresses_inside(loop, function.getParent()->getDataLayout());
    // The mark's branch (`if (mark()) goto limit`) becomes unconditional. Its target `limit` is where the code
    // continues after too many iterations.
    llvm::CallInst* mark = find_mark(loop, loops);
    auto* branch = llvm::cast<llvm::BranchInst>(mark->getParent()->getTerminator());
    CHECK(branch->isConditional() && branch->getCondition() == mark);
    llvm::BasicBlock *limit = branch->getSuccessor(0), *go = branch->getSuccessor(1);
    llvm::IRBuilder<>(branch).CreateBr(go);
    branch->eraseFromParent();
    mark->eraseFromParent();
    auto* again = llvm::BasicBlock::Create(context, "again", &function);
    llvm::IRBuilder<>(again).CreateBr(limit);
    llvm::SmallVector<llvm::BasicBlock*, 4> latches;
    loop.getLoopLatches(latches);
    CHECK(limit->phis().empty());
    for (llvm::BasicBlock* latch : latches)
        latch->getTerminator()->replaceSuccessorWith(loop.getHeader(), again);

    llvm::SmallVector<llvm::BasicBlock*, 32> blocks(loop.blocks());
    llvm::DominatorTree dominators(function);
    llvm::CodeExtractor extractor(blocks, &dominators, true, nullptr, nullptr, nullptr, false, true);
    llvm::CodeExtractorAnalysisCache cache(function);
    CHECK(extractor.isEligible());
    llvm::Function* iteration = extractor.extractCodeRegion(cache);
    CHECK(iteration && iteration->hasOneUser() && iteration->arg_size() == 1);
    for (llvm::AllocaInst* piece : own)
        piece->moveBefore(&*iteration->getEntryBlock().getFirstInsertionPt());
    auto* call = llvm::cast<llvm::CallInst>(iteration->user_back());
    if (auto* values = llvm::dyn_cast<llvm::AllocaInst>(call->getArgOperand(0)))
        values->setName(values_name);
    auto* handed =
        llvm::StructType::get(context, {llvm::PointerType::get(context, 0), llvm::Type::getInt64Ty(context)});
    const uint64_t number = number_of_way(*call->getParent()->getTerminator(), again);
    llvm::Function* callback = make_callback(*iteration, number, handed);
    run_by_helper(*call, *callback, handed, number);
    iteration->addFnAttr(llvm::Attribute::AlwaysInline);
    iteration->setLinkage(llvm::GlobalValue::InternalLinkage);
}

} // namespace

void make_loop_callbacks(llvm::Module& module) {
    llvm::Function* mark = module.getFunction(loop_mark);
    if (!mark)
        return;
    std::vector<llvm::Function*> functions;
    for (llvm::Function& function : module)
        if (!function.isDeclaration())
            functions.push_back(&function);
    for (llvm::Function* function : functions)
        for (;;) {
            llvm::removeUnreachableBlocks(*function);
            llvm::DominatorTree dominators(*function);
            llvm::LoopInfo loops(dominators);
            llvm::Loop* loop = find_innermost(loops);
            if (!loop)
                break;
            replace(*function, *loop, loops);
        }
    for (llvm::Function& function : module)
        if (!function.isDeclaration())
            share_pieces(function);
    // No marks of loops are left. The others are not in loops, so they never mean "too many iterations".
    while (!mark->use_empty()) {
        auto* call = llvm::cast<llvm::CallInst>(mark->user_back());
        call->replaceAllUsesWith(llvm::ConstantInt::getFalse(module.getContext()));
        call->eraseFromParent();
    }
    mark->eraseFromParent();
}

} // namespace sonde
