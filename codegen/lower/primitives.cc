#include "codegen/lower/primitives.h"

#include "codegen/lower/lowerer.h"

#include <functional>
#include <map>
#include <string>

#include <fmt/format.h>

namespace sonde {

llvm::Value* lower_primitive(Lowerer& l, const hir::Intrinsic& expr) {
    using Emit = llvm::Value* (*)(Lowerer&, const hir::Intrinsic&);
    static const std::map<std::string, Emit, std::less<>> emitters = {
#define PRIMITIVE(name, emitter, ...) {name, emitter},
#include "frontend/hir/primitives.def"
#undef PRIMITIVE
    };
    auto found = emitters.find(expr.name);
    if (found == emitters.end()) {
        l.fail(expr.range, fmt::format("primitive `{}` has no implementation", expr.name));
        return l.e.number(0);
    }
    return found->second(l, expr);
}

} // namespace sonde
