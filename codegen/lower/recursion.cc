// Functions that call themselves, in BPF: neither recursion nor deep calls exist there.
//
// All functions that call each other become one LLVM function, a machine: their bodies as blocks, their activations in
// an array in the caller's frame, and a dispatch block that goes on with the activation on top, where it was. A call
// fills the next activation, remembers where to go on, and dispatches; a return takes its activation away and
// dispatches.
//
//   machine memory: u64 depth, u64 status, result (a slot), then max_nesting + 1 activations
//   an activation:  u64 where to go on, the parameters, everything else that its body keeps
//
// What foreach loops walk over is in memory of its own, where each activation has its part too.
//
// Bodies are lowered as all others are, with a call `suspend()` where the machine leaves; afterwards suspend() becomes
// the way out and back in, and what lives across it moves into the activation. Where loops have to be found in the code
// (loop_callbacks.h), a loop that the machine leaves is none by itself: it begins each round with a call `pause()`,
// which becomes a way through the dispatch block that stays in the activation.
#include <algorithm>

#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "codegen/lower/lower.h"
#include "frontend/hir/walk.h"

namespace sonde {

using hir::ValueType;

struct BodyState::Machine {
    struct Entry {
        uint64_t number;
        llvm::BasicBlock* block;
    };
    static constexpr uint64_t status_at = 8, result_at = 16;

    llvm::Function* function;
    llvm::Value* base;
    llvm::Instruction* activation = nullptr; // of the running function; defined in the dispatch block
    llvm::Instruction* size = nullptr;       // stands for the bytes of an activation until they are known
    llvm::Value* scan = nullptr;             // where the running function's foreach loops keep what they walk over
    llvm::Instruction* scan_size = nullptr;  // as `size`
    bool walks = false;                      // a body has such a loop itself
    llvm::BasicBlock* dispatch = nullptr;
    llvm::FunctionCallee suspend, pause;
    uint64_t frame = 0;     // bytes of the largest activation
    uint64_t scan_part = 0; // and of the largest part for its loops
    std::unordered_map<const hir::Function*, Entry> entries;
    std::vector<const hir::Function*> pending;

    // The number that dispatches to the function's begin.
    uint64_t number_of(const hir::Function& callee) {
        auto [entry, fresh] = entries.try_emplace(&callee);
        if (fresh) {
            entry->second = {entries.size() - 1,
                             llvm::BasicBlock::Create(function->getContext(), "recursive", function)};
            pending.push_back(&callee);
        }
        return entry->second.number;
    }
};

namespace {
uint64_t parameter_offset(const hir::Function& function, size_t index, uint64_t slot) {
    uint64_t at = 8;
    for (size_t i = 0; i < index; i++)
        at += function.params[i]->type == ValueType::String ? slot : 8;
    return at;
}

// What stands for a value until that is known. Nothing may be computed from it meanwhile: an instruction.
llvm::Instruction* stand_in(llvm::IRBuilder<>& builder, llvm::Type* type) {
    return builder.CreateLoad(type, llvm::PoisonValue::get(builder.getPtrTy()));
}
} // namespace

void Lowering::lower_machine(const hir::Function& function) {
    llvm::Function* out = functions_[&function];
    Machine machine;
    machine_ = &machine;
    machine.function = out;
    const uint64_t limit = e_.state().options.max_nesting;
    const uint64_t activations = Machine::result_at + e_.slot_size();

    // The caller's arguments become the first activation.
    e_.SetInsertPoint(llvm::BasicBlock::Create(e_.getContext(), "entry", out));
    e_.lines().describe(out, function.range);
    env_.has_frame = true;
    take_environment(out);
    llvm::Value* destination = result_;
    machine.base = env_.frame;
    machine.suspend = e_.module().getOrInsertFunction("sonde_suspend", e_.i64());
    machine.pause = e_.module().getOrInsertFunction("sonde_pause", e_.getVoidTy());
    machine.dispatch = e_.block("dispatch");
    llvm::BasicBlock *bad = e_.block("nowhere"), *done = e_.block("done"), *leave = e_.block("leave"),
                     *run = e_.block("run");
    e_.CreateStore(e_.number(0), machine.base);
    e_.CreateStore(e_.number(static_cast<int64_t>(machine.number_of(function))), e_.offset(machine.base, activations));
    for (size_t i = 0; i < function.params.size(); i++)
        store_parameter(function, i, e_.offset(machine.base, activations),
                        out->getArg(fixed_arguments + static_cast<unsigned>(i)));
    e_.CreateBr(machine.dispatch);

    e_.SetInsertPoint(machine.dispatch);
    t_.programs().loop_head(bad);
    llvm::Value* depth = e_.CreateLoad(e_.i64(), machine.base);
    e_.CreateCondBr(e_.CreateICmpULT(depth, e_.number(static_cast<int64_t>(limit))), run, bad);
    e_.SetInsertPoint(run);
    machine.size = stand_in(e_, e_.i64());
    llvm::Value* first = e_.offset(machine.base, activations);
    machine.activation = llvm::cast<llvm::Instruction>(
        e_.CreateGEP(e_.getInt8Ty(), first, e_.CreateMul(depth, machine.size), "activation"));
    machine.scan = env_.scan;
    if (env_.scan) {
        machine.scan_size = stand_in(e_, e_.i64());
        machine.scan = e_.CreateGEP(e_.getInt8Ty(), env_.scan, e_.CreateMul(depth, machine.scan_size), "walked");
    }
    llvm::Value* where = e_.CreateLoad(e_.i64(), machine.activation);
    llvm::SwitchInst* resume = e_.CreateSwitch(where, bad);

    while (!machine.pending.empty()) {
        const hir::Function& next = *machine.pending.back();
        machine.pending.pop_back();
        lower_activation(next, leave);
    }
    for (auto& [callee, entry] : machine.entries)
        resume->addCase(e_.getInt64(entry.number), entry.block);

    // Every return comes here, its status and result in the machine's memory.
    e_.SetInsertPoint(leave);
    llvm::BasicBlock* pop = e_.block("pop");
    llvm::Value* now = e_.CreateLoad(e_.i64(), machine.base);
    e_.CreateCondBr(e_.CreateICmpEQ(now, e_.number(0)), done, pop);
    e_.SetInsertPoint(pop);
    e_.CreateStore(e_.CreateSub(now, e_.number(1)), machine.base);
    e_.CreateBr(machine.dispatch);
    e_.SetInsertPoint(done);
    llvm::Value* result = e_.offset(machine.base, Machine::result_at);
    if (function.result == ValueType::String)
        store_string(destination, result);
    else
        e_.CreateStore(e_.CreateLoad(e_.i64(), result), destination);
    e_.CreateRet(e_.CreateLoad(e_.i64(), e_.offset(machine.base, Machine::status_at)));
    e_.SetInsertPoint(bad);
    catch_ = e_.block("refused");
    raise(plan::no_actions_left, function.range);
    e_.SetInsertPoint(catch_);
    e_.CreateRet(e_.number(1));

    move_into_activation(*resume);
    machine.size->replaceAllUsesWith(e_.number(static_cast<int64_t>(machine.frame)));
    machine.size->eraseFromParent();
    frame_sizes_[&function] = activations + (limit + 1) * machine.frame;
    // What the bodies only call walks over one array after the other.
    uint64_t parted = machine.walks ? machine.scan_part : 0;
    scan_sizes_[&function] = machine.scan_part + (limit - 1) * parted;
    if (machine.scan_size) {
        machine.scan_size->replaceAllUsesWith(e_.number(static_cast<int64_t>(parted)));
        machine.scan_size->eraseFromParent();
    }
}

void Lowering::store_parameter(const hir::Function& function, size_t index, llvm::Value* activation,
                               llvm::Value* value) {
    llvm::Value* at = e_.offset(activation, parameter_offset(function, index, e_.slot_size()));
    if (function.params[index]->type == ValueType::String)
        store_string(at, value);
    else
        e_.CreateStore(value, at);
}

// A body, in the activation that the dispatch block found.
void Lowering::lower_activation(const hir::Function& function, llvm::BasicBlock* leave) {
    function_ = &function;
    env_.frame = machine_->activation;
    env_.scan = machine_->scan;
    frame_next_ = frame_max_ = scan_next_ = scan_max_ = 0;
    e_.SetInsertPoint(machine_->entries[&function].block);
    e_.lines().locate(function.range);
    new_bytes(parameter_offset(function, function.params.size(), e_.slot_size()));
    for (size_t i = 0; i < function.params.size(); i++)
        locals_[function.params[i]] = e_.offset(env_.frame, parameter_offset(function, i, e_.slot_size()));
    begin_locals(function.locals);
    bool string = function.result == ValueType::String;
    result_ = string ? new_slot() : new_bytes(8);
    if (string)
        e_.CreateStore(e_.getInt8(0), result_);
    else
        e_.CreateStore(e_.number(0), result_);
    llvm::BasicBlock *failed = e_.block("failed"), *end = e_.block("end");
    catch_ = failed;
    leave_ = end;
    for_each_stmt(*function.body, [this](const hir::Stmt& stmt) {
        machine_->walks |= stmt.kind == hir::StmtKind::Foreach && hir::as<hir::Foreach>(stmt).array;
    });
    spend(1, function.range);
    lower(*function.body);
    branch_to(end);
    e_.SetInsertPoint(failed);
    e_.CreateStore(e_.number(1), e_.offset(machine_->base, Machine::status_at));
    e_.CreateBr(leave);
    e_.SetInsertPoint(end);
    e_.CreateStore(e_.number(0), e_.offset(machine_->base, Machine::status_at));
    llvm::Value* out = e_.offset(machine_->base, Machine::result_at);
    if (string)
        store_string(out, result_);
    else
        e_.CreateStore(e_.CreateLoad(e_.i64(), result_), out);
    e_.CreateBr(leave);
    machine_->frame = std::max(machine_->frame, frame_max_);
    machine_->scan_part = std::max(machine_->scan_part, scan_max_);
}

// A call from one of the machine's functions to one of them.
llvm::Value* Lowering::call_in_machine(const hir::Call& expr) {
    const hir::Function& callee = *expr.callee;
    bool string = callee.result == ValueType::String;
    llvm::Value* result = string ? new_slot() : new_bytes(8);
    Mark mark(*this);
    std::vector<llvm::Value*> arguments;
    for (const hir::Expr* argument : expr.args)
        arguments.push_back(lower(*argument));
    e_.lines().locate(expr.range);
    llvm::Value* depth = e_.CreateLoad(e_.i64(), machine_->base);
    auto last = static_cast<int64_t>(e_.state().options.max_nesting) - 1;
    raise_if(e_.CreateICmpUGE(depth, e_.number(last)), "MAXNESTING exceeded", expr.range);
    llvm::Value* next = e_.CreateGEP(e_.getInt8Ty(), machine_->activation, machine_->size);
    e_.CreateStore(e_.number(static_cast<int64_t>(machine_->number_of(callee))), next);
    for (size_t i = 0; i < arguments.size(); i++)
        store_parameter(callee, i, next, arguments[i]);
    llvm::Value* status = e_.CreateCall(machine_->suspend);
    check_call(expr, status);
    llvm::Value* from = e_.offset(machine_->base, Machine::result_at);
    if (string)
        store_string(result, from);
    else
        e_.CreateStore(e_.CreateLoad(e_.i64(), from), result);
    return string ? result : e_.CreateLoad(e_.i64(), result);
}

bool Lowering::begin_machine_round(const hir::Stmt& loop) {
    bool leaves = false;
    if (machine_ && !e_.state().options.may_goto)
        for_each_expr(loop, [&](const hir::Expr& expr) {
            leaves |= expr.kind == hir::ExprKind::Call && hir::as<hir::Call>(expr).callee->recursive;
        });
    if (leaves)
        e_.CreateCall(machine_->pause);
    return leaves;
}

// suspend() becomes: note where to go on, one activation more, dispatch. What its function computed before and uses
// behind goes through the activation: numbers as cells of it, addresses computed anew.
void Lowering::move_into_activation(llvm::SwitchInst& resume) {
    Machine& machine = *machine_;
    std::vector<llvm::CallInst*> suspends;
    std::vector<llvm::AllocaInst*> variables;
    for (llvm::Instruction& instruction : llvm::instructions(*machine.function)) {
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
            call && (call->getCalledFunction() == machine.suspend.getCallee() ||
                     call->getCalledFunction() == machine.pause.getCallee()))
            suspends.push_back(call);
        // Scratch memory is used at once: never across a suspend().
        if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction); variable && !e_.is_scratch(*variable))
            variables.push_back(variable);
    }
    uint64_t number = machine.entries.size();
    for (llvm::CallInst* call : suspends) {
        llvm::BasicBlock* before = call->getParent();
        llvm::BasicBlock* after = before->splitBasicBlock(call->getIterator(), "resumed");
        before->getTerminator()->eraseFromParent();
        e_.SetInsertPoint(before);
        e_.SetCurrentDebugLocation(call->getDebugLoc());
        e_.CreateStore(e_.number(static_cast<int64_t>(number)), machine.activation);
        bool stays = call->getType()->isVoidTy();
        if (!stays) {
            llvm::Value* depth = e_.CreateLoad(e_.i64(), machine.base);
            e_.CreateStore(e_.CreateAdd(depth, e_.number(1)), machine.base);
        }
        e_.CreateBr(machine.dispatch);
        e_.SetInsertPoint(call);
        if (!stays)
            call->replaceAllUsesWith(e_.CreateLoad(e_.i64(), e_.offset(machine.base, Machine::status_at)));
        call->eraseFromParent();
        resume.addCase(e_.getInt64(number++), after);
    }

    auto new_cell = [&](uint64_t bytes) {
        uint64_t at = machine.frame;
        machine.frame += (bytes + 7) & ~7ull;
        return at;
    };
    auto before_use = [&](llvm::Use& use) {
        auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        if (auto* phi = llvm::dyn_cast<llvm::PHINode>(user))
            e_.SetInsertPoint(phi->getIncomingBlock(use)->getTerminator());
        else
            e_.SetInsertPoint(user);
    };
    auto uses_of = [](llvm::Value& value) {
        std::vector<llvm::Use*> uses;
        for (llvm::Use& use : value.uses())
            uses.push_back(&use);
        return uses;
    };
    for (llvm::AllocaInst* variable : variables) {
        uint64_t at = new_cell(variable->getAllocationSize(e_.module().getDataLayout())->getFixedValue());
        for (llvm::Use* use : uses_of(*variable)) {
            before_use(*use);
            use->set(e_.offset(machine.activation, at));
        }
        variable->eraseFromParent();
    }
    // Until every use is reached by its definition: computing an address anew needs its operands there.
    for (bool again = true; again;) {
        again = false;
        llvm::DominatorTree dominators(*machine.function);
        std::vector<std::pair<llvm::Instruction*, llvm::Use*>> broken;
        for (llvm::Instruction& instruction : llvm::instructions(*machine.function))
            for (llvm::Use& use : instruction.uses())
                if (dominators.isReachableFromEntry(instruction.getParent()) &&
                    !dominators.dominates(&instruction, use))
                    broken.emplace_back(&instruction, &use);
        std::unordered_map<llvm::Instruction*, uint64_t> cells;
        for (auto& [instruction, use] : broken) {
            again = true;
            if (llvm::isa<llvm::GetElementPtrInst>(instruction)) {
                before_use(*use);
                use->set(e_.Insert(instruction->clone()));
                continue;
            }
            if (!instruction->getType()->isIntegerTy()) {
                fail(function_->range, "internal: an address lives across a recursive call");
                return;
            }
            auto [cell, fresh] = cells.try_emplace(instruction, 0);
            if (fresh) {
                cell->second = new_cell(8);
                e_.SetInsertPoint(*instruction->getInsertionPointAfterDef());
                e_.CreateStore(instruction, e_.offset(machine.activation, cell->second));
            }
            before_use(*use);
            use->set(e_.CreateLoad(instruction->getType(), e_.offset(machine.activation, cell->second)));
        }
    }
}

} // namespace sonde
