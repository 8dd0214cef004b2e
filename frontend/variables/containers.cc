// Values of library types: strings, sequences, maps, optional values and tagged unions as a person would write them.
//
// Where such a type keeps its parts is asked of the debug information, by the names of its members; which names these
// are is the business of bind_cxx.cc and bind_rust.cc. How many elements there are is known only when the probe is hit,
// so a container's text is made by a function of its own, with a loop, of which the lowering knows nothing special.
#include <algorithm>

#include <fmt/format.h>

#include "frontend/variables/binding.h"

namespace sonde {

using hir::BinaryOp;
using hir::ValueType;

namespace {

constexpr int64_t max_shown = 16; // elements of a container

} // namespace

uint64_t alignment_of(const Type* type, int depth) {
    type = strip(type);
    if (!type || depth > 16)
        return 1;
    uint64_t alignment = 1;
    switch (type->kind) {
    case Type::Array:
        return alignment_of(type->target, depth + 1);
    case Type::Struct:
    case Type::Union:
        complete(type);
        for (const TypeMember& member : type->members)
            alignment = std::max(alignment, alignment_of(member.type, depth + 1));
        return alignment;
    default:
        return std::clamp<uint64_t>(size_of(type), 1, 16);
    }
}

std::optional<Place> TargetBinder::field(Place place, std::string_view path) {
    while (!path.empty()) {
        size_t dot = std::min(path.find('.'), path.size());
        std::optional<TypeMember> found = find_member(place.type, path.substr(0, dot));
        if (!found)
            return std::nullopt;
        place = inside(place, *found);
        path.remove_prefix(std::min(dot + 1, path.size()));
    }
    return place;
}

Place TargetBinder::inside(const Place& record, const TypeMember& member) {
    Place part = member_place(record, member);
    if (part.address)
        part.address = plus(part.address, static_cast<int64_t>(member.byte_offset));
    return part;
}

Place TargetBinder::object_at(hir::Expr* address, const Type* type) {
    Place place;
    place.type = type;
    place.address = address;
    return place;
}

hir::Expr* TargetBinder::field_value(const Place& place, std::string_view path) {
    std::optional<Place> found = field(place, path);
    return found && is_scalar(found->type) ? load(*found, expr_.range) : nullptr;
}

void TargetBinder::add_text(Text& text, hir::Expr* value) {
    if (value->kind == hir::ExprKind::ConstString)
        return text.literal(hir::as<hir::ConstString>(*value).value);
    plan::Directive directive;
    directive.kind = plan::Directive::String;
    directive.conversion = 's';
    text.format.directives.push_back(directive);
    text.args.push_back(value);
}

hir::Expr* TargetBinder::text_of(const Place& place, bool deep, int depth) {
    Text text;
    add_pretty(text, place, deep, depth);
    return finish(std::move(text));
}

bool TargetBinder::add_known(Text& text, const Place& place, bool deep, int depth) {
    const Type* type = strip(place.type);
    complete(type);
    std::string_view name = type->name;
    name = name.substr(0, name.find('<'));
    // C++'s are in `std` itself or in an inline namespace of it; Rust's are in modules.
    bool cxx = type->scope == "std::" || type->scope.starts_with("std::__");
    return cxx ? add_cxx(text, place, std::string(name), deep, depth)
               : add_rust(text, place, type->scope + std::string(name), deep, depth);
}

hir::Expr* TargetBinder::enumerator_text(const Type* type, hir::Expr* value) {
    Text number_text;
    add_integer(number_text, value, type->is_signed ? 'd' : 'u', 0);
    hir::Expr* text = finish(std::move(number_text));
    for (const Enumerator& one : type->enumerators)
        text = make<hir::Ternary>(expr_.range, binary(BinaryOp::Eq, value, number(one.value)), string(one.name), text);
    return text;
}

// ---- functions ------------------------------------------------------------------------------------------------------

namespace {

hir::Local* add_local(Arena& arena, std::vector<hir::Local*>& list, std::string name, ValueType type, Range range) {
    auto* local = arena.make<hir::Local>();
    local->name = std::move(name);
    local->type = type;
    local->range = range;
    list.push_back(local);
    return local;
}

} // namespace

hir::Function* TargetBinder::begin_function(Range range) {
    auto* function = make<hir::Function>();
    function->range = range;
    function->result = ValueType::String;
    function->bounded = true;
    function->body = make<hir::Block>(range);
    return function;
}

hir::Expr* TargetBinder::get(hir::Local* local) { return make<hir::LocalRef>(expr_.range, local); }

hir::Stmt* TargetBinder::set(hir::Local* local, hir::Expr* value, bool append) {
    auto* assign = make<hir::Assign>(expr_.range, get(local), value);
    assign->concat = append;
    assign->value_unused = true;
    return make<hir::ExprStmt>(expr_.range, assign);
}

hir::Expr* TargetBinder::string(const std::string& value) { return make<hir::ConstString>(expr_.range, value); }

// `open`, the elements with commas between them, `close`. What cannot be read ends it with a `?`.
hir::Expr* TargetBinder::walk_text(const Walk& walk) {
    if (!binder_.define || !walk.first || !walk.count)
        return nullptr;
    Range range = expr_.range;
    hir::Function* function = begin_function(range);
    hir::Local* at = add_local(binder_.arena, function->params, "at", ValueType::Long, range);
    hir::Local* count = add_local(binder_.arena, function->params, "count", ValueType::Long, range);
    std::vector<hir::Local*> more;
    for (size_t i = 0; i < walk.more.size(); i++)
        more.push_back(add_local(binder_.arena, function->params, fmt::format("more{}", i), ValueType::Long, range));
    hir::Local* index = add_local(binder_.arena, function->locals, "index", ValueType::Long, range);
    hir::Local* other = add_local(binder_.arena, function->locals, "other", ValueType::Long, range);
    hir::Local* steps = add_local(binder_.arena, function->locals, "steps", ValueType::Long, range);
    hir::Local* out = add_local(binder_.arena, function->locals, "out", ValueType::String, range);

    auto* body = make<hir::Block>(range);
    body->body.push_back(make<hir::If>(range, get(index), set(out, string(", "), true), nullptr));
    Cursor cursor{at, index, other, steps, more, *body};
    body->body.push_back(set(out, walk.element(cursor), true));
    walk.step(cursor);
    body->body.push_back(set(index, binary(BinaryOp::Add, get(index), number(1))));
    auto* loop = make<hir::Loop>(range);
    loop->condition = make<hir::Logical>(range, true, binary(BinaryOp::Lt, get(index), get(count)),
                                         binary(BinaryOp::Lt, get(index), number(max_shown)));
    loop->body = body;

    auto* whole = make<hir::Block>(range);
    whole->body.push_back(loop);
    whole->body.push_back(make<hir::If>(range, binary(BinaryOp::Gt, get(count), number(max_shown)),
                                        set(out, string(", ..."), true), nullptr));
    std::vector<hir::Stmt*>& all = function->body->body;
    all.push_back(set(out, string(walk.open)));
    all.push_back(make<hir::Try>(range, whole, nullptr, set(out, string("?"), true)));
    all.push_back(set(out, string(walk.close), true));
    all.push_back(make<hir::Return>(range, get(out)));

    std::vector<hir::Expr*> args = {walk.first, walk.count};
    args.insert(args.end(), walk.more.begin(), walk.more.end());
    return make<hir::Call>(range, binder_.define(*function), ValueType::String, std::move(args));
}

hir::Expr* TargetBinder::bytes_text(hir::Expr* address, hir::Expr* count) {
    if (!binder_.define || !address || !count)
        return nullptr;
    Range range = expr_.range;
    hir::Function* function = begin_function(range);
    hir::Local* at = add_local(binder_.arena, function->params, "at", ValueType::Long, range);
    hir::Local* size = add_local(binder_.arena, function->params, "count", ValueType::Long, range);
    auto* read = make<hir::Intrinsic>(range, "__user_buffer_quoted", ValueType::String,
                                      std::vector<hir::Expr*>{get(at), get(size), number(-1)});
    Text address_text;
    add_integer(address_text, get(at), 'x', '#');
    function->body->body.push_back(make<hir::Try>(range, make<hir::Return>(range, read), nullptr,
                                                  make<hir::Return>(range, finish(std::move(address_text)))));
    return make<hir::Call>(range, binder_.define(*function), ValueType::String,
                           std::vector<hir::Expr*>{address, count});
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

bool TargetBinder::add_bytes(Text& text, hir::Expr* address, hir::Expr* count) {
    hir::Expr* value = bytes_text(address, count);
    if (value)
        add_text(text, value);
    return value;
}

bool TargetBinder::add_walk(Text& text, const Walk& walk, bool deep, int depth) {
    // Each level is a loop in a loop, of which the kernel's verifier can bear a few.
    constexpr int max_loops = 2;
    if ((depth > 0 && !deep) || loops_ == max_loops) {
        text.literal(walk.open + "..." + walk.close);
        return true;
    }
    loops_++;
    hir::Expr* value = walk_text(walk);
    loops_--;
    if (value)
        add_text(text, value);
    return value;
}

bool TargetBinder::add_sequence(Text& text, hir::Expr* first, hir::Expr* count, const Type* element, bool deep,
                                int depth) {
    uint64_t size = size_of(element);
    if (size == 0)
        return false;
    Walk walk;
    walk.first = first;
    walk.count = count;
    walk.element = [&](const Cursor& cursor) { return text_of(object_at(get(cursor.at), element), deep, depth + 1); };
    walk.step = [&](const Cursor& cursor) {
        cursor.body.body.push_back(
            set(cursor.at, binary(BinaryOp::Add, get(cursor.at), number(static_cast<int64_t>(size)))));
    };
    return add_walk(text, walk, deep, depth);
}

hir::Expr* TargetBinder::element_text(const Place& element, bool is_map, bool deep, int depth) {
    std::optional<Place> key = is_map ? field(element, "first") : std::nullopt;
    std::optional<Place> value = is_map ? field(element, "second") : std::nullopt;
    if (!key || !value)
        return text_of(element, deep, depth);
    Text text;
    add_pretty(text, *key, deep, depth);
    text.literal("=");
    add_pretty(text, *value, deep, depth);
    return finish(std::move(text));
}

// `condition ? (value) : ()`
bool TargetBinder::add_optional(Text& text, hir::Expr* condition, const Place& value, bool deep, int depth) {
    Text inner;
    inner.literal("(");
    add_pretty(inner, value, deep, depth);
    inner.literal(")");
    add_text(text, make<hir::Ternary>(expr_.range, condition, finish(std::move(inner)), string("()")));
    return true;
}

} // namespace sonde
