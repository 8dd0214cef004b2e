// Regular expressions.
#include <cstddef>

#include "codegen/lower/lower.h"
#include "codegen/lower/regex_image.h"
#include "codegen/rtlib/regex.h"

namespace sonde {

void Lowering::begin_matches() {
    env_.matches = new_bytes(sizeof(sonde_regex_state) + e_.slot_size() + max());
    e_.CreateStore(e_.number(0), e_.offset(env_.matches, offsetof(sonde_regex_state, matched)));
}

llvm::Value* Lowering::regex(const hir::Regex& expr) {
    Mark mark(*this);
    llvm::Value* image = e_.literal(regex_image(*expr.program));
    llvm::Value* found;
    if (expr.program->captures) {
        llvm::Value* subject = lower(*expr.subject);
        found = e_.routine("sonde_rt_regex_match", e_.i64(), {env_.matches, subject, image});
    } else {
        llvm::Value* subject = lower_slot(*expr.subject);
        found = e_.routine("sonde_rt_regex_test", e_.i64(), {subject, image, new_bytes(sizeof(sonde_regex_test))});
    }
    return expr.negated ? e_.CreateXor(found, e_.number(1)) : found;
}

void Lowering::need_match(Range range) {
    llvm::Value* matched = e_.CreateLoad(e_.i64(), e_.offset(env_.matches, offsetof(sonde_regex_state, matched)));
    raise_if(e_.CreateICmpEQ(matched, e_.number(0)), "no successful match to tell of", range);
}

llvm::Value* Lowering::emit_matched_str(const hir::Intrinsic& expr) {
    need_match(expr.range);
    llvm::Value* slot = new_slot();
    store_string(slot, e_.offset(env_.matches, sizeof(sonde_regex_state)));
    return slot;
}

llvm::Value* Lowering::emit_matched(const hir::Intrinsic& expr) {
    llvm::Value* slot = new_slot();
    llvm::Value* n = lower(*expr.args[0]);
    need_match(expr.range);
    llvm::Value* groups = e_.CreateLoad(e_.i64(), e_.offset(env_.matches, offsetof(sonde_regex_state, groups)));
    raise_if(e_.CreateICmpUGE(n, groups), "no such group in the last match", expr.range);
    e_.routine("sonde_rt_regex_group", e_.i64(), {slot, env_.matches, n});
    return slot;
}

llvm::Value* Lowering::emit_ngroups(const hir::Intrinsic& expr) {
    need_match(expr.range);
    return e_.CreateLoad(e_.i64(), e_.offset(env_.matches, offsetof(sonde_regex_state, groups)));
}

} // namespace sonde
