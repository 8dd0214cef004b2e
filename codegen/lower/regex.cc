// Regular expressions.
#include <cstddef>

#include "codegen/lower/lower.h"
#include "codegen/lower/regex_image.h"
#include "codegen/rtlib/regex.h"

namespace sonde {

void Lowering::begin_matches() {
    env_.matches = new_bytes(sizeof(sonde_regex_state) + t_.slot_size() + max());
    b_.CreateStore(t_.number(0), t_.offset(env_.matches, offsetof(sonde_regex_state, matched)));
}

llvm::Value* Lowering::regex(const hir::Regex& expr) {
    Mark mark(*this);
    llvm::Value* image = t_.literal(regex_image(*expr.program));
    llvm::Value* found;
    if (expr.program->captures) {
        llvm::Value* subject = lower(*expr.subject);
        found = t_.routine("sonde_rt_regex_match", t_.i64(), {env_.matches, subject, image});
    } else {
        llvm::Value* subject = lower_slot(*expr.subject);
        found = t_.routine("sonde_rt_regex_test", t_.i64(), {subject, image, new_bytes(sizeof(sonde_regex_test))});
    }
    return expr.negated ? b_.CreateXor(found, t_.number(1)) : found;
}

void Lowering::need_match(Range range) {
    llvm::Value* matched = b_.CreateLoad(t_.i64(), t_.offset(env_.matches, offsetof(sonde_regex_state, matched)));
    raise_if(b_.CreateICmpEQ(matched, t_.number(0)), "no successful match to tell of", range);
}

llvm::Value* Lowering::emit_matched_str(const hir::Intrinsic& expr) {
    need_match(expr.range);
    llvm::Value* slot = new_slot();
    store_string(slot, t_.offset(env_.matches, sizeof(sonde_regex_state)));
    return slot;
}

llvm::Value* Lowering::emit_matched(const hir::Intrinsic& expr) {
    llvm::Value* slot = new_slot();
    llvm::Value* n = lower(*expr.args[0]);
    need_match(expr.range);
    llvm::Value* groups = b_.CreateLoad(t_.i64(), t_.offset(env_.matches, offsetof(sonde_regex_state, groups)));
    raise_if(b_.CreateICmpUGE(n, groups), "no such group in the last match", expr.range);
    t_.routine("sonde_rt_regex_group", t_.i64(), {slot, env_.matches, n});
    return slot;
}

llvm::Value* Lowering::emit_ngroups(const hir::Intrinsic& expr) {
    need_match(expr.range);
    return b_.CreateLoad(t_.i64(), t_.offset(env_.matches, offsetof(sonde_regex_state, groups)));
}

} // namespace sonde
