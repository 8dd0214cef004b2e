#include "codegen/lower/primitives.h"

#include "codegen/lower/lowerer.h"
#include "codegen/lower/read_string.h"

#include <functional>
#include <map>
#include <string>

#include <fmt/format.h>

namespace sonde {

namespace {

using Emit = llvm::Value* (*)(Lowerer&, const hir::Intrinsic&);

// Null if the primitive has no emitter.
Emit emitter_of(const hir::Intrinsic& expr) {
    static const std::map<std::string, Emit, std::less<>> emitters = {
#define PRIMITIVE(name, emitter, ...) {name, emitter},
#include "frontend/hir/primitives.def"
#undef PRIMITIVE
    };
    auto found = emitters.find(expr.name);
    return found == emitters.end() ? nullptr : found->second;
}

} // namespace

llvm::Value* lower_primitive(Lowerer& l, const hir::Intrinsic& expr) {
    const Emit emit = emitter_of(expr);
    if (!emit) {
        l.fail(expr.range, fmt::format("primitive `{}` has no implementation", expr.name));
        return l.e.number(0);
    }
    return emit(l, expr);
}

bool reads_string(const hir::Intrinsic& expr) { return emitter_of(expr) == emit_user_string; }

} // namespace sonde
