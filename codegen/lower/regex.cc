// Lowers `=~`, `!~` and the primitives for groups.
//
// The expression was compiled to an automaton (base/regex.h). Here it becomes a constant of the module (regex_image.h),
// and a routine of codegen/rtlib/regex.c interprets it.
//
// If the script never reads the groups of an expression, a match only needs a yes or no (Program::captures). That takes
// a few words of state. With groups, the state is larger. It lives as long as the handler's run (Environment::matches),
// because matched() may be called much later.
#include "codegen/lower/regex.h"

#include <cstddef>

#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/primitives.h"
#include "codegen/lower/regex_image.h"
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

void begin_matches(Lowerer& l) {
    Emitter& e = l.e;
    l.env.matches = l.new_bytes(sizeof(sonde_regex_state) + e.slot_size() + l.max_string());
    e.CreateStore(e.number(0), e.offset(l.env.matches, offsetof(sonde_regex_state, matched)));
}

llvm::Value* lower_regex(Lowerer& l, const hir::Regex& expr) {
    Emitter& e = l.e;
    Mark mark(l);
    llvm::Value* image = e.literal(regex_image(*expr.program));
    llvm::Value* found;
    if (expr.program->captures) {
        llvm::Value* subject = lower(l, *expr.subject);
        found = e.routine("sonde_rt_regex_match", e.i64(), {l.env.matches, subject, image});
    } else {
        llvm::Value* subject = lower_slot(l, *expr.subject);
        found = e.routine("sonde_rt_regex_test", e.i64(), {subject, image, l.new_bytes(sizeof(sonde_regex_test))});
    }
    return expr.negated ? e.CreateXor(found, e.number(1)) : found;
}

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
