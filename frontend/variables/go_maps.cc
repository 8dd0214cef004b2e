// Go's maps, in both of their layouts.
//
// Go 1.17 to 1.23, with the names in the debug information:
//
//     hash<K,V>     count, B (there are 1 << B buckets), buckets, oldbuckets (null, unless the map grows)
//     bucket<K,V>   tophash, keys, values: arrays of 8; overflow: the next bucket of the chain
//
// If a byte of `tophash` is below 5, the slot is empty, or its element was moved to the new buckets. 0 also means that
// the rest of the chain is empty. So the used slots of both arrays of buckets are all elements.
//
// Since Go 1.24 ("Swiss tables"):
//
//     map<K,V>      used (the number of elements), dirPtr, dirLen
//     table<K,V>    index, groups: data (an array of groups) and lengthMask (their number minus 1)
//     group         ctrl (a byte for each of the 8 slots; its highest bit is clear if the slot is used), slots: key,
//     elem
//
// `dirPtr` is an array of pointers to tables. A table can be there several times, in consecutive places, of which
// `index` is the first. A small map has no tables (dirLen is 0), and `dirPtr` is its only group.
#include "frontend/variables/go_maps.h"

#include <string>
#include <utility>

#include "frontend/variables/containers.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/loops.h"
#include "frontend/variables/reading.h"

namespace sonde {

using hir::BinaryOp;

namespace {

bool is_record_named(const Type* type, std::string_view begin) {
    type = strip(type);
    return type && type->kind == Type::Struct && type->name.starts_with(begin) && type->name.ends_with('>');
}

bool is_swiss(const Type* type) { return is_record_named(type, "map<"); }

// Keys and values of more than 128 bytes are behind pointers in a map. Then the map's name, `map<K,V>`, has the type
// itself, and the slot a pointer to it.
Place stored(Binding& b, const Type* map, const Place& slot, bool is_key) {
    constexpr uint64_t most_inside = 128;
    const Type* pointer = strip(slot.type);
    const Type* target = pointer && pointer->kind == Type::Pointer ? pointer->target : nullptr;
    if (size_of(target) <= most_inside)
        return slot;
    const std::string& name = strip(map)->name;
    const bool is_behind =
        is_key ? name.find("<" + target->name + ",") != std::string::npos : name.ends_with("," + target->name + ">");
    return is_behind ? object_at(load(b, slot, b.expr.range), target) : slot;
}

// `key=value`, or the key alone for a map[K]struct{}, which is a set.
hir::Expr* pair_text(Binding& b, const Type* map, const Place& key, const Place& value, Level level) {
    Text pair;
    add_pretty(b, pair, stored(b, map, key, true), level);
    if (size_of(value.type) != 0) {
        pair.literal("=");
        add_pretty(b, pair, stored(b, map, value, false), level);
    }
    return std::move(pair).finish(b);
}

constexpr int64_t least_used = 5;

// The state of the search for used slots in buckets.
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
bool add_buckets(Binding& b, Text& text, const Place& map, Level level) {
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
        hir::Expr* pair = pair_text(b, map.type, in_slot(*keys, key), in_slot(*values, value), inner);
        return b.ternary(b.binary(BinaryOp::Ge, top_hash(b, slots), b.number(least_used)), pair, b.string("?"));
    };
    walk.step = [&](const Cursor& cursor) {
        cursor.body.body.push_back(b.set(cursor.other, b.binary(BinaryOp::Add, b.get(cursor.other), b.number(1))));
    };
    return add_walk(b, text, walk, level);
}

// The layout of a group.
struct Group {
    int64_t size, control, slots, slot_size;
    const Type* slot;
};

std::optional<Group> group_layout(const Type* group) {
    group = strip(group);
    if (!is_record(group))
        return std::nullopt;
    complete(group);
    std::optional<TypeMember> control = find_member(group, "ctrl"), slots = find_member(group, "slots");
    const Type* array = slots ? strip(slots->type) : nullptr;
    constexpr uint64_t slot_count = 8;
    if (!control || size_of(control->type) != slot_count || !array || array->kind != Type::Array ||
        array->count != slot_count || !find_member(array->target, "key") || !find_member(array->target, "elem"))
        return std::nullopt;
    return Group{.size = static_cast<int64_t>(size_of(group)),
                 .control = static_cast<int64_t>(control->byte_offset),
                 .slots = static_cast<int64_t>(slots->byte_offset),
                 .slot_size = static_cast<int64_t>(size_of(array->target)),
                 .slot = array->target};
}

// The offsets in a table, and the state of the search for used slots.
struct Tables {
    int64_t index, data, mask; // in a table
    hir::Local *group, *slot, *steps;
    hir::Local* used;         // the highest bits of the bytes for `slot` and the slots after it; set if in use
    hir::Local *next, *left;  // the next group of the table, and the number of groups from there on
    hir::Local *place, *rest; // the next place in the array of tables, and the number of places from there on
    hir::Local* places;       // the array's length
};

constexpr int64_t is_used = 0x80;

hir::Expr* is_in_use(Binding& b, const Tables& tables) {
    return b.binary(BinaryOp::And, b.get(tables.used), b.number(is_used));
}

// Adds statements that go to the next used slot, beginning with the current one.
void find_in_tables(Binding& b, const Tables& tables, const Group& group, hir::Block& body) {
    constexpr int64_t most_steps = 1000;
    constexpr auto highest_bits = static_cast<int64_t>(0x8080808080808080);
    const Range range = b.expr.range;
    auto load_at = [&](hir::Expr* address, int64_t offset) {
        return b.make<hir::Load>(range, b.plus(address, offset), 8u, false);
    };
    auto add = [&](hir::Local* local, int64_t number) {
        return b.set(local, b.binary(BinaryOp::Add, b.get(local), b.number(number)));
    };
    auto* next_slot = b.make<hir::Block>(range);
    next_slot->body = {b.set(tables.used, b.binary(BinaryOp::ShrLogical, b.get(tables.used), b.number(8))),
                       add(tables.slot, 1)};
    auto* next_group = b.make<hir::Block>(range);
    hir::Expr* control = load_at(b.get(tables.group), group.control);
    next_group->body = {
        b.set(tables.group, b.get(tables.next)),
        add(tables.next, group.size),
        add(tables.left, -1),
        b.set(tables.slot, b.number(0)),
        b.set(tables.used,
              b.binary(BinaryOp::And, b.binary(BinaryOp::Xor, control, b.number(-1)), b.number(highest_bits))),
    };
    // `group` has the address of the table, until its first group is taken.
    auto* enter = b.make<hir::Block>(range);
    enter->body = {b.set(tables.next, load_at(b.get(tables.group), tables.data)),
                   b.set(tables.left, b.binary(BinaryOp::Add, load_at(b.get(tables.group), tables.mask), b.number(1)))};
    hir::Expr* is_first = b.binary(BinaryOp::Eq, load_at(b.get(tables.group), tables.index),
                                   b.binary(BinaryOp::Sub, b.get(tables.places), b.get(tables.rest)));
    auto* next_table = b.make<hir::Block>(range);
    next_table->body = {b.set(tables.group, load_at(b.get(tables.place), 0)),
                        b.make<hir::If>(range, is_first, enter, nullptr), add(tables.place, 8), add(tables.rest, -1)};
    auto* loop = b.make<hir::Loop>(range);
    loop->condition = b.make<hir::Logical>(range, true, b.binary(BinaryOp::Eq, is_in_use(b, tables), b.number(0)),
                                           b.binary(BinaryOp::Lt, b.get(tables.steps), b.number(most_steps)));
    auto* end = b.make<hir::Block>(range);
    end->body = {b.set(tables.steps, b.number(most_steps))};
    auto* table_or_end =
        b.make<hir::If>(range, b.binary(BinaryOp::Gt, b.get(tables.rest), b.number(0)), next_table, end);
    auto* group_or_table =
        b.make<hir::If>(range, b.binary(BinaryOp::Gt, b.get(tables.left), b.number(0)), next_group, table_or_end);
    auto* block = b.make<hir::Block>(range);
    block->body = {add(tables.steps, 1), b.make<hir::If>(range, b.get(tables.used), next_slot, group_or_table)};
    loop->body = block;
    body.body.push_back(b.set(tables.steps, b.number(0)));
    body.body.push_back(loop);
}

bool add_swiss(Binding& b, Text& text, const Place& map, Level level) {
    std::optional<Place> directory = field(b, map, "dirPtr");
    const Type* tables = directory ? strip(directory->type) : nullptr;
    const Type* table = tables && tables->kind == Type::Pointer ? strip(tables->target) : nullptr;
    const Type* record = table && table->kind == Type::Pointer ? strip(table->target) : nullptr;
    hir::Expr *first = field_value(b, map, "dirPtr"), *count = field_value(b, map, "used"),
              *length = field_value(b, map, "dirLen");
    if (!is_record(record) || !first || !count || !length)
        return false;
    complete(record);
    std::optional<TypeMember> index = find_member(record, "index"), groups = find_member(record, "groups");
    std::optional<TypeMember> data = groups ? find_member(groups->type, "data") : std::nullopt;
    std::optional<TypeMember> mask = groups ? find_member(groups->type, "lengthMask") : std::nullopt;
    const Type* pointer = data ? strip(data->type) : nullptr;
    std::optional<Group> group =
        pointer && pointer->kind == Type::Pointer ? group_layout(pointer->target) : std::nullopt;
    if (!index || size_of(index->type) != 8 || !mask || size_of(mask->type) != 8 || !group)
        return false;
    Walk walk;
    walk.open = "{";
    walk.close = "}";
    walk.first = b.number(0);
    walk.count = count;
    hir::Expr* is_large = b.binary(BinaryOp::Gt, length, b.number(0));
    walk.more = {b.number(0),
                 b.ternary(is_large, b.number(0), first),
                 b.ternary(is_large, b.number(0), b.number(1)),
                 first,
                 length,
                 length};
    auto tables_of = [&](const Cursor& cursor) {
        return Tables{.index = static_cast<int64_t>(index->byte_offset),
                      .data = static_cast<int64_t>(groups->byte_offset + data->byte_offset),
                      .mask = static_cast<int64_t>(groups->byte_offset + mask->byte_offset),
                      .group = cursor.at,
                      .slot = cursor.other,
                      .steps = cursor.steps,
                      .used = cursor.more[0],
                      .next = cursor.more[1],
                      .left = cursor.more[2],
                      .place = cursor.more[3],
                      .rest = cursor.more[4],
                      .places = cursor.more[5]};
    };
    walk.element = [&](const Cursor& cursor, Level inner) -> hir::Expr* {
        const Tables state = tables_of(cursor);
        find_in_tables(b, state, *group, cursor.body);
        hir::Expr* distance = b.binary(BinaryOp::Mul, b.get(state.slot), b.number(group->slot_size));
        Place slot =
            object_at(b.binary(BinaryOp::Add, b.plus(b.get(state.group), group->slots), distance), group->slot);
        hir::Expr* pair = pair_text(b, map.type, *field(b, slot, "key"), *field(b, slot, "elem"), inner);
        return b.ternary(is_in_use(b, state), pair, b.string("?"));
    };
    walk.step = [&](const Cursor& cursor) {
        const Tables state = tables_of(cursor);
        cursor.body.body.push_back(b.set(state.used, b.binary(BinaryOp::And, b.get(state.used), b.number(~is_used))));
    };
    return add_walk(b, text, walk, level);
}

} // namespace

bool is_go_map(const Type* type) { return is_record_named(type, "hash<") || is_swiss(type); }

bool add_go_map(Binding& b, Text& text, const Place& map, Level level) {
    if (level.loops != 0) { // on Linux 6.1, two loops inside of another one do not fit on the stack
        text.literal("{...}");
        return true;
    }
    return is_swiss(map.type) ? add_swiss(b, text, map, level) : add_buckets(b, text, map, level);
}

} // namespace sonde
