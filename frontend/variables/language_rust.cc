// Rust's types: tagged unions, tuples, slices, and what the standard library keeps text, sequences and shared values
// in.
//
// The members' names differ a little from compiler to compiler, so where a wrapper only wraps, the first pointer inside
// is taken.
#include <fmt/format.h>

#include "frontend/variables/binding.h"

namespace sonde {

using hir::BinaryOp;

namespace {

bool is_numbered(const Type* record) { return !record->members.empty() && record->members[0].name == "__0"; }

} // namespace

std::optional<Place> TargetBinder::first_pointer(const Place& place, int depth) {
    const Type* type = strip(place.type);
    if (type && type->kind == Type::Pointer)
        return place;
    if (!is_record(type) || depth > 8)
        return std::nullopt;
    complete(type);
    for (const TypeMember& member : type->members)
        if (std::optional<Place> found = first_pointer(inside(place, member), depth + 1))
            return found;
    return std::nullopt;
}

bool TargetBinder::add_rust_slice(Text& text, const Place& place, bool deep, int depth) {
    std::optional<Place> data = field(place, "data_ptr");
    hir::Expr* count = field_value(place, "length");
    if (!data || !count || strip(data->type)->kind != Type::Pointer)
        return false;
    hir::Expr* first = load(*data, expr_.range);
    const std::string& name = strip(place.type)->name;
    if (name.ends_with("str") || name.find("<str") != std::string::npos)
        return add_bytes(text, first, count);
    return first && add_sequence(text, first, count, strip(data->type)->target, deep, depth);
}

bool TargetBinder::add_rust_vector(Text& text, const Place& place, bool is_text, bool deep, int depth) {
    std::optional<Place> buffer = field(place, "buf");
    std::optional<Place> data = buffer ? first_pointer(*buffer) : std::nullopt;
    hir::Expr* first = data ? load(*data, expr_.range) : nullptr;
    hir::Expr* count = field_value(place, "len");
    const std::vector<const Type*>& arguments = strip(place.type)->arguments;
    if (!first || !count || arguments.empty())
        return false;
    return is_text ? add_bytes(text, first, count) : add_sequence(text, first, count, arguments[0], deep, depth);
}

// A counted value lies behind its counters.
bool TargetBinder::add_rust_shared(Text& text, const Place& place, bool deep, int depth) {
    std::optional<Place> pointer = first_pointer(place);
    hir::Expr* address = pointer ? load(*pointer, expr_.range) : nullptr;
    if (!address)
        return false;
    Place counted = object_at(address, strip(pointer->type)->target);
    std::optional<Place> value = field(counted, "value");
    if (!value)
        value = field(counted, "data");
    if (!value)
        return false;
    add_pretty(text, *value, deep, depth == 0 ? 0 : depth + levels_of_a_pointer);
    return true;
}

// An open hash table: a byte for each bucket, whose highest bit is clear where it is used, and before these bytes,
// backwards, the buckets.
bool TargetBinder::add_rust_hash(Text& text, const Place& place, bool is_map, bool deep, int depth) {
    std::optional<Place> table = field(place, is_map ? "base.table" : "base.map.table");
    std::optional<Place> inner = table ? field(*table, "table") : std::nullopt;
    std::optional<Place> control = inner ? field(*inner, "ctrl") : std::nullopt;
    std::optional<Place> bytes = control ? first_pointer(*control) : std::nullopt;
    hir::Expr* first = bytes ? load(*bytes, expr_.range) : nullptr;
    hir::Expr* count = inner ? field_value(*inner, "items") : nullptr;
    const Type* element = table && !strip(table->type)->arguments.empty() ? strip(table->type)->arguments[0] : nullptr;
    auto size = static_cast<int64_t>(size_of(element));
    if (!first || !count || size == 0)
        return false;
    Walk walk;
    walk.open = "{";
    walk.close = "}";
    walk.first = first;
    walk.count = count;
    Range range = expr_.range;
    // `other` is the bucket's number.
    auto skip_empty = [&](const Cursor& cursor) {
        constexpr int64_t max_skipped = 256;
        hir::Expr* byte = make<hir::Load>(range, binary(BinaryOp::Add, get(cursor.at), get(cursor.other)), 1u, false);
        auto* loop = make<hir::Loop>(range);
        loop->condition = make<hir::Logical>(range, true, binary(BinaryOp::Ge, byte, number(128)),
                                             binary(BinaryOp::Lt, get(cursor.steps), number(max_skipped)));
        auto* block = make<hir::Block>(range);
        block->body = {set(cursor.other, binary(BinaryOp::Add, get(cursor.other), number(1))),
                       set(cursor.steps, binary(BinaryOp::Add, get(cursor.steps), number(1)))};
        loop->body = block;
        cursor.body.body.push_back(set(cursor.steps, number(0)));
        cursor.body.body.push_back(loop);
    };
    walk.element = [&](const Cursor& cursor) {
        skip_empty(cursor);
        hir::Expr* distance = binary(BinaryOp::Mul, binary(BinaryOp::Add, get(cursor.other), number(1)), number(size));
        Place bucket = object_at(binary(BinaryOp::Sub, get(cursor.at), distance), element);
        std::optional<Place> key = field(bucket, "__0"), value = field(bucket, "__1");
        if (!key || !value)
            return text_of(bucket, deep, depth + 1);
        Text pair;
        add_pretty(pair, *key, deep, depth + 1);
        if (is_map) {
            pair.literal("=");
            add_pretty(pair, *value, deep, depth + 1);
        }
        return finish(std::move(pair));
    };
    walk.step = [&](const Cursor& cursor) {
        cursor.body.body.push_back(set(cursor.other, binary(BinaryOp::Add, get(cursor.other), number(1))));
    };
    return add_walk(text, walk, deep, depth);
}

bool TargetBinder::add_rust_tuple(Text& text, const Place& place, bool deep, int depth) {
    const Type* record = strip(place.type);
    text.literal("(");
    for (size_t i = 0; i < record->members.size(); i++) {
        text.literal(i ? ", " : "");
        std::optional<Place> element = field(place, fmt::format("__{}", i));
        if (!element)
            break;
        add_pretty(text, *element, deep, depth + 1);
    }
    text.literal(")");
    return true;
}

// The form whose tag it has, by its name, with what it holds.
bool TargetBinder::add_rust_enum(Text& text, const Place& place, bool deep, int depth) {
    const Type* type = strip(place.type);
    hir::Expr* tag = type->tag ? load(inside(place, *type->tag), expr_.range) : nullptr;
    if (type->tag && !tag)
        return false;
    auto form = [&](const TypeVariant& variant) {
        const TypeMember& member = type->members[variant.member];
        Place value = inside(place, member);
        const Type* record = strip(value.type);
        complete(record);
        Text out;
        out.literal(member.name);
        if (is_record(record) && is_numbered(record))
            add_rust_tuple(out, value, deep, depth);
        else if (is_record(record) && !record->members.empty())
            add_record(out, value, deep, depth);
        return finish(std::move(out));
    };
    hir::Expr* value = nullptr;
    for (const TypeVariant& variant : type->variants)
        if (!variant.tag || !tag)
            value = form(variant);
    for (const TypeVariant& variant : type->variants) {
        if (!variant.tag || !tag)
            continue;
        uint64_t size = size_of(type->tag->type);
        int64_t mask = size >= 8 || strip(type->tag->type)->is_signed ? -1 : (int64_t{1} << (size * 8)) - 1;
        hir::Expr* same = binary(BinaryOp::Eq, tag, number(*variant.tag & mask));
        value = make<hir::Ternary>(expr_.range, same, form(variant), value ? value : string("?"));
    }
    if (!value)
        return false;
    add_text(text, value);
    return true;
}

hir::Expr* TargetBinder::character_text(hir::Expr* value) {
    auto bytes = [&](const std::vector<hir::Expr*>& list) {
        Text text;
        text.literal("'");
        for (hir::Expr* byte : list) {
            plan::Directive directive;
            directive.kind = plan::Directive::Char;
            directive.conversion = 'c';
            text.format.directives.push_back(directive);
            text.args.push_back(byte);
        }
        text.literal("'");
        return finish(std::move(text));
    };
    auto bits = [&](int64_t shift, int64_t mask, int64_t mark) {
        hir::Expr* part = binary(BinaryOp::And, binary(BinaryOp::Shr, value, number(shift)), number(mask));
        return binary(BinaryOp::Or, part, number(mark));
    };
    auto below = [&](int64_t limit, hir::Expr* yes, hir::Expr* no) {
        return make<hir::Ternary>(expr_.range, binary(BinaryOp::Lt, value, number(limit)), yes, no);
    };
    // UTF-8
    return below(
        0x80, bytes({value}),
        below(0x800, bytes({bits(6, 0x1f, 0xc0), bits(0, 0x3f, 0x80)}),
              below(0x10000, bytes({bits(12, 0xf, 0xe0), bits(6, 0x3f, 0x80), bits(0, 0x3f, 0x80)}),
                    bytes({bits(18, 7, 0xf0), bits(12, 0x3f, 0x80), bits(6, 0x3f, 0x80), bits(0, 0x3f, 0x80)}))));
}

// A reference or a box is what it points at.
bool TargetBinder::add_rust_reference(Text& text, const Type* pointer, hir::Expr* address, bool deep, int depth) {
    if (!(pointer->name.starts_with("&") || pointer->name.starts_with("alloc::boxed::Box<")) ||
        size_of(pointer->target) == 0)
        return false;
    add_pretty(text, object_at(address, pointer->target), deep, depth == 0 ? 0 : depth + levels_of_a_pointer);
    return true;
}

bool TargetBinder::add_rust(Text& text, const Place& place, const std::string& name, bool deep, int depth) {
    const Type* type = strip(place.type);
    if (!type->variants.empty())
        return add_rust_enum(text, place, deep, depth);
    if (find_member(type, "data_ptr"))
        return add_rust_slice(text, place, deep, depth);
    if (name == "alloc::string::String") {
        std::optional<Place> bytes = field(place, "vec");
        return bytes && add_rust_vector(text, *bytes, true, deep, depth);
    }
    if (name == "alloc::vec::Vec")
        return add_rust_vector(text, place, false, deep, depth);
    if (name == "alloc::rc::Rc" || name == "alloc::sync::Arc")
        return add_rust_shared(text, place, deep, depth);
    if (name == "std::collections::hash::map::HashMap" || name == "std::collections::hash::set::HashSet")
        return add_rust_hash(text, place, name.ends_with("Map"), deep, depth);
    if (is_numbered(type)) {
        if (depth > 0 && !deep) {
            text.literal("(...)");
            return true;
        }
        return add_rust_tuple(text, place, deep, depth);
    }
    return false;
}

} // namespace sonde
