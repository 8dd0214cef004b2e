// Moves C variables that the BPF stack cannot hold into slots.
//
// BPF has 512 bytes of stack for a program and all functions that are inlined into it. `char path[256], name[256];` in
// a script's C would exceed that. A slot is part of the handler's frame, which is map memory, and has room for two
// strings of MAXSTRINGLEN bytes.
//
// Two kinds of variables move:
// * Those that are written at an unknown offset with an unknown size, because the verifier checks such a write with the
//   largest offset plus the largest size. A slot has room for both. The stack variable does not.
// * Then the largest ones, until the rest takes at most `most_on_stack` bytes.
//
// The choice is made before accesses are secured, because slots and stack variables are secured in different ways: the
// verifier tracks each byte of the stack, but not the contents of map memory.
#include "codegen/c/large_variables.h"

#include <algorithm>
#include <vector>

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "codegen/c/helpers.h"

namespace sonde {
namespace {

// In bytes. Moving smaller variables would save little stack.
constexpr uint64_t worth_moving = 32;

uint64_t size_of(const CBody& body, const llvm::AllocaInst& variable) {
    return variable.getAllocationSize(body.layout)->getFixedValue();
}

// The variable that is written at an unknown offset with an unknown size; otherwise null.
const llvm::Value* written_anywhere(const CBody& body, llvm::Value* to, llvm::Value* size) {
    llvm::APInt offset(64, 0);
    if (llvm::isa<llvm::Constant>(size) ||
        llvm::isa<llvm::AllocaInst>(to->stripAndAccumulateConstantOffsets(body.layout, offset, true)))
        return nullptr;
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(to, objects, nullptr, 0);
    return objects.size() == 1 && llvm::isa<llvm::AllocaInst>(objects[0]) ? objects[0] : nullptr;
}

} // namespace

void choose_moved(CBody& body) {
    std::vector<llvm::AllocaInst*> variables;
    uint64_t together = 0;
    for (llvm::BasicBlock& block : body.function)
        for (llvm::Instruction& at : block) {
            if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&at)) {
                variables.push_back(variable);
                together += size_of(body, *variable);
            }
            const llvm::Value* found = nullptr;
            if (const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&at))
                found = written_anywhere(body, copy->getRawDest(), copy->getLength());
            else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&at))
                if (const std::optional<uint64_t> number = helper_number(*call))
                    for (const HelperMemory& memory : helper_memory(*number))
                        if (memory.is_written && memory.size >= 0)
                            found = written_anywhere(body, call->getArgOperand(memory.pointer),
                                                     call->getArgOperand(static_cast<unsigned>(memory.size)));
            // A slot needs room for the largest size after the last byte.
            if (found && 2 * size_of(body, *llvm::cast<llvm::AllocaInst>(found)) <= body.limits.slot_bytes)
                body.moved.insert(found);
        }
    std::stable_sort(variables.begin(), variables.end(),
                     [&](const auto* a, const auto* b) { return size_of(body, *a) > size_of(body, *b); });
    for (const llvm::AllocaInst* variable : variables)
        if (body.moved.contains(variable))
            together -= size_of(body, *variable);
    for (const llvm::AllocaInst* variable : variables) {
        const uint64_t size = size_of(body, *variable);
        if (together <= most_on_stack || size < worth_moving)
            break;
        if (body.moved.insert(variable).second)
            together -= size;
    }
}

void move_to_slots(CBody& body) {
    std::vector<llvm::AllocaInst*> variables;
    for (llvm::BasicBlock& block : body.function)
        for (llvm::Instruction& at : block)
            if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&at); variable && body.moved.contains(variable))
                variables.push_back(variable);
    for (llvm::AllocaInst* variable : variables) {
        body.ir.SetInsertPoint(variable);
        variable->replaceAllUsesWith(body.ir.CreateConstInBoundsGEP1_64(
            body.ir.getInt8Ty(), body.argument(c_slots_argument), body.slots++ * body.limits.slot_bytes));
        variable->eraseFromParent();
    }
}

} // namespace sonde
