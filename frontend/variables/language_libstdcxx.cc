// C++'s standard library, as libstdc++ lays it out: which members hold a string's bytes, a vector's ends, a tree's
// nodes.
#include "frontend/variables/binding.h"

namespace sonde {

using hir::BinaryOp;

namespace {

const Type* argument(const Type* type, size_t index) {
    type = strip(type);
    return type && index < type->arguments.size() ? type->arguments[index] : nullptr;
}

// The class behind a pointer.
const Type* target_of(const std::optional<Place>& pointer) {
    const Type* type = pointer ? strip(pointer->type) : nullptr;
    return type && type->kind == Type::Pointer ? type->target : nullptr;
}

// Where a node that begins with a `base` keeps its value.
int64_t value_offset(const Type* base, const Type* value) {
    uint64_t alignment = alignment_of(value);
    return static_cast<int64_t>((size_of(base) + alignment - 1) / alignment * alignment);
}

} // namespace

bool TargetBinder::add_cxx_string(Text& text, const Place& place, bool, int) {
    const Type* character = argument(place.type, 0);
    if (size_of(character) != 1)
        return false;
    if (hir::Expr* data = field_value(place, "_M_dataplus._M_p"))
        return add_bytes(text, data, field_value(place, "_M_string_length"));
    return add_bytes(text, field_value(place, "_M_str"), field_value(place, "_M_len"));
}

bool TargetBinder::add_cxx_vector(Text& text, const Place& place, bool deep, int depth) {
    std::optional<Place> first = field(place, "_M_impl._M_start");
    const Type* element = argument(place.type, 0);
    if (!first || !element)
        return false;
    if (is_record(first->type)) { // of bool: one bit each
        hir::Expr* begin = field_value(place, "_M_impl._M_start._M_p");
        hir::Expr* end = field_value(place, "_M_impl._M_finish._M_p");
        hir::Expr* bits = field_value(place, "_M_impl._M_finish._M_offset");
        if (!begin || !end || !bits)
            return false;
        Walk walk;
        walk.first = begin;
        walk.count = binary(BinaryOp::Add, binary(BinaryOp::Mul, binary(BinaryOp::Sub, end, begin), number(8)), bits);
        walk.element = [&](const Cursor& cursor) {
            hir::Expr* byte =
                binary(BinaryOp::Add, get(cursor.at), binary(BinaryOp::Shr, get(cursor.index), number(3)));
            hir::Expr* bit = binary(BinaryOp::Shr, make<hir::Load>(expr_.range, byte, 1u, false),
                                    binary(BinaryOp::And, get(cursor.index), number(7)));
            return make<hir::Ternary>(expr_.range, binary(BinaryOp::And, bit, number(1)), string("true"),
                                      string("false"));
        };
        walk.step = [](const Cursor&) {};
        return add_walk(text, walk, deep, depth);
    }
    hir::Expr* begin = field_value(place, "_M_impl._M_start");
    hir::Expr* end = field_value(place, "_M_impl._M_finish");
    uint64_t size = size_of(element);
    if (!begin || !end || size == 0)
        return false;
    hir::Expr* count = binary(BinaryOp::Div, binary(BinaryOp::Sub, end, begin), number(static_cast<int64_t>(size)));
    return add_sequence(text, begin, count, element, deep, depth);
}

bool TargetBinder::add_cxx_span(Text& text, const Place& place, bool deep, int depth) {
    return add_sequence(text, field_value(place, "_M_ptr"), field_value(place, "_M_extent._M_extent_value"),
                        argument(place.type, 0), deep, depth);
}

// Blocks of elements, and an array of pointers to them.
bool TargetBinder::add_cxx_deque(Text& text, const Place& place, bool deep, int depth) {
    const Type* element = argument(place.type, 0);
    hir::Expr* first = field_value(place, "_M_impl._M_start._M_cur");
    hir::Expr* begin = field_value(place, "_M_impl._M_start._M_first");
    hir::Expr* end = field_value(place, "_M_impl._M_start._M_last");
    hir::Expr* node = field_value(place, "_M_impl._M_start._M_node");
    hir::Expr* last = field_value(place, "_M_impl._M_finish._M_cur");
    hir::Expr* last_begin = field_value(place, "_M_impl._M_finish._M_first");
    hir::Expr* last_node = field_value(place, "_M_impl._M_finish._M_node");
    auto size = static_cast<int64_t>(size_of(element));
    if (!first || !begin || !end || !node || !last || !last_begin || !last_node || size == 0)
        return false;
    // (whole blocks) * (block's size) + (used of the last one) - (unused of the first one)
    hir::Expr* blocks = binary(BinaryOp::Div, binary(BinaryOp::Sub, last_node, node), number(8));
    hir::Expr* bytes = binary(BinaryOp::Mul, blocks, binary(BinaryOp::Sub, end, begin));
    bytes = binary(BinaryOp::Add, bytes, binary(BinaryOp::Sub, last, last_begin));
    bytes = binary(BinaryOp::Sub, bytes, binary(BinaryOp::Sub, first, begin));
    Walk walk;
    walk.first = first;
    walk.count = binary(BinaryOp::Div, bytes, number(size));
    walk.more = {node, binary(BinaryOp::Sub, end, begin), end};
    walk.element = [&](const Cursor& cursor) { return text_of(object_at(get(cursor.at), element), deep, depth + 1); };
    walk.step = [&](const Cursor& cursor) {
        hir::Local *at = cursor.at, *block = cursor.more[0], *length = cursor.more[1], *block_end = cursor.more[2];
        auto* next = make<hir::Block>(expr_.range);
        next->body.push_back(set(block, binary(BinaryOp::Add, get(block), number(8))));
        next->body.push_back(set(at, make<hir::Load>(expr_.range, get(block), 8u, false)));
        next->body.push_back(set(block_end, binary(BinaryOp::Add, get(at), get(length))));
        cursor.body.body.push_back(set(at, binary(BinaryOp::Add, get(at), number(size))));
        cursor.body.body.push_back(
            make<hir::If>(expr_.range, binary(BinaryOp::Eq, get(at), get(block_end)), next, nullptr));
    };
    return add_walk(text, walk, deep, depth);
}

bool TargetBinder::add_cxx_chain(Text& text, const Nodes& nodes, bool is_list, bool is_map, bool deep, int depth) {
    Walk walk;
    walk.open = is_list ? "[" : "{";
    walk.close = is_list ? "]" : "}";
    walk.first = nodes.first;
    walk.count = nodes.count;
    walk.element = [&](const Cursor& cursor) {
        return element_text(object_at(plus(get(cursor.at), nodes.value), nodes.element), is_map, deep, depth + 1);
    };
    walk.step = [&](const Cursor& cursor) {
        hir::Expr* next = plus(get(cursor.at), nodes.next);
        cursor.body.body.push_back(set(cursor.at, make<hir::Load>(expr_.range, next, 8u, false)));
    };
    return add_walk(text, walk, deep, depth);
}

// The nodes of libstdc++'s chains.
std::optional<TargetBinder::Nodes> TargetBinder::cxx_chain(const Place& first, std::string_view next_member,
                                                           hir::Expr* count, const Type* element) {
    const Type* base = target_of(first);
    std::optional<TypeMember> link = find_member(base, next_member);
    if (!count || !link || size_of(element) == 0)
        return std::nullopt;
    Nodes nodes;
    nodes.first = load(first, expr_.range);
    nodes.count = count;
    nodes.element = element;
    nodes.value = value_offset(base, element);
    nodes.next = static_cast<int64_t>(link->byte_offset);
    return nodes;
}

bool TargetBinder::add_cxx_list(Text& text, const Place& place, bool deep, int depth) {
    std::optional<Place> first = field(place, "_M_impl._M_node._M_next");
    std::optional<Nodes> nodes;
    if (first)
        nodes = cxx_chain(*first, "_M_next", field_value(place, "_M_impl._M_node._M_size"), argument(place.type, 0));
    return nodes && add_cxx_chain(text, *nodes, true, false, deep, depth);
}

bool TargetBinder::add_cxx_hash(Text& text, const Place& place, bool is_map, bool deep, int depth) {
    std::optional<Place> table = field(place, "_M_h");
    std::optional<Place> first = field(place, "_M_h._M_before_begin._M_nxt");
    std::optional<Nodes> nodes;
    if (first)
        nodes = cxx_chain(*first, "_M_nxt", field_value(place, "_M_h._M_element_count"), argument(table->type, 1));
    return nodes && add_cxx_chain(text, *nodes, false, is_map, deep, depth);
}

bool TargetBinder::add_cxx_tree(Text& text, const Place& place, bool is_map, bool deep, int depth) {
    std::optional<Place> tree = field(place, "_M_t");
    std::optional<Place> first = field(place, "_M_t._M_impl._M_header._M_left");
    const Type* base = target_of(first);
    const Type* element = tree ? argument(tree->type, 1) : nullptr;
    std::optional<TypeMember> parent = find_member(base, "_M_parent"), left = find_member(base, "_M_left"),
                              right = find_member(base, "_M_right");
    hir::Expr* count = field_value(place, "_M_t._M_impl._M_node_count");
    if (!parent || !left || !right || !count || size_of(element) == 0)
        return false;
    Nodes nodes;
    nodes.first = load(*first, expr_.range);
    nodes.count = count;
    nodes.element = element;
    nodes.value = value_offset(base, element);
    nodes.left = static_cast<int64_t>(left->byte_offset);
    nodes.right = static_cast<int64_t>(right->byte_offset);
    nodes.parent = static_cast<int64_t>(parent->byte_offset);
    return add_cxx_nodes(text, nodes, is_map, deep, depth);
}

// A balanced tree. The next node in order is the leftmost below the right child or, without one, the first ancestor
// that the way up reaches from its left.
bool TargetBinder::add_cxx_nodes(Text& text, const Nodes& nodes, bool is_map, bool deep, int depth) {
    Walk walk;
    walk.open = "{";
    walk.close = "}";
    walk.first = nodes.first;
    walk.count = nodes.count;
    walk.element = [&](const Cursor& cursor) {
        return element_text(object_at(plus(get(cursor.at), nodes.value), nodes.element), is_map, deep, depth + 1);
    };
    walk.step = [&](const Cursor& cursor) {
        constexpr int64_t max_height = 128;
        Range range = expr_.range;
        hir::Local *at = cursor.at, *next = cursor.other;
        auto read = [&](hir::Local* node, int64_t link) {
            return make<hir::Load>(range, plus(get(node), link), 8u, false);
        };
        // `steps` bounds what a broken tree can cost.
        auto repeat = [&](hir::Expr* condition, std::vector<hir::Stmt*> body) {
            auto* loop = make<hir::Loop>(range);
            loop->condition =
                make<hir::Logical>(range, true, condition, binary(BinaryOp::Lt, get(cursor.steps), number(max_height)));
            auto* block = make<hir::Block>(range);
            block->body = std::move(body);
            block->body.push_back(set(cursor.steps, binary(BinaryOp::Add, get(cursor.steps), number(1))));
            loop->body = block;
            return loop;
        };
        auto* down = make<hir::Block>(range);
        down->body = {set(at, get(next)), set(next, read(at, nodes.left)),
                      repeat(get(next), {set(at, get(next)), set(next, read(at, nodes.left))})};
        auto* up = make<hir::Block>(range);
        up->body = {set(next, read(at, nodes.parent)),
                    repeat(binary(BinaryOp::Eq, get(at), read(next, nodes.right)),
                           {set(at, get(next)), set(next, read(at, nodes.parent))}),
                    set(at, get(next))};
        cursor.body.body.push_back(set(cursor.steps, number(0)));
        cursor.body.body.push_back(set(next, read(at, nodes.right)));
        cursor.body.body.push_back(make<hir::If>(range, get(next), down, up));
    };
    return add_walk(text, walk, deep, depth);
}

bool TargetBinder::add_cxx_optional(Text& text, const Place& place, bool deep, int depth) {
    hir::Expr* engaged = field_value(place, "_M_payload._M_engaged");
    std::optional<Place> value = field(place, "_M_payload._M_payload._M_value");
    return engaged && value && add_optional(text, engaged, *value, deep, depth);
}

// The elements of a tuple are base classes inside each other: `_Head_base<0, ...>` beside the rest, `_Tuple_impl<1,
// ...>`.
std::vector<Place> TargetBinder::tuple_elements(const Place& place) {
    std::vector<Place> elements;
    std::optional<Place> rest = place;
    while (rest && elements.size() < 32) {
        const Type* type = strip(rest->type);
        complete(type);
        std::optional<Place> next;
        for (const TypeMember& member : type->members) {
            Place part = inside(*rest, member);
            if (member.is_base && member.name.starts_with("_Tuple_impl<"))
                next = part;
            else if (member.is_base && member.name.starts_with("_Head_base<"))
                if (std::optional<Place> head = field(part, "_M_head_impl"))
                    elements.push_back(*head);
        }
        rest = next;
    }
    return elements;
}

bool TargetBinder::add_cxx_tuple(Text& text, const Place& place, bool deep, int depth) {
    text.literal("(");
    bool first = true;
    for (const Place& element : tuple_elements(place)) {
        text.literal(first ? "" : ", ");
        first = false;
        add_pretty(text, element, deep, depth + 1);
    }
    text.literal(")");
    return true;
}

bool TargetBinder::add_cxx_pair(Text& text, const Place& place, bool deep, int depth) {
    std::optional<Place> first = field(place, "first"), second = field(place, "second");
    if (!first || !second)
        return false;
    text.literal("(");
    add_pretty(text, *first, deep, depth + 1);
    text.literal(", ");
    add_pretty(text, *second, deep, depth + 1);
    text.literal(")");
    return true;
}

bool TargetBinder::add_cxx_array(Text& text, const Place& place, bool deep, int depth) {
    std::optional<Place> elements = field(place, "_M_elems");
    const Type* array = elements ? strip(elements->type) : nullptr;
    if (!array || array->kind != Type::Array)
        return false;
    if (depth > 0 && !deep)
        text.literal("[...]");
    else
        add_array(text, *elements, deep, depth);
    return true;
}

bool TargetBinder::add_cxx_pointer(Text& text, const Place& place, bool deep, int depth) {
    std::optional<Place> pointer = field(place, "_M_ptr"); // shared_ptr
    if (!pointer)
        if (std::optional<Place> tuple = field(place, "_M_t._M_t"))
            if (std::vector<Place> elements = tuple_elements(*tuple); !elements.empty())
                pointer = elements[0];
    const Type* target = target_of(pointer);
    hir::Expr* address = pointer ? load(*pointer, expr_.range) : nullptr;
    if (!address)
        return false;
    if (size_of(target) == 0 || strip(argument(place.type, 0))->kind == Type::Array) {
        add_integer(text, address, 'x', '#');
        return true;
    }
    return add_optional(text, address, object_at(address, target), deep, depth == 0 ? 0 : depth + levels_of_a_pointer);
}

// One of several values: which one is a number, and all begin at the same place.
bool TargetBinder::add_cxx_variant(Text& text, const Place& place, bool deep, int depth) {
    std::optional<Place> storage = field(place, "_M_u");
    hir::Expr* index = field_value(place, "_M_index");
    if (!storage || !index)
        return false;
    hir::Expr* value = string("()");
    const std::vector<const Type*>& types = strip(place.type)->arguments;
    for (size_t i = types.size(); i-- > 0;) {
        Place one = *storage;
        one.type = types[i];
        value = make<hir::Ternary>(expr_.range, binary(BinaryOp::Eq, index, number(static_cast<int64_t>(i))),
                                   text_of(one, deep, depth + 1), value);
    }
    add_text(text, value);
    return true;
}

bool TargetBinder::add_cxx(Text& text, const Place& place, const std::string& name, bool deep, int depth) {
    struct Reader {
        std::string_view name;
        bool (TargetBinder::*add)(Text&, const Place&, bool, int);
    };
    if (strip(place.type)->scope.starts_with("std::__1::") && name != "pair")
        return add_libcxx(text, place, name, deep, depth);
    static const Reader readers[] = {
        {"basic_string", &TargetBinder::add_cxx_string}, {"basic_string_view", &TargetBinder::add_cxx_string},
        {"vector", &TargetBinder::add_cxx_vector},       {"array", &TargetBinder::add_cxx_array},
        {"span", &TargetBinder::add_cxx_span},           {"deque", &TargetBinder::add_cxx_deque},
        {"list", &TargetBinder::add_cxx_list},           {"pair", &TargetBinder::add_cxx_pair},
        {"tuple", &TargetBinder::add_cxx_tuple},         {"optional", &TargetBinder::add_cxx_optional},
        {"variant", &TargetBinder::add_cxx_variant},     {"unique_ptr", &TargetBinder::add_cxx_pointer},
        {"shared_ptr", &TargetBinder::add_cxx_pointer},
    };
    for (const Reader& reader : readers)
        if (name == reader.name)
            return (this->*reader.add)(text, place, deep, depth);
    bool is_map = name.ends_with("map");
    if (name == "map" || name == "multimap" || name == "set" || name == "multiset")
        return add_cxx_tree(text, place, is_map, deep, depth);
    if (name == "unordered_map" || name == "unordered_multimap" || name == "unordered_set" ||
        name == "unordered_multiset")
        return add_cxx_hash(text, place, is_map, deep, depth);
    return false;
}

} // namespace sonde
