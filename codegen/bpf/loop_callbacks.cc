// Loops for kernels whose verifier has to follow each of them to its end.
//
// Before may_goto (6.9) a loop is accepted only if the verifier can count its iterations, and it looks at all of them.
// bpf_loop() takes one iteration as a function: that is checked once, and may run millions of times. One iteration,
// from the loop's head back to it, is taken out as a function that tells how it ended; what it works on is handed over
// in memory of the stack. A callback runs it, and says whether to go on:
//
//     head: ... condition ... body ... goto head     becomes     iteration(values) -> which way it ended
//                                                                callback(i, {values, way}) { way = iteration(values);
//                                                                } bpf_loop(most, callback, {values, way}); switch
//                                                                (way)
//
// Numbers that a loop changes are unknown at its head (begin_iteration() in lower/stmt.cc), so what the verifier learns
// of one iteration holds for all; kernels before 6.8 look at no more than one.
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
#include "codegen/emitter.h"

namespace sonde {
namespace {

constexpr const char *handed_name = "loop.", *values_name = "loop.values", *way_name = "loop.way";
constexpr uint64_t bpf_loop = 181;
constexpr uint32_t most_iterations = 1 << 23; // BPF_MAX_LOOPS (include/linux/bpf.h)

// The head's comes first: a loop that is entered in the middle is part of the one around it.
llvm::CallInst* find_mark(const llvm::Loop& loop, const llvm::LoopInfo& loops) {
    for (llvm::BasicBlock* block : loop.blocks())
        for (llvm::Instruction& instruction : *block)
            if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction))
                if (call->getCalledFunction() && call->getCalledFunction()->getName() == loop_mark &&
                    loops.getLoopFor(block) == &loop)
                    return call;
    return nullptr;
}

// The innermost first: what is left of it belongs to the outer one's iteration.
llvm::Loop* find_innermost(llvm::LoopInfo& loops) {
    for (llvm::Loop* loop : loops.getLoopsInPreorder())
        if (loop->isInnermost() && find_mark(*loop, loops))
            return loop;
    return nullptr;
}

bool uses_outside(const llvm::AllocaInst& piece, const llvm::Loop& loop) {
    return llvm::any_of(piece.users(), [&](const llvm::User* user) {
        return !loop.contains(llvm::cast<llvm::Instruction>(user)->getParent());
    });
}

// The pieces of the stack that belong to one iteration move into the loop: a callback may not keep addresses of its own
// stack in its caller's. What one step of a handler works with (scratch) has no value before.
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

// Loops that follow each other hand over in the same place.
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

// What lies on the stack becomes one piece of it, so that its address is one value.
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
        builder.SetInsertPoint(whole->getNextNode()); // it can be the last piece
        llvm::Value* place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), whole, offsets[i]);
        used[i]->replaceAllUsesWith(place);
        used[i]->eraseFromParent();
    }
}

// An address at a constant distance from another is computed where it is used: only the other is handed over.
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

// Which number the extracted iteration gives for the way to that block: what CodeExtractor's branch after the call
// compares it with.
uint64_t number_of_way(const llvm::Instruction& branch, const llvm::BasicBlock* to) {
    if (const auto* two = llvm::dyn_cast<llvm::BranchInst>(&branch))
        return two->isConditional() && two->getSuccessor(0) == to;
    const auto& many = llvm::cast<llvm::SwitchInst>(branch);
    for (const auto& way : many.cases())
        if (way.getCaseSuccessor() == to)
            return way.getCaseValue()->getZExtValue();
    return many.getNumCases(); // the last one is the default
}

llvm::Function* make_callback(llvm::Function& iteration, uint64_t again, llvm::StructType* handed) {
    llvm::Module& module = *iteration.getParent();
    llvm::LLVMContext& context = module.getContext();
    llvm::Type *i64 = llvm::Type::getInt64Ty(context), *ptr = llvm::PointerType::get(context, 0);
    auto* callback = llvm::Function::Create(llvm::FunctionType::get(i64, {i64, ptr}, false),
                                            llvm::Function::InternalLinkage, "loop", module);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", callback));
    // The kernel wants each function described, or none.
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

bool used_only_in(const llvm::BasicBlock& block, const llvm::Value& address) {
    return llvm::all_of(address.users(), [&](const llvm::User* user) {
        return llvm::cast<llvm::Instruction>(user)->getParent() == &block &&
               (!llvm::isa<llvm::GetElementPtrInst>(user) || used_only_in(block, *user));
    });
}

// What a loop hands over is there around the loop only, so that other loops' can be in its place when their functions
// have come into this one.
void bound_lifetime(llvm::Value& piece, llvm::BasicBlock& block) {
    if (!llvm::isa<llvm::AllocaInst>(piece) || !used_only_in(block, piece))
        return;
    llvm::IRBuilder<> builder(&block, block.getFirstInsertionPt());
    builder.CreateLifetimeStart(&piece);
    builder.SetInsertPoint(block.getTerminator());
    builder.CreateLifetimeEnd(&piece);
}

// Instead of running the iteration once. To the verifier there may be none; then it leaves nothing, and
// takes the way of one that goes on for too long, `again`.
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

// Where a word of the stack still holds an address of what was there before, the verifier lets nobody load a part of
// it. So such loads stay on the ways where the value was stored, and it is stored on all of them.
bool is_part_of_word(llvm::Type& type, const llvm::DataLayout& layout) { return layout.getTypeStoreSize(&type) < 8; }
void keep_in_place(const llvm::AllocaInst* place, const llvm::DataLayout& layout) {
    if (!place || !is_part_of_word(*place->getAllocatedType(), layout))
        return;
    for (const llvm::User* user : place->users())
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user))
            const_cast<llvm::LoadInst*>(load)->setVolatile(true);
}

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

// What one iteration leaves for the next, and what the loop leaves behind, goes through memory: a call gives back
// nothing but the way that it took.
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

void replace(llvm::Function& function, llvm::Loop& loop, llvm::LoopInfo& loops) {
    llvm::LLVMContext& context = function.getContext();
    pass_through_stack(loop);
    std::vector<llvm::AllocaInst*> own = take_pieces(function, loop);
    join_stack(function, loop);
    compute_addresses_inside(loop, function.getParent()->getDataLayout());
    // The mark's branch goes on; where it would have left for is where a loop without end leaves for.
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
    // What is left of them is no loop: it always leaves.
    while (!mark->use_empty()) {
        auto* call = llvm::cast<llvm::CallInst>(mark->user_back());
        call->replaceAllUsesWith(llvm::ConstantInt::getFalse(module.getContext()));
        call->eraseFromParent();
    }
    mark->eraseFromParent();
}

} // namespace sonde
