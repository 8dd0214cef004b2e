// Recursive functions in BPF, which has neither recursion nor deep calls.
//
// The idea: all functions that call each other become one LLVM function, a machine. It contains their bodies as blocks,
// and a dispatch block. Pending calls (activations) are in an array in the caller's frame. A call fills the next
// activation, stores the number of the block where the caller continues, and jumps to the dispatch block. A return
// removes the activation and jumps there, too. The dispatch block switches to the block whose number is in the
// activation on top.
//
//   machine memory: u64 depth, u64 status, result (a slot), then max_nesting + 1 activations
//   an activation:  u64 number of the block to continue, the parameters, all other values that the body keeps
//
// Example: `function f(n) { return n > 1 ? n * f(n - 1) : 1 }` has two blocks: the start, and the code after the inner
// call. The latter needs `n` again, so `n` is in the activation.
//
// The elements of foreach loops are in other memory (Environment::scan), in which each activation has a part.
//
// Bodies are lowered like all others, with a call suspend() in place of each call. Afterwards suspend() is replaced by
// the jumps, and all values that live across it move into the activation. Where loops must be recognizable in the code
// (loop_callbacks.h), a loop that contains a suspend() is no longer a loop. Its iterations begin with a call pause(),
// which becomes a jump through the dispatch block within the same activation.
#include "codegen/lower/recursion.h"

#include <algorithm>
#include <utility>

#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/prologue.h"
#include "codegen/lower/stmt.h"
#include "codegen/lower/strings.h"
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
    llvm::Instruction* size = nullptr;       // placeholder for the bytes of an activation
    llvm::Value* scan = nullptr;             // memory for the running function's foreach loops
    llvm::Instruction* scan_size = nullptr;  // placeholder for that memory's size
    bool walks = false;                      // some body has a foreach loop itself
    llvm::BasicBlock* dispatch = nullptr;
    llvm::FunctionCallee suspend, pause;
    uint64_t frame = 0;     // bytes of the largest activation
    uint64_t scan_part = 0; // bytes of the largest part for foreach loops
    std::unordered_map<const hir::Function*, Entry> entries;
    std::vector<const hir::Function*> pending;

    // The number with which the dispatch block goes to the function's start.
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

// A placeholder for a value that is known later. It is an instruction, so that nothing can be computed from it before.
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

// Lowers a body. Its activation is the one that the dispatch block found.
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

// Returns the offset of new memory in the activation.
uint64_t new_cell(Machine& machine, uint64_t bytes) {
    const uint64_t at = machine.frame;
    machine.frame += (bytes + 7) & ~7ull;
    return at;
}

// Sets the insertion point before the use, so that new instructions precede it.
void go_before_use(Emitter& e, llvm::Use& use) {
    auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(user))
        e.SetInsertPoint(phi->getIncomingBlock(use)->getTerminator());
    else
        e.SetInsertPoint(user);
}

// Replaces suspend(): stores where to continue, adds an activation, and jumps to the dispatch block. For pause(), the
// activation stays the same.
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

// Finds uses that can be reached from the dispatch block without passing the definition. In `n * f(n - 1)`, the load of
// `n` comes before the call. The multiplication comes after the call, in a block that the dispatch block now jumps to
// directly. So the register with `n` has no value there.
std::vector<BrokenUse> find_broken_uses(llvm::Function& function) {
    llvm::DominatorTree dominators(function);
    std::vector<BrokenUse> broken;
    for (llvm::Instruction& instruction : llvm::instructions(function))
        for (llvm::Use& use : instruction.uses())
            if (dominators.isReachableFromEntry(instruction.getParent()) && !dominators.dominates(&instruction, use))
                broken.emplace_back(&instruction, &use);
    return broken;
}

// Repairs these uses. Numbers go through memory of the activation; addresses are computed again at the use. Returns
// false after a report.
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

// Call it when all bodies are lowered: replaces the calls of suspend() and pause(), and moves values that live across
// them into the activation.
void move_into_activation(Lowerer& l, llvm::SwitchInst& resume) {
    Machine& machine = *l.machine;
    std::vector<llvm::CallInst*> suspends;
    std::vector<llvm::AllocaInst*> variables;
    for (llvm::Instruction& instruction : llvm::instructions(*machine.function)) {
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
            call && (call->getCalledFunction() == machine.suspend.getCallee() ||
                     call->getCalledFunction() == machine.pause.getCallee()))
            suspends.push_back(call);
        // Scratch memory is used immediately, never across a suspend().
        if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction); variable && !l.e.is_scratch(*variable))
            variables.push_back(variable);
    }
    uint64_t number = machine.entries.size();
    for (llvm::CallInst* call : suspends)
        leave_at(l, call, resume, number++);
    for (llvm::AllocaInst* variable : variables)
        move_variable(l, variable);
    // Computing an address again needs its operands, so repeat until every use is dominated by its definition.
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
    const uint64_t limit = e.state().translate.limits.max_nesting;
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

    // All returns come here; status and result are in the machine's memory.
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
    raise(l, plan::ErrorId::ActionsSpent, function.range);
    e.SetInsertPoint(l.on_error);
    e.CreateRet(e.number(1));

    move_into_activation(l, *resume);
    machine.size->replaceAllUsesWith(e.number(static_cast<int64_t>(machine.frame)));
    machine.size->eraseFromParent();
    lowered.frame_bytes = activations + (limit + 1) * machine.frame;
    // Loops in functions that the bodies only call run one after the other, so they share one part.
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
    auto last = static_cast<int64_t>(e.state().translate.limits.max_nesting) - 1;
    raise_if(l, e.CreateICmpUGE(depth, e.number(last)), plan::ErrorId::NestedTooDeep, expr.range);
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
    if (l.machine && !l.e.state().facts.may_goto)
        for_each_expr(loop, [&](const hir::Expr& expr) {
            leaves |= expr.kind == hir::ExprKind::Call && hir::as<hir::Call>(expr).callee->recursive;
        });
    if (leaves)
        l.e.CreateCall(l.machine->pause);
    return leaves;
}

} // namespace sonde
