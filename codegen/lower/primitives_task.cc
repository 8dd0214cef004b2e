// Primitives that return facts about the task, the point, the time, the machine and the session.
//
// Most of them ask the target, because the kernel and the host process find the answer in different ways. Facts about
// the point are constants if the handler has only one point. Otherwise they come from a table, with the row of the hit
// as the index.
#include <optional>
#include <string>

#include "codegen/emit/texts.h"
#include "codegen/lower/constant_texts.h"
#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/primitives.h"

namespace sonde {

// The target has found this call when the handler began (task_argument()).
llvm::Value* emit_about_task(Lowerer& l, const hir::Intrinsic&) { return l.e.number(0); }

llvm::Value* emit_loadavg(Lowerer& l, const hir::Intrinsic& expr) {
    llvm::Value* load = l.target.task().load_average(lower(l, *expr.args[0]));
    raise_if(l, l.e.CreateICmpSLT(load, l.e.number(0)), "the load average is not known", expr.range);
    return load;
}

llvm::Value* emit_memory_node(Lowerer& l, const hir::Intrinsic& expr) {
    return l.target.memory().node(lower(l, *expr.args[0]));
}

llvm::Value* emit_task(Lowerer& l, const hir::Intrinsic& expr) {
    return l.target.task().number(l.env, expr.facts.number);
}

llvm::Value* emit_execname(Lowerer& l, const hir::Intrinsic&) {
    llvm::Value* slot = l.new_slot();
    l.target.task().execname(l.env, slot);
    return slot;
}

llvm::Value* emit_group_text(Lowerer& l, const hir::Intrinsic& expr) {
    l.e.state().plan.names_groups = true;
    llvm::Value* slot = l.new_slot();
    l.target.task().group_text(l.env, slot, expr.facts.group);
    return slot;
}

llvm::Value* emit_session_word(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* word = e.offset(l.env.data, expr.facts.word);
    return expr.type == hir::ValueType::String ? word : e.CreateLoad(e.i64(), word);
}

llvm::Value* emit_point_text(Lowerer& l, const hir::Intrinsic& expr) {
    if (std::optional<std::string> known = known_point_text(l, expr.facts.text))
        return l.e.literal(*known);
    return row_text(l.e, l.env.row, expr.facts.text);
}

llvm::Value* emit_clock(Lowerer& l, const hir::Intrinsic& expr) {
    return l.target.task().clock(l.env, expr.facts.clock);
}

llvm::Value* emit_ctime(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* slot = l.new_slot();
    llvm::Value* seconds = lower(l, *expr.args[0]);
    llvm::Value* length = e.routine("sonde_rt_ctime", e.i64(), {slot, seconds});
    raise_if(l, e.CreateICmpEQ(length, e.number(0)), "no date for the time %#x", expr.range, seconds);
    return slot;
}

llvm::Value* emit_module_name(Lowerer& l, const hir::Intrinsic&) {
    l.e.state().plan.names_module = true;
    return l.e.literal(l.e.state().plan.module);
}

llvm::Value* emit_counter(Lowerer& l, const hir::Intrinsic& expr) {
    llvm::Value* value = l.target.task().counter(static_cast<uint32_t>(hir::as<hir::ConstLong>(*expr.args[0]).value));
    raise_if(l, l.e.CreateICmpSLT(value, l.e.number(0)), "this processor does not count that", expr.range);
    return value;
}

} // namespace sonde
