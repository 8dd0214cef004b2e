// Primitives for the groups of the last successful match (regex.cc).
#include <cstddef>

#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/primitives.h"
#include "codegen/lower/strings.h"
#include "codegen/rtlib/regex.h"

namespace sonde {
namespace {

// Raises an error unless the last match of this run was successful.
void need_match(Lowerer& l, Range range) {
    Emitter& e = l.e;
    llvm::Value* matched = e.CreateLoad(e.i64(), e.offset(l.env.matches, offsetof(sonde_regex_state, matched)));
    raise_if(l, e.CreateICmpEQ(matched, e.number(0)), "no regular expression has matched", range);
}

} // namespace

llvm::Value* emit_matched_str(Lowerer& l, const hir::Intrinsic& expr) {
    need_match(l, expr.range);
    llvm::Value* slot = l.new_slot();
    store_string(l, slot, l.e.offset(l.env.matches, sizeof(sonde_regex_state)));
    return slot;
}

llvm::Value* emit_matched(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* slot = l.new_slot();
    llvm::Value* n = lower(l, *expr.args[0]);
    need_match(l, expr.range);
    llvm::Value* groups = e.CreateLoad(e.i64(), e.offset(l.env.matches, offsetof(sonde_regex_state, groups)));
    raise_if(l, e.CreateICmpUGE(n, groups), "the last match does not have this group", expr.range);
    e.routine("sonde_rt_regex_group", e.i64(), {slot, l.env.matches, n});
    return slot;
}

llvm::Value* emit_ngroups(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    need_match(l, expr.range);
    return e.CreateLoad(e.i64(), e.offset(l.env.matches, offsetof(sonde_regex_state, groups)));
}

} // namespace sonde
