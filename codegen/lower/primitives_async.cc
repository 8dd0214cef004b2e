// Primitives for chains of futures and coroutines (runtime/plan/async_states.h, codegen/rtlib/async.bpf.c).
//
// A table of a chain and its texts are literals that sema has made. They become constants of the module.
#include <array>
#include <bit>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "codegen/emit/texts.h"
#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/primitives.h"
#include "runtime/plan/async_states.h"

namespace sonde {
namespace {

// The literal; "" after a report.
std::string literal_of(Lowerer& l, const hir::Expr& expr, const std::string& primitive) {
    if (expr.kind == hir::ExprKind::ConstString && !hir::as<hir::ConstString>(expr).value.empty())
        return hir::as<hir::ConstString>(expr).value;
    l.fail(expr.range, fmt::format("`{}` needs a literal", primitive));
    return "";
}

} // namespace

llvm::Value* emit_async_walk(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* slot = l.new_slot();
    const Mark mark(l);
    llvm::Value* work = l.new_bytes(sizeof(sonde_async_work));
    const std::string states = literal_of(l, *expr.args[0], expr.name);
    if (states.empty())
        return slot;
    constexpr uint64_t least_string = 128; // room for one line, a line for the end, and an address
    if (l.max_string() < least_string) {
        l.fail(expr.range, fmt::format("an async backtrace needs a MAXSTRINGLEN of at least {}", least_string));
        return slot;
    }
    if (!e.in_kernel()) {
        raise_if(l, e.getTrue(), "no async backtrace in a host handler", expr.range);
        e.CreateStore(e.getInt8(0), slot);
        return slot;
    }
    constexpr std::array fields = {offsetof(sonde_async_work, row), offsetof(sonde_async_work, at),
                                   offsetof(sonde_async_work, moved)};
    for (size_t i = 0; i < fields.size(); i++)
        e.CreateStore(lower(l, *expr.args[i + 1]), e.offset(work, fields[i]));
    // An object that cannot be read is an error of the handler.
    llvm::Value* at = e.CreateLoad(e.i64(), e.offset(work, offsetof(sonde_async_work, at)));
    llvm::Value* first = l.target.memory().read(l.env, e.scratch("load", 8), 1, at, true);
    raise_if(l, e.CreateICmpNE(first, e.number(0)), plan::ErrorId::ReadFault, expr.range, at);
    e.routine("sonde_rt_async_walk", e.i64(), {slot, work, e.literal(states), l.env.can_wait});
    return slot;
}

// All lines, each with a NUL instead of its end, and an index of their beginnings, as in numbered_text().
llvm::Value* emit_async_line(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    std::string lines = literal_of(l, *expr.args[0], expr.name);
    std::vector<uint32_t> begins = {0};
    for (size_t i = 0; i < lines.size(); i++)
        if (lines[i] == '\n') {
            lines[i] = '\0';
            begins.push_back(static_cast<uint32_t>(i + 1));
        }
    begins.resize(std::bit_ceil(begins.size()), static_cast<uint32_t>(lines.size()));
    // The longest copy from the last line stays inside of the constant.
    lines.resize(std::bit_ceil(lines.size() + 1));
    llvm::Value* number = e.masked(lower(l, *expr.args[1]), begins.size() - 1);
    llvm::Value* begin = table_entry(e, begins, number);
    return e.CreateGEP(e.getInt8Ty(), e.literal(lines), e.masked(begin, lines.size() - 1));
}

} // namespace sonde
