#include "codegen/lower/prologue.h"

#include <cstddef>

#include "codegen/lower/lowerer.h"

namespace sonde {

void take_environment(Lowerer& l, llvm::Function* function) {
    l.env.context = function->getArg(0);
    l.env.frame = function->getArg(1);
    l.env.data = function->getArg(2);
    place_environment(l, function->getArg(3), l.env.has_frame);
    l.env.row = function->getArg(4);
    l.result = function->getArg(5);
    l.env.scan = function->getArg(6);
    l.env.tokens = function->getArg(7);
    l.env.matches = function->getArg(8);
    l.env.stacks = function->getArg(9);
    l.env.task = function->getArg(10);
    l.env.can_wait = function->getArg(11);
}

uint64_t environment_bytes(Lowerer& l) {
    return l.target.programs().tells_outcomes() ? sizeof(HandlerWords) : offsetof(HandlerWords, outcome);
}

// The memory at `at` is:
//
//     struct HandlerWords    pending error, MAXACTION, decision; with -t also the outcome
//     a slot                 the text of error(), if the handler has a frame
//     a batch                the records that are sent together, if the handler sends several
//
// All parts are at constant distances from one address. In the kernel, a function that is made of a loop would get each
// address as a separate argument otherwise.
void place_environment(Lowerer& l, llvm::Value* at, bool has_text) {
    Emitter& e = l.e;
    l.env.error = at;
    l.env.budget = e.offset(at, offsetof(HandlerWords, budget));
    l.env.outcome = l.target.programs().tells_outcomes() ? e.offset(at, offsetof(HandlerWords, outcome)) : nullptr;
    l.env.error_text = has_text ? e.offset(at, environment_bytes(l)) : nullptr;
    l.env.batch = l.gathers ? e.offset(at, environment_bytes(l) + e.slot_size()) : nullptr;
}

void begin_locals(Lowerer& l, const std::vector<hir::Local*>& locals) {
    Emitter& e = l.e;
    for (const hir::Local* local : locals) {
        if (local->type == hir::ValueType::String) {
            llvm::Value* slot = l.new_slot();
            e.CreateStore(e.getInt8(0), slot);
            l.locals[local] = slot;
        } else {
            llvm::Value* variable = l.new_variable(8);
            e.CreateStore(e.number(0), variable);
            l.locals[local] = variable;
        }
    }
}

} // namespace sonde
