// Go's values that are records for the debug information, but one value for the programmer:
//
//     string   {str, len}          "abc"
//     []int    {array, len, cap}   [1, 2, 3]
//     map[string]int               {"a"=1, "b"=2}: a pointer to a table of buckets
//     error    {tab, data}         an interface: the type of the value is known only at run time
//
// Strings, slices of numbers or strings, and interfaces are printed by functions in the script language
// (stdlib/go.stp).
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/variables/containers.h"
#include "frontend/variables/language.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/loops.h"
#include "frontend/variables/reading.h"

namespace sonde {

using hir::BinaryOp;

namespace {

// The parts of a map in Go 1.17 to 1.23, with the names in the debug information:
//
//     hash<K,V>     count, B (there are 1 << B buckets), buckets, oldbuckets (null, unless the map grows)
//     bucket<K,V>   tophash, keys, values: arrays of 8; overflow: the next bucket of the chain
//
// If a byte of `tophash` is below 5, the slot is empty, or its element was moved to the new buckets. 0 also means that
// the rest of the chain is empty. So the used slots of both arrays of buckets are all elements.
bool is_hash(const Type* type) {
    type = strip(type);
    return type && type->kind == Type::Struct && type->name.starts_with("hash<") && type->name.ends_with('>');
}

constexpr int64_t least_used = 5;

// The state of the search for used slots.
struct Slots {
    hir::Local *bucket, *slot, *steps;
    hir::Local *next, *left;         // the next bucket of the array, and the number of buckets from there on
    hir::Local *old_next, *old_left; // the same for the old array
    int64_t size, count, overflow;   // of a bucket: its size, number of slots, and the offset of the link
};

// The first byte of a slot's hash; 0 if there is no slot.
hir::Expr* top_hash(Binding& b, const Slots& slots) {
    hir::Expr* exists = b.make<hir::Logical>(b.expr.range, true, b.get(slots.bucket),
                                             b.binary(BinaryOp::Lt, b.get(slots.slot), b.number(slots.count)));
    hir::Expr* address = b.binary(BinaryOp::Add, b.get(slots.bucket), b.get(slots.slot));
    return b.ternary(exists, b.make<hir::Load>(b.expr.range, address, 1u, false), b.number(0));
}

// Statements that go to the next bucket: of the chain, of the array, or of the old array.
hir::Block* next_bucket(Binding& b, const Slots& slots) {
    const Range range = b.expr.range;
    auto take = [&](hir::Local* next, hir::Local* left) {
        auto* block = b.make<hir::Block>(range);
        block->body = {b.set(slots.bucket, b.get(next)),
                       b.set(next, b.binary(BinaryOp::Add, b.get(next), b.number(slots.size))),
                       b.set(left, b.binary(BinaryOp::Sub, b.get(left), b.number(1)))};
        return block;
    };
    auto is_left = [&](hir::Local* left) { return b.binary(BinaryOp::Gt, b.get(left), b.number(0)); };
    auto* leave_chain =
        b.make<hir::If>(range, is_left(slots.left), take(slots.next, slots.left),
                        b.make<hir::If>(range, is_left(slots.old_left), take(slots.old_next, slots.old_left), nullptr));
    auto* block = b.make<hir::Block>(range);
    // An unused slot of this kind ends the chain.
    hir::Expr* full = b.binary(BinaryOp::Ge, b.get(slots.slot), b.number(slots.count));
    hir::Expr* link = b.make<hir::Load>(range, b.plus(b.get(slots.bucket), slots.overflow), 8u, false);
    hir::Expr* chained = b.make<hir::Logical>(range, true, b.get(slots.bucket), full);
    block->body = {
        b.set(slots.bucket, b.ternary(chained, link, b.number(0))),
        b.make<hir::If>(range, b.get(slots.bucket), b.make<hir::Block>(range), leave_chain),
        b.set(slots.slot, b.number(0)),
    };
    return block;
}

// Adds statements that go to the next used slot, beginning with the current one.
void find_used(Binding& b, const Slots& slots, hir::Block& body) {
    constexpr int64_t most_steps = 1000;
    const Range range = b.expr.range;
    auto* loop = b.make<hir::Loop>(range);
    loop->condition =
        b.make<hir::Logical>(range, true, b.binary(BinaryOp::Lt, top_hash(b, slots), b.number(least_used)),
                             b.binary(BinaryOp::Lt, b.get(slots.steps), b.number(most_steps)));
    auto* next_slot = b.make<hir::Block>(range);
    next_slot->body = {b.set(slots.slot, b.binary(BinaryOp::Add, b.get(slots.slot), b.number(1)))};
    auto* block = b.make<hir::Block>(range);
    block->body = {b.make<hir::If>(range, top_hash(b, slots), next_slot, next_bucket(b, slots)),
                   b.set(slots.steps, b.binary(BinaryOp::Add, b.get(slots.steps), b.number(1)))};
    loop->body = block;
    body.body.push_back(b.set(slots.steps, b.number(0)));
    body.body.push_back(loop);
}

// The walk's position `at` is a bucket, and `other` a slot in it. The walk begins with the bucket 0, which has no
// slots, so find_used() takes the first bucket of the array. After the array's last bucket, it continues with the old
// array.
bool add_map(Binding& b, Text& text, const Place& map, Level level) {
    if (level.loops != 0) { // on Linux 6.1, two loops inside of another one do not fit on the stack
        text.literal("{...}");
        return true;
    }
    std::optional<Place> first = field(b, map, "buckets");
    hir::Expr *begin = field_value(b, map, "buckets"), *old_begin = field_value(b, map, "oldbuckets");
    hir::Expr *count = field_value(b, map, "count"), *bits = field_value(b, map, "B"),
              *flags = field_value(b, map, "flags");
    const Type* buckets = first ? strip(first->type) : nullptr;
    const Type* bucket = buckets && buckets->kind == Type::Pointer ? strip(buckets->target) : nullptr;
    if (!begin || !old_begin || !count || !bits || !flags || !bucket || bucket->kind != Type::Struct)
        return false;
    complete(bucket);
    std::optional<TypeMember> hashes = find_member(bucket, "tophash"), overflow = find_member(bucket, "overflow"),
                              keys = find_member(bucket, "keys"), values = find_member(bucket, "values");
    if (!hashes || !overflow || !keys || !values || hashes->byte_offset != 0)
        return false;
    const Type *many = strip(hashes->type), *key = strip(keys->type), *value = strip(values->type);
    if (many->kind != Type::Array || key->kind != Type::Array || value->kind != Type::Array)
        return false;
    Walk walk;
    walk.open = "{";
    walk.close = "}";
    walk.first = b.number(0);
    walk.count = count;
    // A map that grows has half as many old buckets, or the same number if it only moves its elements together.
    constexpr int64_t keeps_size = 8, most_bits = 31;
    hir::Expr* number = b.binary(BinaryOp::Shl, b.number(1), b.binary(BinaryOp::And, bits, b.number(most_bits)));
    hir::Expr* old_number = b.ternary(b.binary(BinaryOp::And, flags, b.number(keeps_size)), number,
                                      b.binary(BinaryOp::Shr, number, b.number(1)));
    walk.more = {begin, number, old_begin, b.ternary(old_begin, old_number, b.number(0))};
    walk.element = [&](const Cursor& cursor, Level inner) -> hir::Expr* {
        const Slots slots = {.bucket = cursor.at,
                             .slot = cursor.other,
                             .steps = cursor.steps,
                             .next = cursor.more[0],
                             .left = cursor.more[1],
                             .old_next = cursor.more[2],
                             .old_left = cursor.more[3],
                             .size = static_cast<int64_t>(size_of(bucket)),
                             .count = static_cast<int64_t>(many->count.value_or(0)),
                             .overflow = static_cast<int64_t>(overflow->byte_offset)};
        find_used(b, slots, cursor.body);
        auto in_slot = [&](const TypeMember& member, const Type* array) {
            const auto size = static_cast<int64_t>(size_of(array->target));
            hir::Expr* distance = b.binary(BinaryOp::Mul, b.get(slots.slot), b.number(size));
            return object_at(b.binary(BinaryOp::Add, b.plus(b.get(slots.bucket), member.byte_offset), distance),
                             array->target);
        };
        Text pair;
        add_pretty(b, pair, in_slot(*keys, key), inner);
        if (size_of(value->target) != 0) { // map[K]struct{} is a set
            pair.literal("=");
            add_pretty(b, pair, in_slot(*values, value), inner);
        }
        hir::Expr* found = b.binary(BinaryOp::Ge, top_hash(b, slots), b.number(least_used));
        return b.ternary(found, std::move(pair).finish(b), b.string("?"));
    };
    walk.step = [&](const Cursor& cursor) {
        cursor.body.body.push_back(b.set(cursor.other, b.binary(BinaryOp::Add, b.get(cursor.other), b.number(1))));
    };
    return add_walk(b, text, walk, level);
}

// A variable of a map's type is a pointer.
bool add_go_scalar(Binding& b, Text& text, const Type& type, hir::Expr* value, Level level) {
    if (type.kind != Type::Pointer || !is_hash(type.target) || !b.binder.call)
        return false;
    Text map;
    if (!add_map(b, map, object_at(value, type.target), level))
        return false;
    text.add(b.ternary(value, std::move(map).finish(b), b.string("nil")));
    return true;
}

bool is_go(const Type& record) {
    return record.kind == Type::Struct && (record.go_kind == Type::GoString || record.go_kind == Type::GoSlice ||
                                           record.name == "runtime.iface" || record.name == "runtime.eface");
}

bool add_go(Binding& b, Text& text, const Place& place, Level level) {
    if (!b.binder.call)
        return false;
    const Type* type = strip(place.type);
    auto member = [&](const char* name) -> hir::Expr* {
        std::optional<Place> found = field(b, place, name);
        return found ? load(b, *found, b.expr.range) : nullptr;
    };
    auto add_call = [&](const char* function, std::vector<hir::Expr*> args) {
        for (hir::Expr* arg : args)
            if (!arg)
                return text.literal("?");
        if (hir::Expr* made = b.binder.call(function, std::move(args)))
            text.add(made);
    };
    if (type->go_kind == Type::GoString) {
        add_call("__go_string", {member("str"), member("len")});
    } else if (std::optional<TypeMember> array = find_member(type, "array"); type->go_kind == Type::GoSlice && array) {
        const Type* element = strip(strip(array->type)->target);
        bool is_string = element && element->go_kind == Type::GoString;
        if (!element || size_of(element) == 0)
            return false;
        if (!is_string && element->kind != Type::Integer) {
            hir::Expr *first = member("array"), *count = member("len");
            return first && count && add_sequence(b, text, first, count, element, level);
        }
        add_call("__go_slice", {member("array"), member("len"), b.number(static_cast<int64_t>(element->size)),
                                b.number(is_string ? 2 : element->is_signed)});
    } else if (type->name == "runtime.iface") {
        add_call("__go_interface", {member("tab"), member("data")});
    } else if (type->name == "runtime.eface") {
        add_call("__go_value", {member("_type"), member("data")});
    } else {
        return false;
    }
    return true;
}

} // namespace

const Language go_language = {.owns = is_go, .add = add_go, .add_scalar = add_go_scalar};

} // namespace sonde
