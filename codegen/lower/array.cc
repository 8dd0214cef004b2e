// Array keys, elements and statistics.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "codegen/lower/lower.h"
#include "codegen/texts.h"

namespace sonde {

using hir::ValueType;

namespace {
constexpr uint32_t comm_size = 16; // TASK_COMM_LEN: what execname() writes, padded

} // namespace

// A string in a key, padded with NULs. What follows it in the key is written later: all but short ones spill.
void Lowering::compose_text(llvm::Value* field, const plan::KeyPart& part, llvm::Value* text) {
    if (part.size == max()) {
        llvm::Value* length = e_.routine("sonde_rt_copy", e_.i64(), {field, text});
        e_.zeros(max());
        e_.routine("sonde_rt_pad", e_.i64(), {field, length});
        return;
    }
    for (uint32_t word = 0; word < part.size; word += 8)
        e_.CreateStore(e_.number(0), e_.offset(field, word));
    e_.routine("sonde_rt_copy_short", e_.i64(), {field, e_.number(part.size), text});
}

const hir::Expr* see_through(const hir::Expr* expr) {
    if (expr->kind == hir::ExprKind::LocalRef)
        if (const hir::Expr* text = hir::as<hir::LocalRef>(*expr).local->stands_for)
            return text;
    return expr;
}

// The task's name, which the kernel writes at its full size.
bool is_comm(const hir::Intrinsic& intrinsic) { return intrinsic.facts.longest == comm_size - 1; }

// The value of an expression that can be written where it goes, without a slot of its own.
bool writes_in_place(const hir::Expr& reference, const plan::KeyPart& part, uint32_t max) {
    const hir::Expr& expr = *see_through(&reference);
    if (part.type != plan::Value::String || part.size >= max)
        return false;
    constexpr uint32_t most = 128; // written word by word
    if (expr.kind == hir::ExprKind::ConstString)
        return part.size <= most;
    if (expr.kind != hir::ExprKind::Intrinsic)
        return false;
    const auto& intrinsic = hir::as<hir::Intrinsic>(expr);
    return (is_comm(intrinsic) && part.size >= comm_size) || (intrinsic.facts.in_table && part.size <= name_cell) ||
           (hir::is_point_text(intrinsic) && part.size <= std::min<uint64_t>(most, row_text_bytes));
}

void Lowering::write_in_place(const hir::Expr& reference, llvm::Value* field, const plan::KeyPart& part) {
    const hir::Expr& expr = *see_through(&reference);
    const auto* intrinsic = expr.kind == hir::ExprKind::Intrinsic ? &hir::as<hir::Intrinsic>(expr) : nullptr;
    std::optional<std::string> known;
    if (!intrinsic)
        known = hir::as<hir::ConstString>(expr).value;
    else if (hir::is_point_text(*intrinsic))
        known = known_point_text(intrinsic->facts.text);
    // Tables' texts are padded with NULs, as keys are.
    llvm::Value* text = !known && intrinsic && !is_comm(*intrinsic) ? lower(expr) : nullptr;
    if (known) {
        known->resize(std::min<size_t>(known->size(), part.size - 1));
        known->resize(part.size, '\0');
    }
    for (uint32_t word = 0; word < part.size; word += 8) {
        uint64_t bytes = 0;
        if (known)
            std::memcpy(&bytes, known->data() + word, sizeof bytes);
        llvm::Value* value = text ? static_cast<llvm::Value*>(e_.CreateLoad(e_.i64(), e_.offset(text, word)))
                                  : e_.number(static_cast<int64_t>(bytes));
        e_.CreateStore(value, e_.offset(field, word));
    }
    if (intrinsic && is_comm(*intrinsic))
        t_.task().execname(env_, field);
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

// A key in memory. Small keys lie on the stack, others in the frame with slack behind the last string. Null keys (`*`)
// stay zero; the mask says which are given.
llvm::Value* Lowering::compose_key(const hir::Global& array, const std::vector<hir::Expr*>& keys,
                                   uint64_t* slice_mask) {
    const plan::Global& global = e_.state().plan.globals[array.index];
    llvm::Value* buffer =
        is_small_key(global, keys, max()) ? scratch("key", global.key_size) : new_bytes(global.key_size + max());
    // All operands first: composing one may use what another needs.
    std::vector<llvm::Value*> values;
    for (size_t i = 0; i < keys.size(); i++)
        values.push_back(keys[i] && !writes_in_place(*keys[i], global.keys[i], max()) ? lower(*keys[i]) : nullptr);
    for (size_t i = 0; i < global.keys.size(); i++) {
        const plan::KeyPart& part = global.keys[i];
        llvm::Value* field = e_.offset(buffer, part.offset);
        if (keys[i] && slice_mask)
            *slice_mask |= 1ull << i;
        if (keys[i] && !values[i])
            write_in_place(*keys[i], field, part);
        else if (part.type == plan::Value::String)
            compose_text(field, part, values[i] ? values[i] : e_.literal(""));
        else
            e_.CreateStore(e_.CreateTrunc(values[i] ? values[i] : e_.number(0), e_.getIntNTy(8 * part.size)), field);
    }
    if (slice_mask && *slice_mask == (1ull << array.keys.size()) - 1)
        *slice_mask = ~0ull; // every key is given: an ordinary lookup
    return buffer;
}

// A number in a key in memory.
llvm::Value* Lowering::key_number(llvm::Value* key, const plan::KeyPart& part) {
    llvm::Value* number = e_.CreateLoad(e_.getIntNTy(8 * part.size), e_.offset(key, part.offset));
    return part.is_signed ? e_.CreateSExt(number, e_.i64()) : e_.CreateZExt(number, e_.i64());
}

// The number of a text that is known beforehand.
llvm::Value* Lowering::text_number(const hir::Expr& reference) {
    const hir::Expr& text = *see_through(&reference);
    if (text.kind == hir::ExprKind::NumberedText)
        return lower(*hir::as<hir::NumberedText>(text).number);
    if (text.kind == hir::ExprKind::ConstString)
        return e_.number(number_of_text(e_.state(), hir::as<hir::ConstString>(text).value));
    const auto& intrinsic = hir::as<hir::Intrinsic>(text);
    if (hir::is_point_text(intrinsic)) {
        std::optional<std::string> known = known_point_text(intrinsic.facts.text);
        return known ? e_.number(number_of_text(e_.state(), *known))
                     : row_text_number(e_, env_.row, intrinsic.facts.text);
    }
    std::vector<std::string> names = names_of(*intrinsic.args[0], intrinsic.name);
    std::vector<uint32_t> numbers(std::bit_ceil(names.size() + 1)); // of "" behind the last
    std::transform(names.begin(), names.end(), numbers.begin(),
                   [&](const std::string& name) { return number_of_text(e_.state(), name); });
    return table_entry(e_, numbers, index_of_name(*intrinsic.args[1], names.size()));
}

llvm::Value* Lowering::read_element(const hir::Element& element) {
    if (element.type == ValueType::String) {
        llvm::Value* slot = new_slot();
        Mark mark(*this);
        llvm::Value* key = compose_key(*element.array, element.keys, nullptr);
        t_.arrays().load_string(env_, *element.array, key, slot);
        return slot;
    }
    Mark mark(*this);
    return t_.arrays().load_long(env_, *element.array, compose_key(*element.array, element.keys, nullptr));
}

llvm::Value* Lowering::stats_pointer(const hir::Expr& source) {
    if (source.kind == hir::ExprKind::GlobalRef)
        return global_address(*hir::as<hir::GlobalRef>(source).global);
    const auto& element = hir::as<hir::Element>(source);
    uint64_t size = sizeof(plan::StatsBlock) + 8ull * element.array->stats.buckets();
    llvm::Value* scratch = e_.in_kernel() ? nullptr : new_bytes(size);
    llvm::Value* key = compose_key(*element.array, element.keys, nullptr);
    return t_.arrays().statistic(env_, *element.array, key, scratch);
}

void Lowering::raise_if_empty(llvm::Value* stats, Range range) {
    llvm::Value* count = e_.CreateLoad(e_.i64(), e_.offset(stats, offsetof(plan::StatsBlock, count)));
    raise_if(e_.CreateICmpEQ(count, e_.number(0)), "empty aggregate", range);
}

llvm::Value* Lowering::stat_read(const hir::StatRead& expr) {
    using hir::StatValue;
    Mark mark(*this);
    llvm::Value* stats = stats_pointer(*expr.source);
    auto field = [&](size_t offset) { return e_.CreateLoad(e_.i64(), e_.offset(stats, offset)); };
    llvm::Value* count = field(offsetof(plan::StatsBlock, count));
    llvm::Value* bias = e_.number(INT64_MIN);
    if (expr.what == StatValue::Count)
        return count;
    if (expr.what == StatValue::Sum)
        return field(offsetof(plan::StatsBlock, sum));
    raise_if(e_.CreateICmpEQ(count, e_.number(0)), "empty aggregate", expr.range);
    switch (expr.what) {
    case StatValue::Min:
        return e_.CreateSub(e_.CreateNot(field(offsetof(plan::StatsBlock, min_biased))), bias);
    case StatValue::Max:
        return e_.CreateSub(field(offsetof(plan::StatsBlock, max_biased)), bias);
    case StatValue::Avg:
        return arithmetic(hir::BinaryOp::Div, field(offsetof(plan::StatsBlock, sum)), count, expr.range);
    default:
        return e_.routine("sonde_rt_variance", e_.i64(), {stats});
    }
}

llvm::Value* Lowering::hist_bucket(const hir::HistBucket& expr) {
    Mark mark(*this);
    const hir::Global* global = expr.source->kind == hir::ExprKind::GlobalRef
                                    ? hir::as<hir::GlobalRef>(*expr.source).global
                                    : hir::as<hir::Element>(*expr.source).array;
    llvm::Value* index = lower(*expr.index);
    llvm::Value* stats = stats_pointer(*expr.source);
    raise_if_empty(stats, expr.range);
    index = e_.opaque(index); // the verifier has to see the very number that is compared
    raise_if(e_.CreateICmpUGE(index, e_.number(global->stats.buckets())), "histogram index out of range", expr.range);
    return e_.CreateLoad(e_.i64(), e_.CreateGEP(e_.i64(), e_.offset(stats, sizeof(plan::StatsBlock)), index));
}

} // namespace sonde
