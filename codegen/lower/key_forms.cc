#include "codegen/lower/key_forms.h"

#include <algorithm>

#include "codegen/emit/texts.h"
#include "codegen/lower/constant_texts.h"

namespace sonde {
namespace {

constexpr uint32_t comm_size = 16; // TASK_COMM_LEN: the size of the buffer that execname() fills

} // namespace

bool is_comm(const hir::Intrinsic& intrinsic) { return intrinsic.facts.longest == comm_size - 1; }

// A text can be copied to a key word by word, without looking for its end, if its memory has at least as many bytes as
// the part of the key. This is true for constants, for names in tables (cells of 32 bytes) and for texts of probe
// points. execname() writes 16 bytes itself. Parts of the maximum string size use another form (array.cc).
bool writes_in_place(const hir::Expr& reference, const plan::KeyPart& part, uint32_t max) {
    const hir::Expr& expr = *see_through(&reference);
    if (part.type != plan::Value::String || part.size >= max)
        return false;
    constexpr uint32_t most = 128; // bytes that are copied word by word
    if (expr.kind == hir::ExprKind::ConstString)
        return part.size <= most;
    if (expr.kind != hir::ExprKind::Intrinsic)
        return false;
    const auto& intrinsic = hir::as<hir::Intrinsic>(expr);
    return (is_comm(intrinsic) && part.size >= comm_size) || (intrinsic.facts.in_table && part.size <= name_cell) ||
           (hir::is_point_text(intrinsic) && part.size <= std::min<uint64_t>(most, least_row_text));
}

bool needs_no_slot(const hir::Expr& reference, const plan::KeyPart& part, uint32_t max) {
    const hir::Expr& expr = *see_through(&reference);
    if (expr.kind == hir::ExprKind::ConstString || writes_in_place(expr, part, max))
        return true;
    if (expr.kind != hir::ExprKind::Intrinsic)
        return false;
    return hir::is_point_text(hir::as<hir::Intrinsic>(expr));
}

bool is_small_key(const plan::Global& global, const std::vector<hir::Expr*>& keys, uint32_t max) {
    constexpr uint32_t most = 64;
    for (size_t i = 0; i < global.keys.size(); i++)
        if (global.keys[i].type == plan::Value::String &&
            (!keys[i] || global.keys[i].size == max || global.key_size > most))
            return false;
    return true;
}

} // namespace sonde
