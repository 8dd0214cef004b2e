// Lowers `=~` and `!~`. primitives_regex.cc has the primitives for groups.
//
// The expression was compiled to an automaton (base/regex.h). Here it becomes a constant of the module (regex_image.h),
// and a routine of codegen/rtlib/regex.c interprets it.
//
// If the script never reads the groups of an expression, a match only needs a yes or no (Program::captures). That takes
// a few words of state. With groups, the state is larger. It lives as long as the handler's run (Environment::matches),
// because matched() may be called much later.
#include "codegen/lower/regex.h"

#include <cstddef>

#include "codegen/lower/lowerer.h"
#include "codegen/lower/regex_image.h"
#include "codegen/rtlib/regex.h"

namespace sonde {

void begin_matches(Lowerer& l) {
    Emitter& e = l.e;
    l.env.matches = l.new_bytes(sizeof(sonde_regex_state) + e.slot_size() + l.max_string());
    e.CreateStore(e.number(0), e.offset(l.env.matches, offsetof(sonde_regex_state, matched)));
}

bool needs_slot(const hir::Regex& expr) { return !expr.program->captures; }

llvm::Value* match_regex(Lowerer& l, const hir::Regex& expr, llvm::Value* subject) {
    Emitter& e = l.e;
    llvm::Value* image = e.literal(regex_image(*expr.program));
    llvm::Value* found = nullptr;
    if (expr.program->captures)
        found = e.routine("sonde_rt_regex_match", e.i64(), {l.env.matches, subject, image});
    else
        found = e.routine("sonde_rt_regex_test", e.i64(), {subject, image, l.new_bytes(sizeof(sonde_regex_test))});
    return expr.negated ? e.CreateXor(found, e.number(1)) : found;
}

} // namespace sonde
