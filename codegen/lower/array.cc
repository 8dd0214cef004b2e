// A key of an array is a block of bytes, which has all components at fixed offsets (codegen/layout.cc). The kernel's
// hash maps compare keys byte by byte. So equal keys must have equal bytes: unused bytes after a string's NUL must be
// zero.
//
// Example: `a[pid(), execname()]`, with strings of up to 16 bytes in the second component, may have the key
//     "bash" 0 0 0 0 0 0 0 0 0 0 0 0, then the pid in 4 bytes
//
// Most of the time goes into strings, so there are several methods, from fast to slow:
// - A constant is written word by word, as numbers.
// - The task's name and texts from tables are written directly into the key (write_in_place()).
// - A short string is copied by sonde_rt_copy_short.
// - A string of the maximum size is copied. It is padded, too, unless the array's map has identities as its keys
//   (runtime/plan/array_maps.h). These ignore the bytes after the NUL, and the string is padded when it becomes an
//   element.
#include "codegen/lower/array.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <optional>

#include "codegen/emit/texts.h"
#include "codegen/lower/constant_texts.h"
#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/key_forms.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/memory.h"
#include "codegen/lower/stack_keys.h"
#include "runtime/plan/array_maps.h"
#include "runtime/plan/task_arrays.h"

namespace sonde {

using hir::ValueType;

namespace {

// Writes a string into a key, padded with NULs unless the map has identities. Write the parts after it later: except
// for short strings, the copy writes beyond the part.
void compose_text(Lowerer& l, llvm::Value* field, const plan::KeyPart& part, llvm::Value* text, bool is_padded) {
    Emitter& e = l.e;
    if (part.size == l.max_string()) {
        llvm::Value* length = e.routine("sonde_rt_copy", e.i64(), {field, text});
        if (!is_padded)
            return;
        e.zeros(l.max_string());
        e.routine("sonde_rt_pad", e.i64(), {field, length});
        return;
    }
    for (uint32_t word = 0; word < part.size; word += 8)
        e.CreateStore(e.number(0), e.offset(field, word));
    e.routine("sonde_rt_copy_short", e.i64(), {field, e.number(part.size), text});
}

void write_in_place(Lowerer& l, const hir::Expr& reference, llvm::Value* field, const plan::KeyPart& part) {
    Emitter& e = l.e;
    const hir::Expr& expr = *see_through(&reference);
    const auto* intrinsic = expr.kind == hir::ExprKind::Intrinsic ? &hir::as<hir::Intrinsic>(expr) : nullptr;
    std::optional<std::string> known;
    if (!intrinsic)
        known = hir::as<hir::ConstString>(expr).value;
    else if (hir::is_point_text(*intrinsic))
        known = known_point_text(l, intrinsic->facts.text);
    // Texts in tables are padded with NULs, as in keys.
    llvm::Value* text = !known && intrinsic && !is_comm(*intrinsic) ? lower(l, expr) : nullptr;
    if (known) {
        known->resize(std::min<size_t>(known->size(), part.size - 1));
        known->resize(part.size, '\0');
    }
    for (uint32_t word = 0; word < part.size; word += 8) {
        uint64_t bytes = 0;
        if (known)
            std::memcpy(&bytes, known->data() + word, sizeof bytes);
        llvm::Value* value = text ? static_cast<llvm::Value*>(e.CreateLoad(e.i64(), e.offset(text, word)))
                                  : e.number(static_cast<int64_t>(bytes));
        e.CreateStore(value, e.offset(field, word));
    }
    if (intrinsic && is_comm(*intrinsic))
        l.target.task().execname(l.env, field);
}

} // namespace

llvm::Value* compose_key(Lowerer& l, const hir::Global& array, const std::vector<hir::Expr*>& keys,
                         uint64_t* slice_mask) {
    Emitter& e = l.e;
    const plan::Global& global = e.state().plan.globals[array.index];
    if (plan::is_in_tasks(global)) { // found without a key
        if (slice_mask)
            *slice_mask = ~0ull;
        return e.null();
    }
    const bool identified = e.in_kernel() && plan::has_identities(global);
    llvm::Value* buffer = nullptr;
    if (is_small_key(global, keys, l.max_string()))
        buffer = l.scratch("key", global.key_size);
    else if (identified) // after room for the value, so that the two are a new element (codegen/bpf/arrays.cc)
        buffer = e.offset(l.new_bytes(plan::map_value_size(global) + l.max_string()), global.value_size);
    else
        buffer = l.new_bytes(global.key_size + l.max_string());
    // Evaluate all operands before composing the key: evaluating one may use memory that the key needs.
    std::vector<llvm::Value*> values, shared(keys.size());
    for (size_t i = 0; i < keys.size(); i++) {
        shared[i] = keys[i] ? shared_key(l, global, i, *keys[i]) : nullptr;
        if (shared[i]) {
            values.push_back(shared[i]);
            continue;
        }
        values.push_back(keys[i] && !writes_in_place(*keys[i], global.keys[i], l.max_string()) ? lower(l, *keys[i])
                                                                                               : nullptr);
    }
    // Write parts in the order of their offsets, because a string of the largest size writes beyond its end. Numbers of
    // 4 bytes come last (codegen/layout.cc).
    std::vector<size_t> order(global.keys.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {}, [&](size_t i) { return global.keys[i].offset; });
    for (size_t i : order) {
        const plan::KeyPart& part = global.keys[i];
        llvm::Value* field = e.offset(buffer, part.offset);
        if (keys[i] && slice_mask)
            *slice_mask |= 1ull << i;
        if (keys[i] && !values[i])
            write_in_place(l, *keys[i], field, part);
        else if (i < shared.size() && shared[i])
            e.routine("sonde_rt_copy_padded", e.i64(), {field, shared[i]});
        else if (part.type == plan::Value::String)
            compose_text(l, field, part, values[i] ? values[i] : e.literal(""), !identified);
        else
            e.CreateStore(e.CreateTrunc(values[i] ? values[i] : e.number(0), e.getIntNTy(8 * part.size)), field);
    }
    if (slice_mask && *slice_mask == (1ull << array.keys.size()) - 1)
        *slice_mask = ~0ull; // every key is given: an ordinary look-up
    return buffer;
}

llvm::Value* key_number(Lowerer& l, llvm::Value* key, const plan::KeyPart& part) {
    Emitter& e = l.e;
    llvm::Value* number = e.CreateLoad(e.getIntNTy(8 * part.size), e.offset(key, part.offset));
    return part.is_signed ? e.CreateSExt(number, e.i64()) : e.CreateZExt(number, e.i64());
}

// The number comes from the form of the text: the value of an interned expression, a constant, a column of the table of
// probe points, or a table with the numbers of all names in a list.
llvm::Value* text_number(Lowerer& l, const hir::Expr& reference) {
    Emitter& e = l.e;
    const hir::Expr& text = *see_through(&reference);
    if (text.kind == hir::ExprKind::NumberedText)
        return lower(l, *hir::as<hir::NumberedText>(text).number);
    if (text.kind == hir::ExprKind::ConstString)
        return e.number(number_of_text(e.state(), hir::as<hir::ConstString>(text).value));
    const auto& intrinsic = hir::as<hir::Intrinsic>(text);
    if (hir::is_point_text(intrinsic)) {
        std::optional<std::string> known = known_point_text(l, intrinsic.facts.text);
        return known ? e.number(number_of_text(e.state(), *known))
                     : row_text_number(e, l.env.row, intrinsic.facts.text);
    }
    std::vector<std::string> names = names_of(l, *intrinsic.args[0], intrinsic.name);
    std::vector<uint32_t> numbers(std::bit_ceil(names.size() + 1)); // the last one is for ""
    std::transform(names.begin(), names.end(), numbers.begin(),
                   [&](const std::string& name) { return number_of_text(e.state(), name); });
    return table_entry(e, numbers, index_of_name(l, lower(l, *intrinsic.args[1]), names.size()));
}

llvm::Value* read_element(Lowerer& l, const hir::Element& element) {
    if (element.type == ValueType::String) {
        llvm::Value* slot = l.new_slot();
        Mark mark(l);
        llvm::Value* key = compose_key(l, *element.array, element.keys, nullptr);
        l.target.arrays().load_string(l.env, *element.array, key, slot);
        return slot;
    }
    Mark mark(l);
    return l.target.arrays().load_long(l.env, *element.array, compose_key(l, *element.array, element.keys, nullptr));
}

llvm::Value* stats_pointer(Lowerer& l, const hir::Expr& source) {
    if (source.kind == hir::ExprKind::GlobalRef)
        return global_address(l, *hir::as<hir::GlobalRef>(source).global);
    const auto& element = hir::as<hir::Element>(source);
    uint64_t size = plan::stats_bytes(element.array->stats);
    llvm::Value* scratch = l.e.in_kernel() ? nullptr : l.new_bytes(size);
    llvm::Value* key = compose_key(l, *element.array, element.keys, nullptr);
    return l.target.arrays().statistic(l.env, *element.array, key, scratch);
}

const hir::Global& global_of_statistic(const hir::Expr& source) {
    return source.kind == hir::ExprKind::GlobalRef ? *hir::as<hir::GlobalRef>(source).global
                                                   : *hir::as<hir::Element>(source).array;
}

void raise_if_empty(Lowerer& l, llvm::Value* stats, Range range) {
    Emitter& e = l.e;
    llvm::Value* count = e.CreateLoad(e.i64(), e.offset(stats, offsetof(plan::StatsBlock, count)));
    raise_if(l, e.CreateICmpEQ(count, e.number(0)), "empty aggregate", range);
}

// The minimum and maximum are stored so that 0 is the least value and an update is an unsigned maximum
// (runtime/plan/data.h). Adding or subtracting 2^63 is the same operation for 64 bits.
llvm::Value* read_statistic(Lowerer& l, const hir::StatRead& expr) {
    Emitter& e = l.e;
    using hir::StatValue;
    Mark mark(l);
    llvm::Value* stats = stats_pointer(l, *expr.source);
    auto field = [&](size_t offset) { return e.CreateLoad(e.i64(), e.offset(stats, offset)); };
    llvm::Value* count = field(offsetof(plan::StatsBlock, count));
    llvm::Value* bias = e.number(INT64_MIN);
    if (expr.what == StatValue::Count)
        return count;
    if (expr.what == StatValue::Sum)
        return field(offsetof(plan::StatsBlock, sum));
    raise_if(l, e.CreateICmpEQ(count, e.number(0)), "empty aggregate", expr.range);
    switch (expr.what) {
    case StatValue::Min:
        return e.CreateSub(e.CreateNot(field(offsetof(plan::StatsBlock, min_biased))), bias);
    case StatValue::Max:
        return e.CreateSub(field(offsetof(plan::StatsBlock, max_biased)), bias);
    case StatValue::Avg:
        return arithmetic(l, hir::BinaryOp::Div, field(offsetof(plan::StatsBlock, sum)), count, expr.range);
    case StatValue::Percentile: {
        const uint64_t at = plan::quantiles_at(global_of_statistic(*expr.source).stats);
        llvm::Value* counts = number_of(l, e.offset(stats, at), l.new_slot());
        return e.routine("sonde_rt_percentile", e.i64(), {stats, counts, e.number(expr.percentile)});
    }
    default:
        return e.routine("sonde_rt_variance", e.i64(), {stats});
    }
}

llvm::Value* read_bucket(Lowerer& l, const hir::HistBucket& expr) {
    Emitter& e = l.e;
    Mark mark(l);
    const hir::Global& global = global_of_statistic(*expr.source);
    llvm::Value* index = lower(l, *expr.index);
    llvm::Value* stats = stats_pointer(l, *expr.source);
    raise_if_empty(l, stats, expr.range);
    index = e.opaque(index); // opaque: the verifier must see that the compared number is the one used
    raise_if(l, e.CreateICmpUGE(index, e.number(global.stats.buckets())), "histogram index out of range", expr.range);
    return e.CreateLoad(e.i64(), e.CreateGEP(e.i64(), e.offset(stats, sizeof(plan::StatsBlock)), index));
}

} // namespace sonde
