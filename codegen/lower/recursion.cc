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
#include "codegen/lower/recursion.h"

#include <algorithm>
#include <utility>

#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/function.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/stmt.h"
#include "frontend/hir/walk.h"

namespace sonde {

using hir::ValueType;

struct Machine {
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

void store_parameter(Lowerer& l, const hir::Function& function, size_t index, llvm::Value* activation,
                     llvm::Value* value) {
    Emitter& e = l.e;
    llvm::Value* at = e.offset(activation, parameter_offset(function, index, e.slot_size()));
    if (function.params[index]->type == ValueType::String)
        store_string(l, at, value);
    else
        e.CreateStore(value, at);
}

// A body, in the activation that the dispatch block found.
void lower_activation(Lowerer& l, const hir::Function& function, llvm::BasicBlock* leave) {
    Emitter& e = l.e;
    l.function = &function;
    l.env.frame = l.machine->activation;
    l.env.scan = l.machine->scan;
    l.frame = l.scan = {};
    e.SetInsertPoint(l.machine->entries[&function].block);
    e.lines().locate(function.range);
    l.new_bytes(parameter_offset(function, function.params.size(), e.slot_size()));
    for (size_t i = 0; i < function.params.size(); i++)
        l.locals[function.params[i]] = e.offset(l.env.frame, parameter_offset(function, i, e.slot_size()));
    begin_locals(l, function.locals);
    bool string = function.result == ValueType::String;
    l.result = string ? l.new_slot() : l.new_bytes(8);
    if (string)
        e.CreateStore(e.getInt8(0), l.result);
    else
        e.CreateStore(e.number(0), l.result);
    llvm::BasicBlock *failed = e.block("failed"), *end = e.block("end");
    l.on_error = failed;
    l.leave = end;
    for_each_stmt(*function.body, [&](const hir::Stmt& stmt) {
        l.machine->walks |= stmt.kind == hir::StmtKind::Foreach && hir::as<hir::Foreach>(stmt).array;
    });
    spend(l, 1, function.range);
    lower(l, *function.body);
    l.branch_to(end);
    e.SetInsertPoint(failed);
    e.CreateStore(e.number(1), e.offset(l.machine->base, Machine::status_at));
    e.CreateBr(leave);
    e.SetInsertPoint(end);
    e.CreateStore(e.number(0), e.offset(l.machine->base, Machine::status_at));
    llvm::Value* out = e.offset(l.machine->base, Machine::result_at);
    if (string)
        store_string(l, out, l.result);
    else
        e.CreateStore(e.CreateLoad(e.i64(), l.result), out);
    e.CreateBr(leave);
    l.machine->frame = std::max(l.machine->frame, l.frame.most);
    l.machine->scan_part = std::max(l.machine->scan_part, l.scan.most);
}

// Gives the offset.
uint64_t new_cell(Machine& machine, uint64_t bytes) {
    const uint64_t at = machine.frame;
    machine.frame += (bytes + 7) & ~7ull;
    return at;
}

// What is emitted next is there when the use needs it.
void go_before_use(Emitter& e, llvm::Use& use) {
    auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(user))
        e.SetInsertPoint(phi->getIncomingBlock(use)->getTerminator());
    else
        e.SetInsertPoint(user);
}

// suspend() becomes: note where to go on, one activation more, dispatch. pause() is the same in the same activation.
void leave_at(Lowerer& l, llvm::CallInst* call, llvm::SwitchInst& resume, uint64_t number) {
    Emitter& e = l.e;
    Machine& machine = *l.machine;
    llvm::BasicBlock* before = call->getParent();
    llvm::BasicBlock* after = before->splitBasicBlock(call->getIterator(), "resumed");
    before->getTerminator()->eraseFromParent();
    e.SetInsertPoint(before);
    e.SetCurrentDebugLocation(call->getDebugLoc());
    e.CreateStore(e.number(static_cast<int64_t>(number)), machine.activation);
    bool stays = call->getType()->isVoidTy();
    if (!stays) {
        llvm::Value* depth = e.CreateLoad(e.i64(), machine.base);
        e.CreateStore(e.CreateAdd(depth, e.number(1)), machine.base);
    }
    e.CreateBr(machine.dispatch);
    e.SetInsertPoint(call);
    if (!stays)
        call->replaceAllUsesWith(e.CreateLoad(e.i64(), e.offset(machine.base, Machine::status_at)));
    call->eraseFromParent();
    resume.addCase(e.getInt64(number), after);
}

void move_variable(Lowerer& l, llvm::AllocaInst* variable) {
    Emitter& e = l.e;
    Machine& machine = *l.machine;
    uint64_t at = new_cell(machine, variable->getAllocationSize(e.module().getDataLayout())->getFixedValue());
    std::vector<llvm::Use*> uses;
    for (llvm::Use& use : variable->uses())
        uses.push_back(&use);
    for (llvm::Use* use : uses) {
        go_before_use(e, *use);
        use->set(e.offset(machine.activation, at));
    }
    variable->eraseFromParent();
}

using BrokenUse = std::pair<llvm::Instruction*, llvm::Use*>;

// Uses that no way from the dispatch block reaches through the definition.
std::vector<BrokenUse> find_broken_uses(llvm::Function& function) {
    llvm::DominatorTree dominators(function);
    std::vector<BrokenUse> broken;
    for (llvm::Instruction& instruction : llvm::instructions(function))
        for (llvm::Use& use : instruction.uses())
            if (dominators.isReachableFromEntry(instruction.getParent()) && !dominators.dominates(&instruction, use))
                broken.emplace_back(&instruction, &use);
    return broken;
}

// Numbers go through cells of the activation; addresses are computed anew where they are used. False after a report.
bool mend(Lowerer& l, const std::vector<BrokenUse>& broken) {
    Emitter& e = l.e;
    Machine& machine = *l.machine;
    std::unordered_map<llvm::Instruction*, uint64_t> cells;
    for (auto& [instruction, use] : broken) {
        if (llvm::isa<llvm::GetElementPtrInst>(instruction)) {
            go_before_use(e, *use);
            use->set(e.Insert(instruction->clone()));
            continue;
        }
        if (!instruction->getType()->isIntegerTy()) {
            l.fail(l.function->range, "internal: an address lives across a recursive call");
            return false;
        }
        auto [cell, fresh] = cells.try_emplace(instruction, 0);
        if (fresh) {
            cell->second = new_cell(machine, 8);
            e.SetInsertPoint(*instruction->getInsertionPointAfterDef());
            e.CreateStore(instruction, e.offset(machine.activation, cell->second));
        }
        go_before_use(e, *use);
        use->set(e.CreateLoad(instruction->getType(), e.offset(machine.activation, cell->second)));
    }
    return true;
}

// All bodies are lowered: the machine leaves at its suspend()s, and what lives across them moves into the activation.
void move_into_activation(Lowerer& l, llvm::SwitchInst& resume) {
    Machine& machine = *l.machine;
    std::vector<llvm::CallInst*> suspends;
    std::vector<llvm::AllocaInst*> variables;
    for (llvm::Instruction& instruction : llvm::instructions(*machine.function)) {
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
            call && (call->getCalledFunction() == machine.suspend.getCallee() ||
                     call->getCalledFunction() == machine.pause.getCallee()))
            suspends.push_back(call);
        // Scratch memory is used at once: never across a suspend().
        if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction); variable && !l.e.is_scratch(*variable))
            variables.push_back(variable);
    }
    uint64_t number = machine.entries.size();
    for (llvm::CallInst* call : suspends)
        leave_at(l, call, resume, number++);
    for (llvm::AllocaInst* variable : variables)
        move_variable(l, variable);
    // Computing an address anew needs its operands there: until every use is reached by its definition.
    for (std::vector<BrokenUse> broken = find_broken_uses(*machine.function); !broken.empty();
         broken = find_broken_uses(*machine.function))
        if (!mend(l, broken))
            return;
}

} // namespace

void lower_machine(Lowerer& l, const hir::Function& function) {
    Emitter& e = l.e;
    LoweredFunction& lowered = l.functions[&function];
    llvm::Function* out = lowered.code;
    Machine machine;
    l.machine = &machine;
    machine.function = out;
    const uint64_t limit = e.state().options.max_nesting;
    const uint64_t activations = Machine::result_at + e.slot_size();

    // The caller's arguments become the first activation.
    e.SetInsertPoint(llvm::BasicBlock::Create(e.getContext(), "entry", out));
    e.lines().describe(out, function.range);
    l.env.has_frame = true;
    take_environment(l, out);
    llvm::Value* destination = l.result;
    machine.base = l.env.frame;
    machine.suspend = e.module().getOrInsertFunction("sonde_suspend", e.i64());
    machine.pause = e.module().getOrInsertFunction("sonde_pause", e.getVoidTy());
    machine.dispatch = e.block("dispatch");
    llvm::BasicBlock *bad = e.block("nowhere"), *done = e.block("done"), *leave = e.block("leave"),
                     *run = e.block("run");
    e.CreateStore(e.number(0), machine.base);
    e.CreateStore(e.number(static_cast<int64_t>(machine.number_of(function))), e.offset(machine.base, activations));
    for (size_t i = 0; i < function.params.size(); i++)
        store_parameter(l, function, i, e.offset(machine.base, activations),
                        out->getArg(fixed_arguments + static_cast<unsigned>(i)));
    e.CreateBr(machine.dispatch);

    e.SetInsertPoint(machine.dispatch);
    l.target.programs().loop_head(bad);
    llvm::Value* depth = e.CreateLoad(e.i64(), machine.base);
    e.CreateCondBr(e.CreateICmpULT(depth, e.number(static_cast<int64_t>(limit))), run, bad);
    e.SetInsertPoint(run);
    machine.size = stand_in(e, e.i64());
    llvm::Value* first = e.offset(machine.base, activations);
    machine.activation = llvm::cast<llvm::Instruction>(
        e.CreateGEP(e.getInt8Ty(), first, e.CreateMul(depth, machine.size), "activation"));
    machine.scan = l.env.scan;
    if (l.env.scan) {
        machine.scan_size = stand_in(e, e.i64());
        machine.scan = e.CreateGEP(e.getInt8Ty(), l.env.scan, e.CreateMul(depth, machine.scan_size), "walked");
    }
    llvm::Value* where = e.CreateLoad(e.i64(), machine.activation);
    llvm::SwitchInst* resume = e.CreateSwitch(where, bad);

    while (!machine.pending.empty()) {
        const hir::Function& next = *machine.pending.back();
        machine.pending.pop_back();
        lower_activation(l, next, leave);
    }
    for (auto& [callee, entry] : machine.entries)
        resume->addCase(e.getInt64(entry.number), entry.block);

    // Every return comes here, its status and result in the machine's memory.
    e.SetInsertPoint(leave);
    llvm::BasicBlock* pop = e.block("pop");
    llvm::Value* now = e.CreateLoad(e.i64(), machine.base);
    e.CreateCondBr(e.CreateICmpEQ(now, e.number(0)), done, pop);
    e.SetInsertPoint(pop);
    e.CreateStore(e.CreateSub(now, e.number(1)), machine.base);
    e.CreateBr(machine.dispatch);
    e.SetInsertPoint(done);
    llvm::Value* result = e.offset(machine.base, Machine::result_at);
    if (function.result == ValueType::String)
        store_string(l, destination, result);
    else
        e.CreateStore(e.CreateLoad(e.i64(), result), destination);
    e.CreateRet(e.CreateLoad(e.i64(), e.offset(machine.base, Machine::status_at)));
    e.SetInsertPoint(bad);
    l.on_error = e.block("refused");
    raise(l, plan::no_actions_left, function.range);
    e.SetInsertPoint(l.on_error);
    e.CreateRet(e.number(1));

    move_into_activation(l, *resume);
    machine.size->replaceAllUsesWith(e.number(static_cast<int64_t>(machine.frame)));
    machine.size->eraseFromParent();
    lowered.frame_bytes = activations + (limit + 1) * machine.frame;
    // What the bodies only call walks over one array after the other.
    uint64_t parted = machine.walks ? machine.scan_part : 0;
    lowered.scan_bytes = machine.scan_part + (limit - 1) * parted;
    if (machine.scan_size) {
        machine.scan_size->replaceAllUsesWith(e.number(static_cast<int64_t>(parted)));
        machine.scan_size->eraseFromParent();
    }
}

llvm::Value* call_in_machine(Lowerer& l, const hir::Call& expr) {
    Emitter& e = l.e;
    const hir::Function& callee = *expr.callee;
    bool string = callee.result == ValueType::String;
    llvm::Value* result = string ? l.new_slot() : l.new_bytes(8);
    Mark mark(l);
    std::vector<llvm::Value*> arguments;
    for (const hir::Expr* argument : expr.args)
        arguments.push_back(lower(l, *argument));
    e.lines().locate(expr.range);
    llvm::Value* depth = e.CreateLoad(e.i64(), l.machine->base);
    auto last = static_cast<int64_t>(e.state().options.max_nesting) - 1;
    raise_if(l, e.CreateICmpUGE(depth, e.number(last)), "MAXNESTING exceeded", expr.range);
    llvm::Value* next = e.CreateGEP(e.getInt8Ty(), l.machine->activation, l.machine->size);
    e.CreateStore(e.number(static_cast<int64_t>(l.machine->number_of(callee))), next);
    for (size_t i = 0; i < arguments.size(); i++)
        store_parameter(l, callee, i, next, arguments[i]);
    llvm::Value* status = e.CreateCall(l.machine->suspend);
    check_call(l, expr, status);
    llvm::Value* from = e.offset(l.machine->base, Machine::result_at);
    if (string)
        store_string(l, result, from);
    else
        e.CreateStore(e.CreateLoad(e.i64(), from), result);
    return string ? result : e.CreateLoad(e.i64(), result);
}

bool begin_machine_round(Lowerer& l, const hir::Stmt& loop) {
    bool leaves = false;
    if (l.machine && !l.e.state().options.may_goto)
        for_each_expr(loop, [&](const hir::Expr& expr) {
            leaves |= expr.kind == hir::ExprKind::Call && hir::as<hir::Call>(expr).callee->recursive;
        });
    if (leaves)
        l.e.CreateCall(l.machine->pause);
    return leaves;
}

} // namespace sonde
