// Kernel pointers and loops, made safe.
//
// To the verifier a pointer out of a structure of the kernel is a number: it can be read through only with a helper,
// which says whether there was memory. So everything is inlined first, and what becomes of an access depends on what
// its pointer points into:
//
//   a local variable, a constant, a string's slot: plain access, within its size, known now or checked when it runs
//   anything else, read: bpf_probe_read_kernel() into a local; where that fails, the function ends
//   anything else, written: refused, as BPF writes to no memory of the kernel
//
// Each turn of a loop takes one of a function's turns, so that the verifier sees every loop end. Where a function ends
// early it gives the number of the place, which the script's error names.
#include "codegen/c/memory.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/Utils/Local.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "codegen/backend.h"
#include "codegen/c/constants.h"
#include "codegen/c/helpers.h"
#include "codegen/c/place.h"
#include "codegen/c/refuse.h"
#include "codegen/lower/errors.h"
#include "runtime/plan.h"

namespace sonde {
namespace {

constexpr uint64_t most_turns = 1000;
// The verifier keeps a branch in mind until it has been at the end of the other one, and no more than 8,192 of them
// (BPF_COMPLEXITY_LIMIT_JMP_SEQ).
constexpr uint64_t most_branches = 7000;
// BPF_FUNC_probe_read_kernel and its like (include/uapi/linux/bpf.h)
constexpr uint64_t probe_write_user = 36, probe_read_user = 112, probe_read_kernel = 113, probe_read_user_str = 114,
                   probe_read_kernel_str = 115, helper_snprintf = 165;

// One function with all that it calls inlined.
class Securing {
  public:
    Securing(llvm::Function& function, const hir::Function& script, const CLimits& limits, Diagnostics& diags)
        : function_(function), script_(script), limits_(limits), diags_(diags),
          layout_(function.getParent()->getDataLayout()), ir_(function.getContext()) {}

    CFunction run() {
        replace_marks();
        make_failed();
        find_variables();
        if (limits_.may_goto)
            loosen_loops();
        llvm::SmallVector<llvm::Instruction*, 64> all, marks;
        for (llvm::BasicBlock& block : function_)
            for (llvm::Instruction& at : block)
                if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&at); call && call->isLifetimeStartOrEnd())
                    marks.push_back(&at);
                else if (&block != failed_)
                    all.push_back(&at);
        // What is cleared at the beginning has to stay so.
        for (llvm::Instruction* mark : marks)
            mark->eraseFromParent();
        for (llvm::Instruction* at : all)
            secure(*at);
        bound_loops();
        check_returns();
        if (status_->getNumIncomingValues() == 0)
            remove_failed();
        return {std::move(places_), slots_, !argument(c_error_argument)->use_empty(), writes_};
    }

  private:
    struct Target {
        llvm::Value* local = nullptr; // the one object that it points into
        uint64_t size = 0;            // of it
        bool has_local = false;       // it can point into one
        bool is_constant = false;     // the object cannot be written to
    };

    Range place(const llvm::Instruction& at) const {
        return place_of(at.getDebugLoc(), diags_.sources(), script_.c_code.range);
    }
    DiagBuilder refuse(const llvm::Instruction& at, const std::string& message) {
        return diags_.report(DiagId::EmbeddedCode, place(at), message);
    }

    llvm::Argument* argument(unsigned from_end) const { return function_.getArg(function_.arg_size() - from_end); }

    // What the prelude has calls for is there as arguments.
    void replace_marks() {
        for (llvm::BasicBlock& block : function_)
            for (llvm::Instruction& at : llvm::make_early_inc_range(block)) {
                auto* call = llvm::dyn_cast<llvm::CallInst>(&at);
                const llvm::StringRef name =
                    call && call->getCalledFunction() ? call->getCalledFunction()->getName() : "";
                llvm::Value* value = nullptr;
                ir_.SetInsertPoint(&at);
                if (name == "sonde_c_work")
                    value = argument(c_error_argument);
                else if (name == "sonde_c_environment")
                    value = argument(c_environment_argument);
                else if (name == "sonde_c_slot")
                    value = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), argument(c_slots_argument),
                                                           slots_++ * limits_.slot_bytes);
                if (value) {
                    call->replaceAllUsesWith(value);
                    call->eraseFromParent();
                }
            }
    }

    // The kernel's variables, whose addresses functions of the script tell.
    void find_variables() {
        llvm::Module& module = *function_.getParent();
        for (const hir::CCall& one : script_.c_calls) {
            if (!llvm::StringRef(one.name).starts_with(c_address_of))
                continue;
            llvm::GlobalVariable* variable = module.getGlobalVariable(one.name.substr(c_address_of.size()));
            if (!variable || !variable->isDeclaration())
                continue;
            llvm::convertUsersOfConstantsToInstructions({variable}, &function_);
            llvm::SmallVector<llvm::Use*, 8> uses;
            for (llvm::Use& use : variable->uses())
                if (auto* user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
                    user && user->getFunction() == &function_)
                    uses.push_back(&use);
            if (uses.empty())
                continue;
            llvm::Instruction& first = *has_fault_->getParent()->getFirstNonPHIOrDbgOrAlloca();
            ir_.SetInsertPoint(&first);
            llvm::AllocaInst* at = variable_of(8);
            ir_.SetInsertPoint(&first);
            auto* type = llvm::FunctionType::get(ir_.getInt64Ty(), {ir_.getPtrTy(), ir_.getPtrTy()}, false);
            ir_.CreateCall(module.getOrInsertFunction(script_symbol(one.call->callee->name), type),
                           {argument(c_environment_argument), at});
            llvm::Value* address = ir_.CreateIntToPtr(ir_.CreateLoad(ir_.getInt64Ty(), at), ir_.getPtrTy());
            for (llvm::Use* use : uses)
                use->set(address);
        }
    }

    // ---- ends

    // Where the function ends early. A read that failed before is what is told then.
    void make_failed() {
        ir_.SetInsertPoint(&*function_.getEntryBlock().begin());
        for (llvm::AllocaInst** one : {&fault_, &fault_address_, &has_fault_}) {
            *one = ir_.CreateAlloca(ir_.getInt64Ty());
            ir_.CreateStore(ir_.getInt64(0), *one);
        }
        failed_ = llvm::BasicBlock::Create(function_.getContext(), "failed", &function_);
        ir_.SetInsertPoint(failed_);
        status_ = ir_.CreatePHI(ir_.getInt64Ty(), 4);
        llvm::Value* fault = ir_.CreateLoad(ir_.getInt64Ty(), fault_);
        ir_.CreateStore(ir_.CreateLoad(ir_.getInt64Ty(), fault_address_), argument(c_result_argument));
        ir_.CreateRet(ir_.CreateSelect(ir_.CreateICmpNE(fault, ir_.getInt64(0)), fault, status_));
    }
    void remove_failed() {
        status_->replaceAllUsesWith(ir_.getInt64(0));
        failed_->eraseFromParent();
    }

    // Reads that failed end the function at the latest where it returns.
    void check_returns() {
        if (!reads_)
            return;
        llvm::SmallVector<llvm::Instruction*, 2> returns;
        for (llvm::BasicBlock& block : function_)
            if (&block != failed_ && llvm::isa<llvm::ReturnInst>(block.getTerminator()))
                returns.push_back(block.getTerminator());
        for (llvm::Instruction* end : returns) {
            ir_.SetInsertPoint(end);
            llvm::Value* fault = ir_.CreateLoad(ir_.getInt64Ty(), has_fault_);
            end_if(ir_.CreateICmpNE(fault, ir_.getInt64(0)), end, 0);
        }
    }

    uint64_t add_place(const std::string& message, Range range, int64_t bits) {
        places_.push_back({message, range});
        return places_.size() | static_cast<uint64_t>(bits);
    }

    // Where the condition holds when it runs, the function ends there. `before`: what then comes after the check.
    void end_if(llvm::Value* condition, llvm::Instruction* before, uint64_t status) {
        llvm::BasicBlock* block = before->getParent();
        llvm::BasicBlock* rest = llvm::SplitBlock(block, before);
        block->getTerminator()->eraseFromParent();
        ir_.SetInsertPoint(block);
        ir_.SetCurrentDebugLocation(before->getDebugLoc());
        ir_.CreateCondBr(condition, failed_, rest);
        status_->addIncoming(ir_.getInt64(status), block);
    }

    // ---- pointers

    uint64_t size_of(const llvm::Value& object) const {
        if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&object))
            return variable->getAllocationSize(layout_)->getFixedValue();
        if (auto* global = llvm::dyn_cast<llvm::GlobalVariable>(&object))
            return layout_.getTypeAllocSize(global->getValueType());
        if (&object == argument(c_slots_argument))
            return slots_ * limits_.slot_bytes;
        const bool is_number = &object == argument(c_result_argument) && script_.result != hir::ValueType::String;
        return is_number ? 8 : limits_.max_string;
    }

    // Loads what read_kernel() has read.
    bool is_read_to(const llvm::LoadInst& load) const {
        return llvm::any_of(variables_, [&](const auto& one) { return one.second == load.getPointerOperand(); });
    }

    Target target_of(llvm::Value* pointer) const {
        llvm::SmallVector<const llvm::Value*, 4> objects;
        llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
        Target out;
        for (const llvm::Value* object : objects) {
            const bool is_local = llvm::isa<llvm::AllocaInst>(object) || llvm::isa<llvm::GlobalVariable>(object) ||
                                  llvm::isa<llvm::Argument>(object);
            // An address that a variable keeps may be of another one.
            auto* kept = llvm::dyn_cast<llvm::LoadInst>(object);
            out.has_local =
                out.has_local || is_local ||
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

    // The value, of whose origin the compiler knows nothing.
    llvm::Value* opaque(llvm::Value* value) {
        auto* type = llvm::FunctionType::get(ir_.getInt64Ty(), {ir_.getInt64Ty()}, false);
        return ir_.CreateCall(type, llvm::InlineAsm::get(type, "", "=r,0", true), {value});
    }

    // The address as a number to the verifier too, which follows no pointer through a negation.
    llvm::Value* as_number(llvm::Value* pointer, bool has_local) {
        llvm::Value* number = ir_.CreatePtrToInt(pointer, ir_.getInt64Ty());
        if (!has_local)
            return number;
        auto* type = llvm::FunctionType::get(ir_.getInt64Ty(), {ir_.getInt64Ty()}, false);
        return ir_.CreateCall(type, llvm::InlineAsm::get(type, "$0 = -$0\n\t$0 = -$0", "=r,0", true), {number});
    }

    // Keeps an access of `bytes` inside of the object: `pointer` is its operand of `at`. False: it is refused.
    bool stay_inside(llvm::Instruction& at, const Target& target, llvm::Use& pointer, uint64_t bytes) {
        llvm::APInt offset(64, 0);
        const llvm::Value* base = pointer->stripAndAccumulateConstantOffsets(layout_, offset, true);
        if (base == target.local) {
            if (offset.isNegative() || offset.getZExtValue() + bytes > target.size) {
                refuse(at, fmt::format("this is outside of what has {} bytes", target.size));
                return false;
            }
            return true;
        }
        if (bytes > target.size) {
            refuse(at, fmt::format("this is outside of what has {} bytes", target.size));
            return false;
        }
        if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(target.local))
            clear(*variable);
        ir_.SetInsertPoint(&at);
        llvm::Value* exact = distance_of(pointer.get(), target.local);
        ir_.SetInsertPoint(&at);
        llvm::Value* distance = opaque(exact);
        llvm::Value* beyond = ir_.CreateICmpUGT(distance, ir_.getInt64(target.size - bytes));
        pointer.set(ir_.CreateGEP(ir_.getInt8Ty(), target.local, distance));
        end_if(beyond, llvm::cast<llvm::Instruction>(pointer.get()),
               add_place(fmt::format("an index is outside of what has {} bytes", target.size), place(at), 0));
        return true;
    }

    // Where an index is known only when it runs, the verifier wants all bytes to have values.
    void clear(llvm::AllocaInst& variable) {
        if (!cleared_.insert(&variable).second)
            return;
        variable.setAlignment(llvm::Align(8));
        ir_.SetInsertPoint(variable.getNextNode());
        ir_.SetCurrentDebugLocation({});
        ir_.CreateMemSet(&variable, ir_.getInt8(0), size_of(variable), llvm::Align(8));
    }

    llvm::AllocaInst* variable_of(uint64_t bytes) {
        llvm::AllocaInst*& variable = variables_[bytes];
        if (!variable) {
            ir_.SetInsertPoint(&*function_.getEntryBlock().begin());
            variable = ir_.CreateAlloca(llvm::ArrayType::get(ir_.getInt8Ty(), bytes));
            variable->setAlignment(llvm::Align(8));
        }
        return variable;
    }

    // bpf_probe_read_kernel() before `at`. Where it fails it gives zeros, and the function goes on with them to its
    // next check: every branch here is one that the verifier has to follow, in each turn of a loop.
    void read_kernel(llvm::Instruction& at, llvm::Value* to, llvm::Value* size, llvm::Value* from, bool has_local) {
        ir_.SetInsertPoint(&at);
        ir_.SetCurrentDebugLocation(at.getDebugLoc());
        llvm::Value* address = as_number(from, has_local);
        auto* type =
            llvm::FunctionType::get(ir_.getInt64Ty(), {ir_.getPtrTy(), ir_.getInt32Ty(), ir_.getInt64Ty()}, false);
        llvm::Value* helper = llvm::ConstantExpr::getIntToPtr(ir_.getInt64(probe_read_kernel), ir_.getPtrTy());
        note_fault(at, ir_.CreateCall(type, helper, {to, size, address}), address);
    }

    // Keeps that a read failed, if `result` is negative, and it is the first one.
    void note_fault(const llvm::Instruction& at, llvm::Value* result, llvm::Value* address) {
        reads_ = true;
        llvm::Value* failed = opaque(ir_.CreateAShr(result, 63));
        llvm::Value* before = ir_.CreateLoad(ir_.getInt64Ty(), has_fault_);
        llvm::Value* first = opaque(ir_.CreateAnd(failed, ir_.CreateNot(before)));
        const uint64_t status = add_place("read fault [man error::fault] at %#x", place(at), with_argument);
        auto keep = [&](llvm::AllocaInst* where, llvm::Value* value) {
            ir_.CreateStore(ir_.CreateOr(ir_.CreateLoad(ir_.getInt64Ty(), where), value), where);
        };
        keep(fault_, ir_.CreateAnd(first, ir_.getInt64(status)));
        keep(fault_address_, ir_.CreateAnd(first, address));
        keep(has_fault_, failed);
    }

    // ---- instructions

    void secure(llvm::Instruction& at) {
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&at))
            secure_load(*load);
        else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&at))
            secure_store(*store);
        else if (auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&at))
            secure_block(*memory);
        else if (at.isIntDivRem())
            divide(at);
        else if (auto* end = llvm::dyn_cast<llvm::UnreachableInst>(&at))
            end_at(*end);
        else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&at))
            secure_call(*call);
    }

    void secure_load(llvm::LoadInst& load) {
        const Target target = target_of(load.getPointerOperand());
        const uint64_t bytes = layout_.getTypeStoreSize(load.getType());
        if (target.local) {
            stay_inside(load, target, load.getOperandUse(0), bytes);
            return;
        }
        llvm::AllocaInst* to = variable_of(bytes);
        read_kernel(load, to, ir_.getInt32(static_cast<uint32_t>(bytes)), load.getPointerOperand(), target.has_local);
        ir_.SetInsertPoint(&load);
        llvm::Value* value = ir_.CreateAlignedLoad(load.getType(), to, llvm::Align(1));
        load.replaceAllUsesWith(value);
        load.eraseFromParent();
    }

    // An address does not tell whose memory it is.
    DiagBuilder refuse_write(const llvm::Instruction& at) {
        return refuse(at, "C in BPF writes to its own variables only, not to memory of the kernel or of a program")
            .help("give the value back; `bpf_probe_write_user(address, &value, sizeof(value))` writes a program's");
    }

    void secure_store(llvm::StoreInst& store) {
        const Target target = target_of(store.getPointerOperand());
        if (!target.local || target.is_constant)
            refuse_write(store);
        else
            stay_inside(store, target, store.getOperandUse(1),
                        layout_.getTypeStoreSize(store.getValueOperand()->getType()));
    }

    // memcpy, memset
    void secure_block(llvm::MemIntrinsic& block) {
        const Target to = target_of(block.getRawDest());
        auto* known = llvm::dyn_cast<llvm::ConstantInt>(block.getLength());
        if (!to.local || to.is_constant) {
            refuse_write(block);
            return;
        }
        if (!known && llvm::isa<llvm::MemSetInst>(block)) {
            refuse(block, "the size of a `memset` has to be a constant");
            return;
        }
        if (known && !stay_inside(block, to, block.getRawDestUse(), known->getZExtValue()))
            return;
        auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&block);
        if (!copy)
            return;
        const Target from = target_of(copy->getRawSource());
        if (known && from.local) {
            stay_inside(block, from, copy->getRawSourceUse(), known->getZExtValue());
            return;
        }
        llvm::Value* length = block.getLength();
        if (!known) {
            llvm::APInt offset(64, 0);
            if (block.getRawDest()->stripAndAccumulateConstantOffsets(layout_, offset, true) != to.local ||
                offset.getZExtValue() > to.size) {
                refuse(block, "a `memcpy` needs a place or a size that is known");
                return;
            }
            ir_.SetInsertPoint(&block);
            ir_.SetCurrentDebugLocation(block.getDebugLoc());
            length = opaque(ir_.CreateZExtOrTrunc(length, ir_.getInt64Ty()));
            end_if(ir_.CreateICmpUGT(length, ir_.getInt64(to.size - offset.getZExtValue())), &block,
                   add_place(fmt::format("a size is outside of what has {} bytes", to.size), place(block), 0));
        }
        ir_.SetInsertPoint(&block);
        read_kernel(block, block.getRawDest(), ir_.CreateTrunc(length, ir_.getInt32Ty()), copy->getRawSource(),
                    from.has_local);
        block.eraseFromParent();
    }

    // As BPF does, where a division by 0 gives 0 and leaves everything as the rest; to LLVM it would be anything. BPF
    // divides unsigned numbers (signed ones since 6.6): of the amounts, with the sign put on afterwards.
    void divide(llvm::Instruction& at) {
        const bool divides = at.getOpcode() == llvm::Instruction::SDiv || at.getOpcode() == llvm::Instruction::UDiv;
        const bool is_signed = at.getOpcode() == llvm::Instruction::SDiv || at.getOpcode() == llvm::Instruction::SRem;
        ir_.SetInsertPoint(&at);
        ir_.SetCurrentDebugLocation(at.getDebugLoc());
        llvm::Value *a = at.getOperand(0), *b = at.getOperand(1);
        llvm::Value* zero = llvm::ConstantInt::get(a->getType(), 0);
        llvm::Value *amount_a = a, *amount_b = b, *is_negative = ir_.getFalse();
        if (is_signed) {
            llvm::Value *is_a_negative = ir_.CreateICmpSLT(a, zero), *is_b_negative = ir_.CreateICmpSLT(b, zero);
            amount_a = ir_.CreateSelect(is_a_negative, ir_.CreateNeg(a), a);
            amount_b = ir_.CreateSelect(is_b_negative, ir_.CreateNeg(b), b);
            is_negative = divides ? ir_.CreateXor(is_a_negative, is_b_negative) : is_a_negative;
        }
        llvm::Value* by_zero = ir_.CreateICmpEQ(b, zero);
        amount_b = ir_.CreateSelect(by_zero, llvm::ConstantInt::get(a->getType(), 1), amount_b);
        llvm::Value* amount = divides ? ir_.CreateUDiv(amount_a, amount_b) : ir_.CreateURem(amount_a, amount_b);
        llvm::Value* value = ir_.CreateSelect(is_negative, ir_.CreateNeg(amount), amount);
        at.replaceAllUsesWith(ir_.CreateSelect(by_zero, divides ? zero : a, value));
        at.eraseFromParent();
    }

    // What the program promises that it never reaches.
    void end_at(llvm::UnreachableInst& end) {
        ir_.SetInsertPoint(&end);
        ir_.SetCurrentDebugLocation(end.getDebugLoc());
        status_->addIncoming(ir_.getInt64(add_place("`__builtin_unreachable` is reached", place(end), 0)),
                             end.getParent());
        ir_.CreateBr(failed_);
        end.eraseFromParent();
    }

    static bool writes_text(uint64_t number) {
        return number == probe_read_kernel_str || number == probe_read_user_str || number == helper_snprintf;
    }
    static bool writes_first(uint64_t number) {
        return writes_text(number) || number == probe_read_kernel || number == probe_read_user;
    }

    // A helper that writes `size` bytes to `to`, its first arguments: they stay inside of what is there. What writes a
    // text takes less then.
    // False after a report.
    bool bound_written(llvm::CallBase& call, uint64_t number) {
        const Target target = target_of(call.getArgOperand(0));
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
                refuse(call, fmt::format("this is outside of what has {} bytes", target.size));
                return false;
            }
            room = target.size - offset.getZExtValue();
        } else if (llvm::isa<llvm::Argument>(target.local)) {
            // A slot has room for two texts.
            room = limits_.max_string;
            const bool is_own = target.local == argument(c_slots_argument);
            if (!stay_inside(call, target, call.getArgOperandUse(0), is_own ? limits_.slot_bytes - room : 1))
                return false;
        } else if (!known) {
            refuse(call, "the place and the size are both known only when this runs")
                .help("build the text in `STAP_RETVALUE`, or give a constant size");
            return false;
        } else if (!stay_inside(call, target, call.getArgOperandUse(0), known->getZExtValue())) {
            return false;
        }
        if (known && known->getZExtValue() <= room)
            return true;
        if (known && !writes_text(number)) {
            refuse(call, fmt::format("this is outside of what has {} bytes", target.size));
            return false;
        }
        ir_.SetInsertPoint(&call);
        ir_.SetCurrentDebugLocation(call.getDebugLoc());
        llvm::Type* type = call.getArgOperand(1)->getType();
        if (known) {
            call.setArgOperand(1, llvm::ConstantInt::get(type, room));
            return true;
        }
        llvm::Value* size = opaque(ir_.CreateZExtOrTrunc(call.getArgOperand(1), ir_.getInt64Ty()));
        llvm::Value* beyond = ir_.CreateICmpUGT(size, ir_.getInt64(room));
        if (writes_text(number)) {
            llvm::Value* fitting = ir_.CreateSelect(beyond, ir_.getInt64(room), size);
            call.setArgOperand(1, ir_.CreateZExtOrTrunc(fitting, type));
        } else {
            call.setArgOperand(1, ir_.CreateZExtOrTrunc(size, type));
            end_if(beyond, &call,
                   add_place(fmt::format("a size is outside of what has {} bytes", target.size), place(call), 0));
        }
        return true;
    }

    void secure_helper(llvm::CallBase& call, uint64_t number) {
        if (helper_name(number).empty()) {
            refuse(call, fmt::format("C in a script cannot call address {}", number))
                .help("of BPF's functions those can be called that docs/embedded-c.md names, by their names");
            return;
        }
        if (number == probe_write_user && !writes_.valid())
            writes_ = place(call);
        if (writes_first(number) && !bound_written(call, number))
            return;
        for (const HelperMemory& memory : helper_memory(number)) {
            if (memory.pointer == 0 && writes_first(number))
                continue;
            const Target target = target_of(call.getArgOperand(memory.pointer));
            if (memory.is_written && (!target.local || target.is_constant)) {
                refuse_write(call);
                return;
            }
            auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(static_cast<unsigned>(memory.size)));
            if (target.local && bytes && bytes->getZExtValue() &&
                !stay_inside(call, target, call.getOperandUse(memory.pointer), bytes->getZExtValue()))
                return;
        }
        llvm::StringRef format;
        if (helper_name(number) != "bpf_snprintf" || !llvm::getConstantStringInfo(call.getArgOperand(2), format))
            return;
        if (auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(4)))
            if (std::string wrong = check_format(format.str(), bytes->getZExtValue() / 8); !wrong.empty())
                refuse(call, wrong);
    }

    void secure_call(llvm::CallBase& call) {
        const llvm::Function* callee = call.getCalledFunction();
        if (std::optional<uint64_t> helper = helper_number(call)) {
            secure_helper(call, *helper);
            return;
        }
        if (!callee) {
            if (!llvm::isa<llvm::Constant>(call.getCalledOperand()) && !call.isInlineAsm())
                refuse(call, "C in BPF cannot call through a pointer");
            return;
        }
        if (callee->isIntrinsic()) {
            const llvm::Intrinsic::ID id = callee->getIntrinsicID();
            if (id == llvm::Intrinsic::trap || id == llvm::Intrinsic::debugtrap || id == llvm::Intrinsic::ubsantrap) {
                end_if(ir_.getTrue(), &call, add_place("`__builtin_trap` is reached", place(call), 0));
                call.eraseFromParent();
            }
        } else if (callee->getName() == "sonde_c_work") {
            call.replaceAllUsesWith(function_.getArg(function_.arg_size() - 1));
            call.eraseFromParent();
        } else if (callee->getName() == "sonde_c_read") {
            ir_.SetInsertPoint(&call);
            note_fault(call, call.getArgOperand(0), as_number(call.getArgOperand(1), true));
            call.eraseFromParent();
        } else if (callee->getName() == "sonde_c_fail") {
            call.replaceAllUsesWith(ir_.getInt64(add_place("%s", place(call), with_text)));
            call.eraseFromParent();
        } else if (callee->getName() == "sonde_c_check") {
            // An error of what was called is the pending one already.
            ir_.SetInsertPoint(&call);
            llvm::Value* failed = ir_.CreateICmpNE(call.getArgOperand(0), ir_.getInt64(0));
            end_if(failed, &call, static_cast<uint64_t>(c_failed_before));
            call.eraseFromParent();
        } else if (callee->getName() == "sonde_c_throw") {
            end_if(ir_.getTrue(), &call, add_place("%s", place(call), with_text));
            call.eraseFromParent();
        }
    }

    // ---- loops

    // Of the loop that has most.
    uint64_t count_branches() {
        llvm::DominatorTree dominators(function_);
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

    // 0, as the verifier cannot know it.
    llvm::Value* unknown_zero() {
        llvm::Value* unknown = ir_.CreateLoad(ir_.getInt64Ty(), argument(c_error_argument), true);
        return ir_.CreateSub(unknown, opaque(unknown));
    }

    // may_goto ends a loop to the verifier as soon as two of its turns look the same. So what a loop counts must be
    // unknown to it at the loop's head, and a pointer that moves must be a distance, which is checked where memory is
    // accessed.
    void loosen_loops() {
        llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 8> edges;
        llvm::FindFunctionBackedges(function_, edges);
        std::set<const llvm::BasicBlock*> heads;
        for (const auto& [from, to] : edges)
            heads.insert(to);
        for (const llvm::BasicBlock* head : heads) {
            llvm::SmallVector<llvm::PHINode*, 4> moving;
            for (llvm::PHINode& phi : const_cast<llvm::BasicBlock*>(head)->phis())
                moving.push_back(&phi);
            for (llvm::PHINode* phi : moving) {
                if (phi->getType()->isPointerTy())
                    phi = make_distance(*phi);
                if (!phi || !phi->getType()->isIntegerTy())
                    continue;
                for (const auto& [from, to] : edges)
                    if (to == head)
                        loosen(*phi, *const_cast<llvm::BasicBlock*>(from));
            }
        }
    }

    void loosen(llvm::PHINode& phi, llvm::BasicBlock& from) {
        ir_.SetInsertPoint(from.getTerminator());
        llvm::Value* value = phi.getIncomingValueForBlock(&from);
        llvm::Value* zero = ir_.CreateTrunc(unknown_zero(), value->getType());
        phi.setIncomingValueForBlock(&from, ir_.CreateAdd(value, zero));
    }

    // Null: it points into no object that is known.
    llvm::PHINode* make_distance(llvm::PHINode& phi) {
        const Target target = target_of(&phi);
        if (!target.local)
            return nullptr;
        auto* distance = llvm::cast<llvm::PHINode>(distance_of(&phi, target.local));
        ir_.SetInsertPoint(&*phi.getParent()->getFirstInsertionPt());
        phi.replaceAllUsesWith(ir_.CreateGEP(ir_.getInt8Ty(), target.local, distance));
        distances_.erase(&phi);
        phi.eraseFromParent();
        return distance;
    }

    // How far a pointer is from the beginning of what it points into. Computed from what it is made of: a pointer that
    // moves by an unknown distance is nothing that the verifier follows.
    llvm::Value* distance_of(llvm::Value* pointer, llvm::Value* base) {
        if (pointer == base)
            return ir_.getInt64(0);
        if (auto known = distances_.find(pointer); known != distances_.end())
            return known->second;
        llvm::Value* out = nullptr;
        if (auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer)) {
            llvm::Value* before = distance_of(step->getPointerOperand(), base);
            ir_.SetInsertPoint(step);
            out = ir_.CreateAdd(before, llvm::emitGEPOffset(&ir_, layout_, step, true));
        } else if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(pointer)) {
            llvm::Value* yes = distance_of(choice->getTrueValue(), base);
            llvm::Value* no = distance_of(choice->getFalseValue(), base);
            ir_.SetInsertPoint(choice);
            out = ir_.CreateSelect(choice->getCondition(), yes, no);
        } else if (auto* phi = llvm::dyn_cast<llvm::PHINode>(pointer)) {
            ir_.SetInsertPoint(phi);
            llvm::PHINode* distance = ir_.CreatePHI(ir_.getInt64Ty(), phi->getNumIncomingValues());
            distances_[pointer] = distance;
            for (unsigned i = 0; i < phi->getNumIncomingValues(); i++)
                distance->addIncoming(distance_of(phi->getIncomingValue(i), base), phi->getIncomingBlock(i));
            return distance;
        } else {
            llvm::APInt offset(64, 0);
            if (pointer->stripAndAccumulateConstantOffsets(layout_, offset, true) == base)
                return ir_.getInt64(offset.getZExtValue()); // a constant's
            if (auto* at = llvm::dyn_cast<llvm::Instruction>(pointer))
                ir_.SetInsertPoint(at->getNextNode());
            out = ir_.CreateSub(ir_.CreatePtrToInt(pointer, ir_.getInt64Ty()),
                                ir_.CreatePtrToInt(base, ir_.getInt64Ty()));
        }
        return distances_[pointer] = out;
    }

    // The verifier follows a number that counts down through all turns. may_goto (6.9) ends a loop to it after a few;
    // then the number must be unknown to it.
    void bound_loops() {
        llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 8> edges;
        llvm::FindFunctionBackedges(function_, edges);
        if (edges.empty())
            return;
        const uint64_t turns = limits_.may_goto
                                   ? most_turns
                                   : std::min(most_turns, most_branches / std::max<uint64_t>(count_branches(), 1));
        ir_.SetInsertPoint(has_fault_->getNextNode());
        ir_.SetCurrentDebugLocation({});
        llvm::AllocaInst* left = ir_.CreateAlloca(ir_.getInt64Ty());
        llvm::Value* all = ir_.getInt64(turns);
        ir_.CreateStore(limits_.may_goto ? ir_.CreateAdd(all, unknown_zero()) : all, left);
        for (const auto& [from, to] : edges) {
            auto* last = const_cast<llvm::BasicBlock*>(from);
            const llvm::Instruction* jump = last->getTerminator();
            Range range = place(*jump);
            llvm::DebugLoc line = jump->getDebugLoc();
            llvm::BasicBlock* turn = llvm::SplitEdge(last, const_cast<llvm::BasicBlock*>(to));
            llvm::Instruction* end = turn->getTerminator();
            ir_.SetInsertPoint(end);
            ir_.SetCurrentDebugLocation(line);
            llvm::Value* had = ir_.CreateLoad(ir_.getInt64Ty(), left);
            // A read that failed takes all turns that are left. A number that is counted down to the verifier must stay
            // known.
            if (limits_.may_goto)
                had = ir_.CreateAnd(had, ir_.CreateNot(ir_.CreateLoad(ir_.getInt64Ty(), has_fault_)));
            llvm::Value* now = ir_.CreateSub(had, ir_.getInt64(1));
            ir_.CreateStore(now, left);
            const uint64_t status = add_place(plan::no_actions_left, range, past_catching);
            end_if(ir_.CreateICmpSLT(now, ir_.getInt64(0)), end, status);
            if (limits_.may_goto)
                end_by_may_goto(*end, status);
        }
    }

    void end_by_may_goto(llvm::Instruction& before, uint64_t status) {
        llvm::BasicBlock* block = before.getParent();
        llvm::BasicBlock* rest = llvm::SplitBlock(block, &before);
        block->getTerminator()->eraseFromParent();
        ir_.SetInsertPoint(block);
        ir_.SetCurrentDebugLocation(before.getDebugLoc());
        auto* type = llvm::FunctionType::get(ir_.getVoidTy(), false);
        ir_.CreateCallBr(type, llvm::InlineAsm::get(type, "may_goto ${0:l}", "!i", true), rest, {failed_}, {});
        status_->addIncoming(ir_.getInt64(status), block);
    }

    llvm::Function& function_;
    const hir::Function& script_;
    const CLimits limits_;
    Diagnostics& diags_;
    const llvm::DataLayout& layout_;
    llvm::IRBuilder<> ir_;
    std::vector<CPlace> places_;
    uint64_t slots_ = 0;
    Range writes_; // CFunction
    llvm::BasicBlock* failed_ = nullptr;
    llvm::PHINode* status_ = nullptr;
    // Of the first read that failed: the status, the address, and all ones.
    llvm::AllocaInst *fault_ = nullptr, *fault_address_ = nullptr, *has_fault_ = nullptr;
    bool reads_ = false;
    std::map<uint64_t, llvm::AllocaInst*> variables_; // that reads go to, by their size
    std::set<llvm::AllocaInst*> cleared_;
    std::map<llvm::Value*, llvm::Value*> distances_; // distance_of()
};

// What is inlined from the prelude then comes from where the script uses it.
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

// Debug information then says what the script's files are called.
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

Result<std::optional<CCode>> secure_c_code(const std::string& bitcode,
                                           const std::vector<const hir::Function*>& functions, const CLimits& limits,
                                           Diagnostics& diags) {
    llvm::LLVMContext context;
    auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "C"), context);
    if (!parsed)
        return Error("clang's bitcode cannot be read: " + llvm::toString(parsed.takeError()));
    llvm::Module& module = **parsed;
    Backend backend(true);
    if (Result<void> begun = backend.begin(module); !begun)
        return std::move(begun).error();
    std::set<std::string> variables;
    for (const hir::Function* function : functions)
        for (const hir::CCall& one : function->c_calls)
            if (llvm::StringRef(one.name).starts_with(c_address_of))
                variables.insert(one.name.substr(c_address_of.size()));
    refuse_what_cannot_be(module, variables, functions[0]->range, diags);
    if (diags.has_errors())
        return std::optional<CCode>();
    fill_by_stores(module);

    std::map<std::string, const hir::Function*> by_symbol;
    for (const hir::Function* function : functions) {
        const std::string symbol = c_symbol(function->name);
        by_symbol[symbol] = function;
        // A macro of the script's has changed what stands around it.
        if (const llvm::Function* defined = module.getFunction(symbol); !defined || defined->isDeclaration())
            diags.report(DiagId::EmbeddedCode, function->c_code.range, "this C is no function's body");
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
    backend.run(module, "always-inline,globaldce,function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,"
                        "simplifycfg,sroa,instcombine<no-verify-fixpoint>)");
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
