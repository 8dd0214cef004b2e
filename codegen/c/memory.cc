// Makes memory accesses of the script's C (`%{ ... %}`) acceptable to the verifier and safe.
//
// The problem: clang compiles `task->mm->pgd` to plain loads. To the verifier, a pointer that was loaded from a kernel
// structure is just a number, and a program must not load from a number. It may only call bpf_probe_read_kernel() with
// it, which reports whether there was memory.
//
// The idea: first inline all functions into one. Then, for each access, find the object that its pointer is based on
// (pointers.h), and rewrite the access:
//
//   the pointer is based on             read                              write
//   a local variable, a slot            kept, within the object's bounds  kept, within the object's bounds
//   a constant                          kept, within the object's bounds  refused
//   anything else                       bpf_probe_read_kernel()           refused: BPF does not write kernel memory
//
// Bounds are checked here if the offset is a constant, and when the code runs if it is not. Example:
//
//     char name[16];                        char name[16];
//     name[i] = task->comm[0];       =>     if (probe_read_kernel(&tmp, 1, &task->comm) fails) note the fault
//                                           if (i >= 16) return the number of this place
//                                           name[i] = tmp
//
// A function that ends early returns the number of the place in the script. The script's error message shows that
// place. loops.h limits the iterations of loops.
//
// What would break this:
// * A pointer that survives as a pointer after its accesses are rewritten. The loops' callbacks
//   (codegen/bpf/loop_callbacks.h) would get it as a value, with an offset that nobody checks. remove_unused() deletes
//   these.
// * A branch for each failed read. The verifier follows both sides of each branch, in each iteration, so a function
//   with 30 reads would be too complex. A failed read therefore yields zeros, and the function's next check reports it,
//   at the latest the one where the function returns (CBody::note_fault()).
// * Optimizations that keep values on the stack: it has 512 bytes. address_here() and keep_result_in_place() prevent
//   two of them.
#include "codegen/c/memory.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>

#include "codegen/backend/backend.h"
#include "codegen/bpf/kernel_calls.h"
#include "codegen/c/address_tables.h"
#include "codegen/c/body.h"
#include "codegen/c/clang_positions.h"
#include "codegen/c/constants.h"
#include "codegen/c/formats.h"
#include "codegen/c/helpers.h"
#include "codegen/c/large_variables.h"
#include "codegen/c/loops.h"
#include "codegen/c/pointers.h"
#include "codegen/c/refuse.h"
#include "codegen/emit/environment.h"

namespace sonde {
namespace {

// Numbers of BPF helpers (include/uapi/linux/bpf.h).
constexpr uint64_t probe_write_user = 36, probe_read_user = 112, probe_read_user_str = 114, probe_read_kernel_str = 115,
                   helper_snprintf = 165, helper_task_pt_regs = 175;

constexpr uint64_t most_by_stores = 512; // bytes that memset and memcpy may write with single stores

// Rewrites one function, into which all functions that it calls are inlined.
class Securing {
  public:
    Securing(llvm::Function& function, const hir::Function& script, const CLimits& limits, Diagnostics& diags)
        : body_(function, script, limits, diags), pointers_(body_), ir_(body_.ir), layout_(body_.layout) {}

    CFunction run() {
        rewrite_formats(body_);
        replace_marks();
        choose_moved(body_);
        find_variables(body_.make_failed());
        loosen_loops(body_, pointers_);
        llvm::SmallVector<llvm::Instruction*, 64> all, marks;
        for (llvm::BasicBlock& block : body_.function)
            for (llvm::Instruction& at : block)
                if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&at); call && call->isLifetimeStartOrEnd())
                    marks.push_back(&at);
                else if (&block != body_.early_end)
                    all.push_back(&at);
        // Variables that are cleared at the beginning must keep their values, so the marks of their lifetimes are
        // removed.
        for (llvm::Instruction* mark : marks)
            mark->eraseFromParent();
        for (llvm::Instruction* at : all)
            secure(*at);
        // Delete phis of pointers that were replaced by numbers: a loop would pass the pointers on.
        for (llvm::BasicBlock& block : body_.function)
            llvm::DeleteDeadPHIs(&block);
        remove_unused();
        bound_loops(body_, pointers_);
        keep_result_in_place();
        move_to_slots(body_);
        body_.check_returns();
        if (body_.early_status->getNumIncomingValues() == 0)
            body_.remove_failed();
        return {std::move(body_.places), body_.slots, !body_.argument(c_error_argument)->use_empty(), writes_,
                kernel_call_};
    }

  private:
    // Deletes pointers that were replaced by distances from their object. A loop's callback would get them otherwise,
    // moved by a distance that nobody has checked.
    void remove_unused() {
        for (llvm::BasicBlock& block : body_.function)
            for (llvm::Instruction& at : llvm::make_early_inc_range(llvm::reverse(block)))
                if (llvm::isInstructionTriviallyDead(&at))
                    at.eraseFromParent();
    }

    // Prevents LLVM from moving the computation of the result behind the check for failed reads. With many reads, all
    // values that were read would be on the stack until then.
    void keep_result_in_place() {
        constexpr unsigned many_reads = 16;
        if (body_.reads < many_reads)
            return;
        llvm::SmallVector<llvm::StoreInst*, 4> stores;
        for (llvm::User* user : body_.argument(c_result_argument)->users())
            if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
                store && store->getParent() != body_.early_end && store->getValueOperand()->getType()->isIntegerTy(64))
                stores.push_back(store);
        for (llvm::StoreInst* store : stores) {
            ir_.SetInsertPoint(store);
            store->setOperand(0, body_.opaque(store->getValueOperand()));
        }
    }

    // The prelude has calls that stand for arguments of the function; replaces them by these.
    void replace_marks() {
        for (llvm::BasicBlock& block : body_.function)
            for (llvm::Instruction& at : llvm::make_early_inc_range(block)) {
                auto* call = llvm::dyn_cast<llvm::CallInst>(&at);
                const llvm::StringRef name =
                    call && call->getCalledFunction() ? call->getCalledFunction()->getName() : "";
                llvm::Value* value = nullptr;
                ir_.SetInsertPoint(&at);
                if (name == "sonde_mark_work")
                    value = body_.argument(c_error_argument);
                else if (name == "sonde_mark_environment")
                    value = body_.argument(c_environment_argument);
                else if (name == "sonde_mark_slot")
                    value = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), body_.argument(c_slots_argument),
                                                           body_.slots++ * body_.limits.slot_bytes);
                if (value) {
                    call->replaceAllUsesWith(value);
                    call->eraseFromParent();
                }
            }
    }

    // Gives variables of the kernel their addresses: calls the script's function that finds each, after `start`.
    void find_variables(llvm::Instruction& start) {
        llvm::Module& module = *body_.function.getParent();
        for (const hir::CCall& one : body_.script.c_calls) {
            if (!llvm::StringRef(one.name).starts_with(c_address_of))
                continue;
            llvm::GlobalVariable* variable = module.getGlobalVariable(one.name.substr(c_address_of.size()));
            if (!variable || !variable->isDeclaration())
                continue;
            llvm::convertUsersOfConstantsToInstructions({variable}, &body_.function);
            llvm::SmallVector<llvm::Use*, 8> uses;
            for (llvm::Use& use : variable->uses())
                if (auto* user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
                    user && user->getFunction() == &body_.function)
                    uses.push_back(&use);
            if (uses.empty())
                continue;
            llvm::AllocaInst* at = body_.variable_of(8);
            ir_.SetInsertPoint(start.getNextNode());
            auto* type = llvm::FunctionType::get(ir_.getInt64Ty(), {ir_.getPtrTy(), ir_.getPtrTy()}, false);
            ir_.CreateCall(module.getOrInsertFunction(script_symbol(one.call->callee->name), type),
                           {body_.argument(c_environment_argument), at});
            llvm::Value* address = ir_.CreateIntToPtr(ir_.CreateLoad(ir_.getInt64Ty(), at), ir_.getPtrTy());
            for (llvm::Use* use : uses)
                use->set(address);
        }
    }

    // The number of an address that is about to be read. For a member, computes it from the structure's address at each
    // read. Otherwise LLVM would compute all members' addresses once and keep them on the stack.
    llvm::Value* address_here(llvm::Value* pointer) {
        llvm::APInt offset(64, 0);
        llvm::Value* base = pointer->stripAndAccumulateConstantOffsets(layout_, offset, true);
        if (base == pointer)
            return pointers_.as_number(pointer, false);
        return ir_.CreateAdd(body_.opaque(pointers_.as_number(base, false)), ir_.getInt64(offset.getZExtValue()));
    }

    // Inserts bpf_probe_read_kernel() before `at`. If the read fails, the function continues with zeros until its next
    // check. A branch at each read would be too expensive: the verifier follows each of them, in each iteration of a
    // loop.
    void read_kernel(llvm::Instruction& at, llvm::Value* to, llvm::Value* size, llvm::Value* from, bool has_local) {
        ir_.SetInsertPoint(&at);
        ir_.SetCurrentDebugLocation(at.getDebugLoc());
        llvm::Value* address = has_local ? pointers_.number_of(from) : address_here(from);
        ir_.SetInsertPoint(&at);
        body_.note_fault(at, pointers_.read_kernel(to, size, address), address);
    }

    void secure(llvm::Instruction& at) {
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&at))
            secure_load(*load);
        else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&at))
            secure_store(*store);
        else if (auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&at))
            secure_block(*memory);
        else if (llvm::isa<llvm::ICmpInst>(at) || llvm::isa<llvm::PtrToIntInst>(at))
            use_as_number(at);
        else if (at.isIntDivRem())
            divide(at);
        else if (auto* end = llvm::dyn_cast<llvm::UnreachableInst>(&at))
            end_at(*end);
        else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&at))
            secure_call(*call);
    }

    // Rewrites a comparison or conversion of a pointer into a variable. The number of the pointer is used, because the
    // pointer need not be within its object.
    void use_as_number(llvm::Instruction& at) {
        if (!at.getOperand(0)->getType()->isPointerTy() || pointers_.is_made(at) ||
            llvm::none_of(at.operands(),
                          [&](const llvm::Use& pointer) { return pointers_.target_of(pointer).has_local; }))
            return;
        llvm::SmallVector<llvm::Value*, 2> numbers;
        for (llvm::Use& pointer : at.operands())
            numbers.push_back(pointers_.number_of(pointer));
        if (llvm::isa<llvm::ICmpInst>(at)) {
            for (unsigned i = 0; i < 2; i++)
                at.setOperand(i, numbers[i]);
            return;
        }
        ir_.SetInsertPoint(&at);
        at.replaceAllUsesWith(ir_.CreateZExtOrTrunc(numbers[0], at.getType()));
        at.eraseFromParent();
    }

    void secure_load(llvm::LoadInst& load) {
        const CPointers::Target target = pointers_.target_of(load.getPointerOperand());
        const uint64_t bytes = layout_.getTypeStoreSize(load.getType());
        if (target.local) {
            pointers_.stay_inside(load, target, load.getOperandUse(0), bytes);
            return;
        }
        llvm::AllocaInst* to = body_.variable_of(bytes);
        read_kernel(load, to, ir_.getInt32(static_cast<uint32_t>(bytes)), load.getPointerOperand(), target.has_local);
        ir_.SetInsertPoint(&load);
        llvm::Value* value = ir_.CreateAlignedLoad(load.getType(), to, llvm::Align(1));
        load.replaceAllUsesWith(value);
        load.eraseFromParent();
    }

    // An address does not tell whether it belongs to the kernel or to a program, so the message names both.
    DiagBuilder refuse_write(const llvm::Instruction& at) {
        return body_
            .refuse(at, "C in BPF can write only to its own variables, not to memory of the kernel or of a program")
            .help("return the value; `bpf_probe_write_user(address, &value, sizeof(value))` writes a program's memory");
    }

    DiagBuilder refuse_choice(const llvm::Instruction& at) {
        return body_.refuse(at, "C in BPF cannot write through a pointer that can point to several variables")
            .help("write to a variable by its name, or to an element of one array");
    }

    void secure_store(llvm::StoreInst& store) {
        const CPointers::Target target = pointers_.target_of(store.getPointerOperand());
        if (!target.local && target.has_local)
            refuse_choice(store);
        else if (!target.local || target.is_constant)
            refuse_write(store);
        else if (pointers_.stay_inside(store, target, store.getOperandUse(1),
                                       layout_.getTypeStoreSize(store.getValueOperand()->getType())))
            store_as_number(store);
    }

    // Stores the number of a variable's address instead of the pointer. A loop's callback cannot store pointers to the
    // stack at a variable offset (check_stack_write_var_off() in the kernel), and pointers that are loaded from
    // variables are treated as numbers anyway.
    void store_as_number(llvm::StoreInst& store) {
        llvm::Value* value = store.getValueOperand();
        if (!value->getType()->isPointerTy() || llvm::isa<llvm::ConstantPointerNull>(value) ||
            !pointers_.is_of_variables(value))
            return;
        llvm::Value* number = pointers_.number_of(value);
        ir_.SetInsertPoint(&store);
        ir_.SetCurrentDebugLocation(store.getDebugLoc());
        store.setOperand(0, ir_.CreateIntToPtr(number, value->getType()));
    }

    // Whether the pointer is at a constant distance from its object.
    bool is_placed(llvm::Value* pointer, const CPointers::Target& target) const {
        llvm::APInt offset(64, 0);
        return pointer->stripAndAccumulateConstantOffsets(layout_, offset, true) == target.local;
    }
    // Whether the slot has room for the largest size after the last byte: the verifier adds the maxima of offset and
    // size.
    bool has_room_twice(const CPointers::Target& target) const {
        return body_.moved.contains(target.local) && 2 * target.size <= body_.limits.slot_bytes;
    }
    // The number of bytes from a place that stay_inside() has checked to the object's end.
    llvm::Value* room_after(llvm::Value* place, const CPointers::Target& target) {
        return ir_.CreateSub(ir_.getInt64(target.size), llvm::cast<llvm::GetElementPtrInst>(place)->getOperand(1));
    }

    // Fills more bytes than LLVM's BPF back end expands to single stores. A read from address 0 always fails, and then
    // fills the buffer with zeros.
    void fill_long(llvm::MemSetInst& fill) {
        auto* byte = llvm::dyn_cast<llvm::ConstantInt>(fill.getValue());
        if (!byte || !byte->isZero()) {
            body_.refuse(fill, fmt::format("a `memset` of more than {} bytes can only fill with 0", most_by_stores));
            return;
        }
        ir_.SetInsertPoint(&fill);
        pointers_.read_kernel(fill.getRawDest(), ir_.CreateTrunc(fill.getLength(), ir_.getInt32Ty()), ir_.getInt64(0));
        fill.eraseFromParent();
    }

    // memcpy, memmove and memset.
    void secure_block(llvm::MemIntrinsic& block) {
        const CPointers::Target to = pointers_.target_of(block.getRawDest());
        auto* known = llvm::dyn_cast<llvm::ConstantInt>(block.getLength());
        if (!to.local || to.is_constant) {
            refuse_write(block);
            return;
        }
        if (!known && llvm::isa<llvm::MemSetInst>(block)) {
            body_.refuse(block, "the size of a `memset` must be a constant");
            return;
        }
        if (known && !pointers_.stay_inside(block, to, block.getRawDestUse(), known->getZExtValue()))
            return;
        auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&block);
        const bool is_long = known && known->getZExtValue() > most_by_stores;
        if (!copy) {
            if (is_long)
                fill_long(llvm::cast<llvm::MemSetInst>(block));
            return;
        }
        const CPointers::Target from = pointers_.target_of(copy->getRawSource());
        if (known && from.local) {
            if (!pointers_.stay_inside(block, from, copy->getRawSourceUse(), known->getZExtValue()) || !is_long)
                return;
        }
        llvm::Value* length = block.getLength();
        if (!known && has_room_twice(to) && !is_placed(block.getRawDest(), to)) {
            if (!pointers_.stay_inside(block, to, block.getRawDestUse(), 1))
                return;
            ir_.SetInsertPoint(&block);
            ir_.SetCurrentDebugLocation(block.getDebugLoc());
            length = body_.opaque(ir_.CreateZExtOrTrunc(length, ir_.getInt64Ty()));
            llvm::Value* beyond = ir_.CreateICmpUGT(length, room_after(block.getRawDest(), to));
            length = body_.at_most(length, to.size);
            body_.end_if(beyond, &block,
                         body_.add_place(fmt::format("the size reaches outside of the object's {} bytes", to.size),
                                         body_.place(block), 0));
        } else if (!known) {
            llvm::APInt offset(64, 0);
            if (block.getRawDest()->stripAndAccumulateConstantOffsets(layout_, offset, true) != to.local ||
                offset.getZExtValue() > to.size) {
                body_.refuse(block, "a `memcpy` needs a known place or a known size");
                return;
            }
            ir_.SetInsertPoint(&block);
            ir_.SetCurrentDebugLocation(block.getDebugLoc());
            length = body_.opaque(ir_.CreateZExtOrTrunc(length, ir_.getInt64Ty()));
            body_.end_if(ir_.CreateICmpUGT(length, ir_.getInt64(to.size - offset.getZExtValue())), &block,
                         body_.add_place(fmt::format("the size reaches outside of the object's {} bytes", to.size),
                                         body_.place(block), 0));
        }
        ir_.SetInsertPoint(&block);
        read_kernel(block, block.getRawDest(), ir_.CreateTrunc(length, ir_.getInt32Ty()), copy->getRawSource(),
                    from.has_local);
        block.eraseFromParent();
    }

    // Divides as the script's language does: a division by 0 is an error. BPF would yield 0, and to LLVM the result
    // would be undefined. BPF has signed division only since 6.6, so the magnitudes are divided, and the result gets
    // its sign afterwards.
    void divide(llvm::Instruction& at) {
        const bool divides = at.getOpcode() == llvm::Instruction::SDiv || at.getOpcode() == llvm::Instruction::UDiv;
        const bool is_signed = at.getOpcode() == llvm::Instruction::SDiv || at.getOpcode() == llvm::Instruction::SRem;
        ir_.SetInsertPoint(&at);
        ir_.SetCurrentDebugLocation(at.getDebugLoc());
        llvm::Value *a = at.getOperand(0), *b = at.getOperand(1);
        llvm::Value* zero = llvm::ConstantInt::get(a->getType(), 0);
        if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(b); !known || known->isZero())
            body_.end_if(ir_.CreateICmpEQ(b, zero), &at, body_.add_place("division by 0", body_.place(at), 0));
        if (!is_signed)
            return;
        ir_.SetInsertPoint(&at);
        llvm::Value *is_a_negative = ir_.CreateICmpSLT(a, zero), *is_b_negative = ir_.CreateICmpSLT(b, zero);
        llvm::Value* amount_a = ir_.CreateSelect(is_a_negative, ir_.CreateNeg(a), a);
        llvm::Value* amount_b = ir_.CreateSelect(is_b_negative, ir_.CreateNeg(b), b);
        llvm::Value* is_negative = divides ? ir_.CreateXor(is_a_negative, is_b_negative) : is_a_negative;
        llvm::Value* amount = divides ? ir_.CreateUDiv(amount_a, amount_b) : ir_.CreateURem(amount_a, amount_b);
        at.replaceAllUsesWith(ir_.CreateSelect(is_negative, ir_.CreateNeg(amount), amount));
        at.eraseFromParent();
    }

    // Code that the program promises never to reach, by `__builtin_unreachable()`: it ends the function with an error.
    void end_at(llvm::UnreachableInst& end) {
        ir_.SetInsertPoint(&end);
        ir_.SetCurrentDebugLocation(end.getDebugLoc());
        body_.early_status->addIncoming(
            ir_.getInt64(body_.add_place("`__builtin_unreachable` is reached", body_.place(end), 0)), end.getParent());
        ir_.CreateBr(body_.early_end);
        end.eraseFromParent();
    }

    static bool writes_text(uint64_t number) {
        return number == probe_read_kernel_str || number == probe_read_user_str || number == helper_snprintf;
    }
    static bool writes_first(uint64_t number) {
        return writes_text(number) || number == probe_read_kernel || number == probe_read_user;
    }

    // Bounds place and size if both are known only when the code runs. This works only for a variable in a slot that
    // has room for the largest size after the last place. Returns false after a report.
    bool bound_both(llvm::CallBase& call, uint64_t number, const CPointers::Target& target) {
        if (!has_room_twice(target)) {
            body_.refuse(call, "neither the place nor the size is known before the code runs")
                .help("build the text in `STAP_RETVALUE`, or use a constant size");
            return false;
        }
        if (!pointers_.stay_inside(call, target, call.getArgOperandUse(0), 1))
            return false;
        ir_.SetInsertPoint(&call);
        ir_.SetCurrentDebugLocation(call.getDebugLoc());
        llvm::Type* type = call.getArgOperand(1)->getType();
        llvm::Value* size = body_.opaque(ir_.CreateZExtOrTrunc(call.getArgOperand(1), ir_.getInt64Ty()));
        llvm::Value* room = room_after(call.getArgOperand(0), target);
        llvm::Value* beyond = ir_.CreateICmpUGT(size, room);
        if (writes_text(number))
            size = ir_.CreateSelect(beyond, room, size);
        call.setArgOperand(1, ir_.CreateZExtOrTrunc(body_.at_most(size, target.size), type));
        if (!writes_text(number))
            body_.end_if(beyond, &call,
                         body_.add_place(fmt::format("the size reaches outside of the object's {} bytes", target.size),
                                         body_.place(call), 0));
        return true;
    }

    // Bounds the memory that a helper writes. The helper's first two arguments are the buffer and its size. The check
    // depends on the parts that are constants:
    //
    //     place      size       check
    //     constant   any        the size is at most the rest of the object
    //     variable   constant   the place leaves room for the size (stay_inside())
    //     variable   variable   bound_both(), only in a slot
    //     in a slot that is an argument: the place, and then the size up to one string
    //
    // A helper that writes a string gets a smaller size if the buffer is too small; for all others that is an error.
    // Returns false after a report.
    bool bound_written(llvm::CallBase& call, uint64_t number) {
        const CPointers::Target target = pointers_.target_of(call.getArgOperand(0));
        if (!target.local || target.is_constant) {
            refuse_write(call);
            return false;
        }
        auto* known = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(1));
        llvm::APInt offset(64, 0);
        const bool is_placed =
            call.getArgOperand(0)->stripAndAccumulateConstantOffsets(layout_, offset, true) == target.local;
        uint64_t room = target.size;
        if (is_placed) {
            if (offset.isNegative() || offset.getZExtValue() >= target.size) {
                body_.refuse(call, fmt::format("the access is outside of the object's {} bytes", target.size));
                return false;
            }
            room = target.size - offset.getZExtValue();
        } else if (llvm::isa<llvm::Argument>(target.local)) {
            // a slot has room for two strings of the largest size
            room = body_.limits.max_string;
            const bool is_own = target.local == body_.argument(c_slots_argument);
            if (!pointers_.stay_inside(call, target, call.getArgOperandUse(0),
                                       is_own ? body_.limits.slot_bytes - room : 1))
                return false;
        } else if (!known) {
            return bound_both(call, number, target);
        } else if (!pointers_.stay_inside(call, target, call.getArgOperandUse(0), known->getZExtValue())) {
            return false;
        }
        if (known && known->getZExtValue() <= room)
            return true;
        if (known && !writes_text(number)) {
            body_.refuse(call, fmt::format("the access is outside of the object's {} bytes", target.size));
            return false;
        }
        ir_.SetInsertPoint(&call);
        ir_.SetCurrentDebugLocation(call.getDebugLoc());
        llvm::Type* type = call.getArgOperand(1)->getType();
        if (known) {
            call.setArgOperand(1, llvm::ConstantInt::get(type, room));
            return true;
        }
        llvm::Value* size = body_.opaque(ir_.CreateZExtOrTrunc(call.getArgOperand(1), ir_.getInt64Ty()));
        llvm::Value* beyond = ir_.CreateICmpUGT(size, ir_.getInt64(room));
        if (writes_text(number)) {
            llvm::Value* fitting = ir_.CreateSelect(beyond, ir_.getInt64(room), size);
            call.setArgOperand(1, ir_.CreateZExtOrTrunc(fitting, type));
        } else {
            call.setArgOperand(1, ir_.CreateZExtOrTrunc(size, type));
            body_.end_if(beyond, &call,
                         body_.add_place(fmt::format("the size reaches outside of the object's {} bytes", target.size),
                                         body_.place(call), 0));
        }
        return true;
    }

    // Passes the source address of a read as a number. The verifier would require a pointer to be near its object, even
    // if the pointer has moved by a distance that nobody has checked.
    void read_from_number(llvm::CallBase& call) {
        llvm::Use& from = call.getArgOperandUse(2);
        llvm::APInt offset(64, 0);
        if (!from->getType()->isPointerTy())
            return;
        const CPointers::Target target = pointers_.target_of(from);
        if (!target.has_local || from->stripAndAccumulateConstantOffsets(layout_, offset, true) == target.local)
            return;
        llvm::Value* address = pointers_.number_of(from);
        ir_.SetInsertPoint(&call);
        from.set(ir_.CreateIntToPtr(address, ir_.getPtrTy()));
    }

    // Makes a helper's result a number, except where it is passed to another helper or compared. To the verifier the
    // result is a pointer. Reads through it are rewritten like all other reads of kernel memory.
    void read_result_from_number(llvm::CallBase& call) {
        if (call.use_empty())
            return;
        ir_.SetInsertPoint(call.getNextNode());
        llvm::Value* address = pointers_.as_number(&call, true);
        call.replaceUsesWithIf(ir_.CreateIntToPtr(address, ir_.getPtrTy()), [&](const llvm::Use& use) {
            const llvm::User* user = use.getUser();
            return !llvm::isa<llvm::PtrToIntInst>(user) && !is_handed_on(use) && !llvm::isa<llvm::ICmpInst>(user);
        });
    }

    static bool is_handed_on(const llvm::Use& use) {
        const auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
        return call && call->isArgOperand(&use) && helper_number(*call);
    }

    void secure_helper(llvm::CallBase& call, uint64_t number) {
        if (is_kernel_call(number)) {
            if (!kernel_call_.valid())
                kernel_call_ = body_.place(call);
            if (call.getType()->isPointerTy())
                read_result_from_number(call);
            return;
        }
        if (helper_name(number).empty()) {
            body_.refuse(call, fmt::format("C in a script cannot call address {}", number))
                .help("call the functions of BPF in docs/embedded-c.md by their names");
            return;
        }
        if (number == probe_write_user) {
            writes_ = writes_.valid() ? writes_ : body_.place(call);
            body_.check_faults(call);
        }
        if (writes_first(number) && !bound_written(call, number))
            return;
        for (const HelperMemory& memory : helper_memory(number)) {
            if (memory.pointer == 0 && writes_first(number))
                continue;
            const CPointers::Target target = pointers_.target_of(call.getArgOperand(memory.pointer));
            if (memory.is_written && (!target.local || target.is_constant)) {
                refuse_write(call);
                return;
            }
            auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(static_cast<unsigned>(memory.size)));
            if (target.local && bytes && bytes->getZExtValue() &&
                !pointers_.stay_inside(call, target, call.getOperandUse(memory.pointer), bytes->getZExtValue()))
                return;
        }
        if (number == probe_read_kernel || number == probe_read_kernel_str)
            read_from_number(call);
        if (number == helper_task_pt_regs)
            read_result_from_number(call);
    }

    // strlen(): copies the string into the slot for an error's text and uses the length that the helper returns. Only
    // an error uses this slot otherwise.
    void measure_text(llvm::CallBase& call) {
        llvm::Value* address = pointers_.number_of(call.getArgOperand(0));
        ir_.SetInsertPoint(&call);
        ir_.SetCurrentDebugLocation(call.getDebugLoc());
        auto* type =
            llvm::FunctionType::get(ir_.getInt64Ty(), {ir_.getPtrTy(), ir_.getInt32Ty(), ir_.getInt64Ty()}, false);
        llvm::Value* helper = llvm::ConstantExpr::getIntToPtr(ir_.getInt64(probe_read_kernel_str), ir_.getPtrTy());
        const uint64_t room = body_.limits.slot_bytes;
        llvm::Value* bytes = body_.opaque(ir_.CreateCall(
            type, helper, {body_.argument(c_error_argument), ir_.getInt32(static_cast<uint32_t>(room)), address}));
        body_.note_fault(call, bytes, address);
        // Report longer strings, because their length would be wrong.
        llvm::Value* beyond = ir_.CreateICmpSGE(bytes, ir_.getInt64(static_cast<int64_t>(room)));
        call.replaceAllUsesWith(
            ir_.CreateSub(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, bytes, ir_.getInt64(1)), ir_.getInt64(1)));
        body_.end_if(beyond, &call,
                     body_.add_place(fmt::format("a text has more than {} bytes", room - 2), body_.place(call), 0));
        call.eraseFromParent();
    }

    void secure_call(llvm::CallBase& call) {
        const llvm::Function* callee = call.getCalledFunction();
        if (std::optional<uint64_t> helper = helper_number(call)) {
            secure_helper(call, *helper);
            return;
        }
        if (!callee) {
            if (!llvm::isa<llvm::Constant>(call.getCalledOperand()) && !call.isInlineAsm())
                body_.refuse(call, "C in BPF can call through a pointer only functions of the script");
            return;
        }
        if (callee->getName().starts_with(script_symbol("")))
            body_.check_faults(call);
        if (callee->isIntrinsic()) {
            const llvm::Intrinsic::ID id = callee->getIntrinsicID();
            if (id == llvm::Intrinsic::trap || id == llvm::Intrinsic::debugtrap || id == llvm::Intrinsic::ubsantrap) {
                body_.end_if(ir_.getTrue(), &call,
                             body_.add_place("`__builtin_trap` is reached", body_.place(call), 0));
                call.eraseFromParent();
            }
        } else if (callee->getName() == "sonde_mark_read") {
            llvm::Value* address = pointers_.number_of(call.getArgOperand(1));
            ir_.SetInsertPoint(&call);
            body_.note_fault(call, call.getArgOperand(0), address);
            call.eraseFromParent();
        } else if (callee->getName() == "sonde_mark_length") {
            measure_text(call);
        } else if (callee->getName() == "sonde_mark_fail") {
            call.replaceAllUsesWith(
                ir_.getInt64(body_.add_place(plan::ErrorId::OwnText, body_.place(call), with_text)));
            call.eraseFromParent();
        } else if (callee->getName() == "sonde_mark_check") {
            // The error of the called function is the pending error already.
            ir_.SetInsertPoint(&call);
            llvm::Value* failed = ir_.CreateICmpNE(call.getArgOperand(0), ir_.getInt64(0));
            body_.end_if(failed, &call, static_cast<uint64_t>(c_failed_before));
            call.eraseFromParent();
        } else if (callee->getName() == "sonde_mark_printed") {
            ir_.SetInsertPoint(&call);
            llvm::Value* failed = ir_.CreateICmpSLT(call.getArgOperand(0), ir_.getInt64(0));
            body_.end_if(
                failed, &call,
                body_.add_place("the values of a format and their texts must fit 512 bytes", body_.place(call), 0));
            call.eraseFromParent();
        } else if (callee->getName() == "sonde_mark_no_function") {
            body_.end_if(ir_.getTrue(), &call,
                         body_.add_place("this pointer does not point to a function of this C", body_.place(call), 0));
            call.eraseFromParent();
        } else if (callee->getName() == "sonde_mark_throw") {
            body_.end_if(ir_.getTrue(), &call, body_.add_place(plan::ErrorId::OwnText, body_.place(call), with_text));
            call.eraseFromParent();
        }
    }

    CBody body_;
    Range writes_, kernel_call_; // for CFunction
    CPointers pointers_;
    llvm::IRBuilder<>& ir_;
    const llvm::DataLayout& layout_;
};

// Gives code that was inlined from the prelude the place in the script that uses it.
void move_to_script(llvm::Function& function, const Sources& sources) {
    auto in_script = [&](const llvm::Instruction& at) -> llvm::DILocation* {
        for (llvm::DILocation* one = at.getDebugLoc().get(); one; one = one->getInlinedAt())
            if (c_place(sources, one->getFilename().str(), one->getLine(), one->getColumn()))
                return one;
        return nullptr;
    };
    llvm::DILocation* last = nullptr;
    for (const llvm::BasicBlock& block : function)
        for (const llvm::Instruction& at : block)
            last = last ? last : in_script(at);
    for (llvm::BasicBlock& block : function)
        for (llvm::Instruction& at : block) {
            if (llvm::DILocation* here = in_script(at))
                last = here;
            if (last)
                at.setDebugLoc(last);
        }
}

constexpr unsigned most_inlining_rounds = 8; // a round for each function that passes a pointer to the next

bool calls_own_functions(const llvm::Module& module) {
    for (const llvm::Function& function : module)
        for (const llvm::BasicBlock& block : function)
            for (const llvm::Instruction& at : block) {
                const auto* call = llvm::dyn_cast<llvm::CallBase>(&at);
                const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
                const bool has_labels = callee && llvm::any_of(*callee, [](const llvm::BasicBlock& one) {
                                            return one.hasAddressTaken(); // those are refused later
                                        });
                if (callee && !callee->isDeclaration() && callee != &function && !has_labels)
                    return true;
            }
    return false;
}

// Removes `asm volatile("" ::: "memory")`, which prevents a compiler from moving reads. All reads stay in their order
// here.
void drop_empty_assembly(llvm::Module& module) {
    for (llvm::Function& function : module)
        for (llvm::BasicBlock& block : function)
            for (llvm::Instruction& at : llvm::make_early_inc_range(block))
                if (auto* call = llvm::dyn_cast<llvm::CallInst>(&at); call && call->isInlineAsm() && call->arg_empty())
                    if (auto* text = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
                        call->getType()->isVoidTy() && llvm::StringRef(text->getAsmString()).trim().empty())
                        call->eraseFromParent();
}

// Gives the files in the debug information the names and texts of the script's files.
void name_files(llvm::Module& module, const Sources& sources) {
    llvm::DebugInfoFinder finder;
    finder.processModule(module);
    std::set<llvm::DIFile*> files;
    for (llvm::DISubprogram* one : finder.subprograms())
        files.insert(one->getFile());
    for (llvm::DIScope* one : finder.scopes())
        files.insert(one->getFile());
    for (llvm::DIFile* file : files) {
        if (!file)
            continue;
        std::optional<Range> at = c_place(sources, file->getFilename().str(), 1, 1);
        if (!at)
            continue;
        llvm::LLVMContext& context = module.getContext();
        const std::string_view text = sources.text(at->file);
        file->replaceOperandWith(3, llvm::MDString::get(context, {text.data(), text.size()}));
        file->replaceOperandWith(1, llvm::MDString::get(context, ""));
        file->replaceOperandWith(0, llvm::MDString::get(context, std::string(sources.name(at->file))));
    }
}

} // namespace

// The order of the steps:
// * Refuse what no later step could make possible, while each line is still at its place (refuse.h).
// * Turn tables in functions into stores (constants.cc).
// * Inline all functions, in rounds. Calls through pointers become choices (address_tables.cc).
// * Turn addresses in constants into numbers.
// * Rewrite each function (Securing).
// * Give all code places in the script, and write the bitcode.
Result<std::optional<CCode>> secure_c_code(const std::string& bitcode,
                                           const std::vector<const hir::Function*>& functions, const CLimits& limits,
                                           Diagnostics& diags) {
    llvm::LLVMContext context;
    auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "C"), context);
    if (!parsed)
        return Error("clang's bitcode cannot be read: " + llvm::toString(parsed.takeError()));
    llvm::Module& module = **parsed;
    Backend backend(nullptr);
    if (Result<void> begun = backend.begin(module); !begun)
        return std::move(begun).error();
    std::set<std::string> variables;
    for (const hir::Function* function : functions)
        for (const hir::CCall& one : function->c_calls)
            if (llvm::StringRef(one.name).starts_with(c_address_of))
                variables.insert(one.name.substr(c_address_of.size()));
    drop_empty_assembly(module);
    refuse_what_cannot_be(module, variables, limits.slot_bytes, functions[0]->range, diags);
    if (diags.has_errors())
        return std::optional<CCode>();
    fill_by_stores(module);

    std::map<std::string, const hir::Function*> by_symbol;
    for (const hir::Function* function : functions) {
        const std::string symbol = c_symbol(function->name);
        by_symbol[symbol] = function;
        // A macro of the script has changed the code around this C.
        if (const llvm::Function* defined = module.getFunction(symbol); !defined || defined->isDeclaration())
            diags.report(DiagId::EmbeddedCode, function->c_code.range, "this C is not a function's body");
    }
    if (diags.has_errors())
        return std::optional<CCode>();
    for (llvm::Function& function : module) {
        if (function.isDeclaration())
            continue;
        function.removeFnAttr(llvm::Attribute::NoInline);
        function.removeFnAttr(llvm::Attribute::OptimizeNone);
        if (by_symbol.contains(function.getName().str()))
            continue;
        function.addFnAttr(llvm::Attribute::AlwaysInline);
        function.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
    // A function whose address is passed becomes known only after the function that passes it is inlined, so inlining
    // takes several rounds.
    constexpr const char* inlining = "always-inline,globaldce,";
    constexpr const char* simplifying = "function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,"
                                        "simplifycfg,sroa,instcombine<no-verify-fixpoint>)";
    unsigned rounds = most_inlining_rounds;
    do {
        backend.run(module, (std::string(inlining) + simplifying).c_str());
        find_constants(module);
    } while (--rounds && (calls_own_functions(module) || choose_functions(module)));
    refuse_variables(module, functions[0]->range, diags);
    if (diags.has_errors())
        return std::optional<CCode>();
    if (number_addresses(module))
        backend.run(module, (std::string("globaldce,") + simplifying).c_str());
    for (const auto& [symbol, function] : by_symbol)
        refuse_what_stays(*module.getFunction(symbol), function->c_code.range, diags);
    if (diags.has_errors())
        return std::optional<CCode>();
    CCode out;
    for (const auto& [symbol, function] : by_symbol)
        out.functions[function->name] = Securing(*module.getFunction(symbol), *function, limits, diags).run();
    if (diags.has_errors())
        return std::optional<CCode>();
    refuse_addresses(module, functions[0]->range, diags);
    if (diags.has_errors())
        return std::optional<CCode>();
    for (llvm::GlobalVariable& global : module.globals())
        if (!global.isDeclaration())
            global.setSection(".rodata");
    for (const auto& [symbol, function] : by_symbol)
        move_to_script(*module.getFunction(symbol), diags.sources());
    name_files(module, diags.sources());
    llvm::stripNonLineTableDebugInfo(module);
    std::string broken;
    llvm::raw_string_ostream broken_stream(broken);
    if (llvm::verifyModule(module, &broken_stream))
        return Error("internal: bad IR for the script's C: " + broken);
    llvm::raw_string_ostream stream(out.bitcode);
    llvm::WriteBitcodeToFile(module, stream);
    return std::optional(std::move(out));
}

} // namespace sonde
