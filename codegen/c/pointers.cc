// The two numbers that replace a C pointer: see pointers.h for the problem and the idea.
//
// Both are computed from the pointer's operands, in parallel to the pointer itself:
//
//     pointer                distance_of()                    number_of()
//     &object                0                                (u64)&object
//     p + i * size           distance(p) + i * size           number(p) + i * size
//     c ? p : q              c ? distance(p) : distance(q)    c ? number(p) : number(q)
//     phi(p, q)              phi(distance(p), distance(q))    phi(number(p), number(q))
//     NULL                   nowhere                          0
//
// `nowhere` is larger than any object, so each access through NULL fails the check of the bounds.
//
// A phi of a loop refers to itself: `p = phi(start, p + 1)`. The new phi is therefore stored in the cache before its
// operands are computed, so that the recursion ends.
//
// After all accesses are rewritten, nothing uses the original pointers. They must be deleted. If one stayed alive
// across a loop, it would become a value of the loop's callback, with an offset that the verifier does not know.
#include "codegen/c/pointers.h"

#include <algorithm>

#include <fmt/format.h>

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/Utils/Local.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/KnownBits.h>

namespace sonde {

namespace {
constexpr uint64_t nowhere = uint64_t{1} << 40; // a distance larger than any object

// Whether the object is memory of this function: on the stack, a constant, or a slot that was passed as an argument.
bool is_variable(const llvm::Value* object) {
    return llvm::isa<llvm::AllocaInst>(object) || llvm::isa<llvm::GlobalVariable>(object) ||
           llvm::isa<llvm::Argument>(object);
}
bool is_variable_or_null(const llvm::Value* object) {
    return is_variable(object) || llvm::isa<llvm::ConstantPointerNull>(object);
}

// Whether the address itself is used, not only for loads and stores.
bool is_compared(const llvm::Value& pointer) {
    llvm::SmallPtrSet<const llvm::User*, 8> seen;
    llvm::SmallVector<const llvm::User*, 8> users(pointer.users());
    while (!users.empty()) {
        const llvm::User* user = users.pop_back_val();
        if (llvm::isa<llvm::LoadInst>(user) || !seen.insert(user).second)
            continue;
        if (llvm::isa<llvm::GetElementPtrInst>(user) || llvm::isa<llvm::SelectInst>(user) ||
            llvm::isa<llvm::PHINode>(user))
            users.append(user->user_begin(), user->user_end());
        else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
                 !store || store->getValueOperand()->getType()->isPointerTy())
            return true;
    }
    return false;
}
} // namespace

uint64_t CPointers::size_of(const llvm::Value& object) const {
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&object))
        return variable->getAllocationSize(body_.layout)->getFixedValue();
    if (auto* global = llvm::dyn_cast<llvm::GlobalVariable>(&object))
        return body_.layout.getTypeAllocSize(global->getValueType());
    if (&object == body_.argument(c_slots_argument))
        return body_.slots * body_.limits.slot_bytes;
    const bool is_number =
        &object == body_.argument(c_result_argument) && body_.script.result != hir::ValueType::String;
    return is_number ? 8 : body_.limits.max_string;
}

bool CPointers::is_read_to(const llvm::LoadInst& load) const {
    return llvm::any_of(body_.variables, [&](const auto& one) { return one.second == load.getPointerOperand(); });
}

bool CPointers::is_of_variables(llvm::Value* pointer) const {
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
    return llvm::all_of(objects, is_variable_or_null);
}

CPointers::Target CPointers::target_of(llvm::Value* pointer) const {
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
    Target out;
    out.may_be_null =
        llvm::any_of(objects, [](const llvm::Value* object) { return llvm::isa<llvm::ConstantPointerNull>(object); });
    if (out.may_be_null && objects.size() > 1)
        llvm::erase_if(objects, [](const llvm::Value* object) { return llvm::isa<llvm::ConstantPointerNull>(object); });
    for (const llvm::Value* object : objects) {
        const bool is_local = is_variable(object);
        // A pointer that was loaded from a variable may point into another one.
        auto* kept = llvm::dyn_cast<llvm::LoadInst>(object);
        out.has_local = out.has_local || is_local ||
                        (kept && llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(kept->getPointerOperand(), 0)) &&
                         !is_read_to(*kept));
        if (is_local && objects.size() == 1) {
            out.local = const_cast<llvm::Value*>(object);
            out.size = size_of(*object);
            out.is_constant = llvm::isa<llvm::GlobalVariable>(object);
        }
    }
    return out;
}

llvm::Value* CPointers::as_number(llvm::Value* pointer, bool has_local) {
    llvm::Value* number = body_.ir.CreatePtrToInt(pointer, body_.ir.getInt64Ty());
    made_.insert(number);
    return has_local ? body_.as_scalar(number) : number;
}

llvm::Value* CPointers::read_kernel(llvm::Value* to, llvm::Value* size, llvm::Value* address) {
    llvm::IRBuilder<>& ir = body_.ir;
    auto* type = llvm::FunctionType::get(ir.getInt64Ty(), {ir.getPtrTy(), ir.getInt32Ty(), ir.getInt64Ty()}, false);
    llvm::Value* helper = llvm::ConstantExpr::getIntToPtr(ir.getInt64(probe_read_kernel), ir.getPtrTy());
    return ir.CreateCall(type, helper, {to, size, address});
}

void CPointers::read_onto_itself(llvm::AllocaInst& variable) {
    read_kernel(&variable, body_.ir.getInt32(static_cast<uint32_t>(size_of(variable))), as_number(&variable, true));
}

llvm::Value* CPointers::number_of(llvm::Value* pointer) {
    llvm::IRBuilder<>& ir = body_.ir;
    if (llvm::isa<llvm::ConstantPointerNull>(pointer))
        return ir.getInt64(0);
    if (auto known = numbers_.find(pointer); known != numbers_.end())
        return known->second;
    llvm::Value* out = nullptr;
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(pointer)) {
        ir.SetInsertPoint(phi);
        llvm::PHINode* number = ir.CreatePHI(ir.getInt64Ty(), phi->getNumIncomingValues());
        numbers_[pointer] = number;
        for (unsigned i = 0; i < phi->getNumIncomingValues(); i++)
            number->addIncoming(number_of(phi->getIncomingValue(i)), phi->getIncomingBlock(i));
        return number;
    }
    if (auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer)) {
        llvm::Value* before = number_of(step->getPointerOperand());
        ir.SetInsertPoint(step);
        out = ir.CreateAdd(before, llvm::emitGEPOffset(&ir, body_.layout, step, true));
    } else if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(pointer)) {
        llvm::Value *yes = number_of(choice->getTrueValue()), *no = number_of(choice->getFalseValue());
        ir.SetInsertPoint(choice);
        out = ir.CreateSelect(choice->getCondition(), yes, no);
    } else {
        auto* at = llvm::dyn_cast<llvm::Instruction>(pointer);
        ir.SetInsertPoint(at ? at->getNextNode() : body_.has_fault->getNextNode());
        out = as_number(pointer, target_of(pointer).has_local);
    }
    return numbers_[pointer] = out;
}

bool CPointers::stay_inside(llvm::Instruction& at, const Target& target, llvm::Use& pointer, uint64_t bytes) {
    llvm::APInt offset(64, 0);
    const llvm::Value* base = pointer->stripAndAccumulateConstantOffsets(body_.layout, offset, true);
    if (base == target.local) {
        if (offset.isNegative() || offset.getZExtValue() + bytes > target.size) {
            body_.refuse(at, fmt::format("the access is outside of the object's {} bytes", target.size));
            return false;
        }
        return true;
    }
    if (bytes > target.size) {
        body_.refuse(at, fmt::format("the access is outside of the object's {} bytes", target.size));
        return false;
    }
    auto* on_stack = body_.moved.contains(target.local) ? nullptr : llvm::dyn_cast<llvm::AllocaInst>(target.local);
    if (on_stack)
        clear(*on_stack);
    body_.ir.SetInsertPoint(&at);
    llvm::Value* exact = distance_of(pointer.get(), target.local);
    body_.ir.SetInsertPoint(&at);
    llvm::Value* distance = body_.opaque(exact);
    llvm::Value* beyond = body_.ir.CreateICmpUGT(distance, body_.ir.getInt64(target.size - bytes));
    // Use the result of the check, right after it. Before 6.8, a comparison tells the verifier nothing about a copy
    // that was spilled to the stack before, and LLVM may use that copy. So the bound must be part of the number itself.
    auto* checked = llvm::cast<llvm::Instruction>(body_.limits.may_goto ? body_.opaque(distance)
                                                                        : body_.at_most(distance, target.size - bytes));
    pointer.set(body_.ir.CreateGEP(body_.ir.getInt8Ty(), target.local, checked));
    body_.end_if(
        beyond, checked,
        body_.add_place(fmt::format("the index is outside of the object's {} bytes", target.size), body_.place(at), 0));
    if (on_stack)
        align(at, pointer, *exact, *checked);
    return true;
}

void CPointers::align(llvm::Instruction& at, llvm::Use& pointer, llvm::Value& exact, llvm::Instruction& checked) {
    const llvm::Align wanted = std::min(
        llvm::getLoadStorePointerOperand(&at) ? llvm::getLoadStoreAlignment(&at) : llvm::Align(1), llvm::Align(8));
    const llvm::KnownBits known = llvm::computeKnownBits(&exact, body_.layout);
    if (known.countMinTrailingZeros() >= llvm::Log2(wanted))
        return;
    const uint64_t rest = wanted.value() - 1;
    body_.ir.SetInsertPoint(checked.getNextNode());
    body_.ir.SetCurrentDebugLocation(at.getDebugLoc());
    llvm::Value* uneven = body_.ir.CreateICmpNE(body_.ir.CreateAnd(&checked, rest), body_.ir.getInt64(0));
    // Opaque, so that LLVM does not remove the operation.
    auto* even = llvm::cast<llvm::Instruction>(body_.ir.CreateAnd(body_.opaque(&checked), ~rest));
    auto* object = llvm::cast<llvm::GetElementPtrInst>(pointer.get())->getPointerOperand();
    pointer.set(body_.ir.CreateGEP(body_.ir.getInt8Ty(), object, even));
    body_.end_if(
        uneven, even,
        body_.add_place(fmt::format("the address is not a multiple of {}", wanted.value()), body_.place(at), 0));
}

void CPointers::clear(llvm::AllocaInst& variable) {
    if (!cleared_.insert(&variable).second)
        return;
    variable.setAlignment(llvm::Align(8));
    body_.ir.SetInsertPoint(variable.getNextNode());
    body_.ir.SetCurrentDebugLocation({});
    body_.ir.CreateMemSet(&variable, body_.ir.getInt8(0), size_of(variable), llvm::Align(8));
}

void CPointers::make_distance(llvm::PHINode& phi) {
    const Target target = target_of(&phi);
    if (!target.local || target.may_be_null)
        return;
    auto* distance = llvm::cast<llvm::PHINode>(distance_of(&phi, target.local));
    body_.ir.SetInsertPoint(&*phi.getParent()->getFirstInsertionPt());
    phi.replaceAllUsesWith(body_.ir.CreateGEP(body_.ir.getInt8Ty(), target.local, distance));
    distances_.erase(&phi);
    phi.eraseFromParent();
}

void CPointers::make_numbers(llvm::PHINode& phi) {
    const Target target = target_of(&phi);
    if (target.local)
        distance_of(&phi, target.local);
    if (!target.local || is_compared(phi))
        number_of(&phi);
}

void CPointers::replace_number(const llvm::Value& number, llvm::Value& by) {
    for (std::map<llvm::Value*, llvm::Value*>* known : {&distances_, &numbers_})
        for (auto& [pointer, its] : *known)
            if (its == &number)
                its = &by;
}

llvm::Value* CPointers::distance_of(llvm::Value* pointer, llvm::Value* base) {
    if (pointer == base)
        return body_.ir.getInt64(0);
    if (llvm::isa<llvm::ConstantPointerNull>(pointer))
        return body_.ir.getInt64(nowhere);
    if (auto known = distances_.find(pointer); known != distances_.end())
        return known->second;
    llvm::Value* out = nullptr;
    if (auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer)) {
        llvm::Value* before = distance_of(step->getPointerOperand(), base);
        body_.ir.SetInsertPoint(step);
        out = body_.ir.CreateAdd(before, llvm::emitGEPOffset(&body_.ir, body_.layout, step, true));
    } else if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(pointer)) {
        llvm::Value* yes = distance_of(choice->getTrueValue(), base);
        llvm::Value* no = distance_of(choice->getFalseValue(), base);
        body_.ir.SetInsertPoint(choice);
        out = body_.ir.CreateSelect(choice->getCondition(), yes, no);
    } else if (auto* phi = llvm::dyn_cast<llvm::PHINode>(pointer)) {
        body_.ir.SetInsertPoint(phi);
        llvm::PHINode* distance = body_.ir.CreatePHI(body_.ir.getInt64Ty(), phi->getNumIncomingValues());
        distances_[pointer] = distance;
        for (unsigned i = 0; i < phi->getNumIncomingValues(); i++)
            distance->addIncoming(distance_of(phi->getIncomingValue(i), base), phi->getIncomingBlock(i));
        return distance;
    } else {
        llvm::APInt offset(64, 0);
        if (pointer->stripAndAccumulateConstantOffsets(body_.layout, offset, true) == base)
            return body_.ir.getInt64(offset.getZExtValue()); // the distance is a constant
        if (auto* at = llvm::dyn_cast<llvm::Instruction>(pointer))
            body_.ir.SetInsertPoint(at->getNextNode());
        out = body_.ir.CreateSub(body_.ir.CreatePtrToInt(pointer, body_.ir.getInt64Ty()),
                                 body_.ir.CreatePtrToInt(base, body_.ir.getInt64Ty()));
    }
    return distances_[pointer] = out;
}

} // namespace sonde
