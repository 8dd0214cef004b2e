// Texts that are known at compile time.
//
// Some primitives have a list of names as their first argument, as in `__name("TCP|UDP", number)`. The list becomes a
// constant table with cells of equal size. An index then needs only a multiplication, and no loop.
//
// The verifier must be able to prove that an index is inside the table. So the number of cells is a power of two, and
// the index is masked. A number that is too large selects the cell after the last name, which is empty.
#include "codegen/lower/constant_texts.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "codegen/lower/lowerer.h"
#include "runtime/plan/kinds.h"

namespace sonde {

const hir::Expr* see_through(const hir::Expr* expr) {
    if (expr->kind == hir::ExprKind::LocalRef)
        if (const hir::Expr* text = hir::as<hir::LocalRef>(*expr).local->stands_for)
            return text;
    return expr;
}

std::optional<std::string> known_point_text(const Lowerer& l, hir::PointText text) {
    if (l.handler && text == hir::PointText::Type)
        return l.handler->points.empty() ? plan::name_of(l.handler->kind)
                                         : plan::type_at(l.handler->kind, l.handler->points[0]);
    if (!l.handler || l.handler->points.size() != 1)
        return std::nullopt;
    return hir::point_text(text, l.handler->points[0]);
}

// The limits are those of the table, whose cells have `name_cell` bytes.
std::vector<std::string> names_of(Lowerer& l, const hir::Expr& names, const std::string& primitive) {
    constexpr size_t most = 2048; // MOST_CELLS + 1 of codegen/rtlib/rt.h
    std::vector<std::string> out;
    if (names.kind == hir::ExprKind::ConstString)
        out = hir::names_in(hir::as<hir::ConstString>(names));
    if (!out.empty() && out.size() < most &&
        std::all_of(out.begin(), out.end(), [](const std::string& name) { return name.size() < name_cell; }))
        return out;
    l.fail(names.range, fmt::format("`{}` needs up to {} names of at most {} characters as a literal", primitive,
                                    most - 1, name_cell - 1));
    return {};
}

llvm::Value* name_table(Lowerer& l, const hir::Expr& names, const std::string& primitive, size_t& count) {
    std::vector<std::string> list = names_of(l, names, primitive);
    count = list.size();
    if (list.empty())
        return nullptr;
    std::string table;
    for (std::string& name : list) {
        name.resize(name_cell);
        table += name;
    }
    table.resize(std::bit_ceil(count + 1) * name_cell);
    return l.e.literal(table);
}

llvm::Value* index_of_name(Lowerer& l, llvm::Value* number, size_t count) {
    Emitter& e = l.e;
    llvm::Value* end = e.number(static_cast<int64_t>(count));
    llvm::Value* index = e.CreateSelect(e.CreateICmpULT(number, end), number, end);
    return e.masked(index, std::bit_ceil(count + 1) - 1);
}

llvm::Value* number_of(Lowerer& l, llvm::Value* address, llvm::Value* slot) {
    Emitter& e = l.e;
    llvm::Value* after = e.offset(slot, 2 * l.max_string());
    e.CreateStore(address, after);
    auto* number = e.CreateLoad(e.i64(), after);
    number->setVolatile(true);
    return number;
}

} // namespace sonde
