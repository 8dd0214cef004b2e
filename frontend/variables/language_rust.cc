// Rust's types: tagged unions, tuples, slices, and the standard library's types for text, sequences and shared values.
//
// The names of members differ between versions of the compiler. So for a type that only wraps a pointer, the first
// pointer inside is used.
//
// The form of an enum's value is chosen at run time, because its tag is in memory. The text is a chain of conditional
// expressions, one for each variant:
//
//     tag == 0 ? "None" : tag == 1 ? sprintf("Some(%d)", ...) : "?"
//
// Compilers leave out the tag where they can: an `Option<&T>` is a pointer that is 0 for `None`. Debug information then
// describes the pointer as the tag. It gives no tag for the other variant, which becomes the last operand of the chain.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "frontend/variables/containers.h"
#include "frontend/variables/language.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/loops.h"
#include "frontend/variables/reading.h"
#include "frontend/variables/rust_containers.h"
#include "frontend/variables/rust_types.h"

namespace sonde {

using hir::BinaryOp;

namespace {

// Whether the record is a tuple: its members are __0, __1 and so on.
bool is_numbered(const Type* record) { return !record->members.empty() && record->members[0].name == "__0"; }

bool add_slice(Binding& b, Text& text, const Place& place, Level level) {
    const Sequence elements = elements_of(b, place);
    const std::string& name = strip(place.type)->name;
    if (elements && (name.ends_with("str") || name.find("<str") != std::string::npos))
        return add_bytes(b, text, elements.first, elements.count);
    return add_sequence(b, text, elements, level);
}

// An `Rc<str>`, `Rc<[T]>` or `Rc<dyn T>`: the pointer leads to the counters.
bool add_shared_wide(Binding& b, Text& text, const Place& wide, Level level) {
    if (find_member(wide.type, "vtable")) { // the type is known only at run time
        add_record(b, text, wide, level);
        return true;
    }
    std::optional<Place> data = field(b, wide, "data_ptr");
    hir::Expr *counted = data ? load(b, *data, b.expr.range) : nullptr, *count = field_value(b, wide, "length");
    const Type* target = data ? strip(strip(data->type)->target) : nullptr;
    std::optional<TypeMember> value = find_member(target, "value");
    if (!value)
        value = find_member(target, "data");
    if (!counted || !count || !value)
        return false;
    hir::Expr* first = b.plus(counted, static_cast<int64_t>(value->byte_offset));
    if (target->name.ends_with("<str>"))
        return add_bytes(b, text, first, count);
    return add_sequence(b, text, {first, count, value->type}, level);
}

bool add_shared(Binding& b, Text& text, const Place& place, Level level) {
    if (std::optional<Place> wide = wide_rust_pointer(b, place))
        return add_shared_wide(b, text, *wide, level);
    std::optional<Place> value = rust_shared_value(b, place);
    if (!value)
        return false;
    add_pretty(b, text, *value, level.behind_pointer());
    return true;
}

bool add_tuple(Binding& b, Text& text, const Place& place, Level level) {
    const Type* record = strip(place.type);
    text.literal("(");
    for (size_t i = 0; i < record->members.size(); i++) {
        text.literal(i ? ", " : "");
        std::optional<Place> element = field(b, place, fmt::format("__{}", i));
        if (!element)
            break;
        add_pretty(b, text, *element, level.inside());
    }
    text.literal(")");
    return true;
}

// Whether no value of this type can exist: `Infallible`, and all types that contain such a value.
bool is_uninhabited(const Type* type, int depth = 0) {
    constexpr int most = 16;
    type = strip(type);
    if (!type || depth > most)
        return false;
    if (type->name == "!" && type->size == 0)
        return true;
    if (type->kind == Type::Array)
        return type->count.value_or(0) > 0 && is_uninhabited(type->target, depth + 1);
    if (type->kind != Type::Struct)
        return false;
    complete(type);
    auto is_impossible = [&](const TypeMember& member) { return is_uninhabited(member.type, depth + 1); };
    const bool has_no_forms = type->tag && !type->tag->type;
    if (has_no_forms)
        return true;
    return type->variants.empty() ? std::ranges::any_of(type->members, is_impossible)
                                  : std::ranges::all_of(type->variants, [&](const TypeVariant& one) {
                                        return is_impossible(type->members[one.member]);
                                    });
}

// Whether the tag in memory has this value; null if the tag cannot be read.
hir::Expr* has_tag(Binding& b, const Place& tag, int64_t number) {
    constexpr uint64_t half = 8, two_halves = 16;
    const Type* type = strip(tag.type);
    const uint64_t size = size_of(type);
    auto compare = [&](const Place& place, int64_t with) -> hir::Expr* {
        hir::Expr* value = load(b, place, b.expr.range);
        return value ? b.binary(BinaryOp::Eq, value, b.number(with)) : nullptr;
    };
    if (size != two_halves)
        return compare(tag, number & (size >= half || type->is_signed ? -1 : (int64_t{1} << (size * 8)) - 1));
    static const Type word = integer_type("u64", half, false);
    Place lower = tag;
    lower.type = &word;
    const TypeMember upper = {.name = "", .type = &word, .byte_offset = half};
    hir::Expr* low = compare(lower, number);
    hir::Expr* high = compare(inside(b, tag, upper), type->is_signed && number < 0 ? -1 : 0);
    return low && high ? b.make<hir::Logical>(b.expr.range, true, low, high) : nullptr;
}

// Prints the variant whose tag is set: its name and its contents.
bool add_enum(Binding& b, Text& text, const Place& place, Level level) {
    const Type* type = strip(place.type);
    auto form = [&](const TypeVariant& variant) {
        const TypeMember& member = type->members[variant.member];
        Place value = inside(b, place, member);
        const Type* record = strip(value.type);
        complete(record);
        Text out;
        out.literal(member.name);
        if (is_record(record) && is_numbered(record))
            add_tuple(b, out, value, level);
        else if (is_record(record) && !record->members.empty())
            add_record(b, out, value, level);
        return std::move(out).finish(b);
    };
    // A variant that contains an uninhabited type cannot exist, and has no tag.
    std::vector<TypeVariant> forms = type->variants;
    std::erase_if(forms, [&](const TypeVariant& one) { return is_uninhabited(type->members[one.member].type); });
    const bool tagged = type->tag.has_value();
    hir::Expr* value = nullptr;
    for (const TypeVariant& variant : forms)
        if (!variant.tag || !tagged) {
            if (value)
                return false; // the variants cannot be distinguished
            value = form(variant);
        }
    for (const TypeVariant& variant : forms) {
        if (!variant.tag || !tagged)
            continue;
        hir::Expr* same = has_tag(b, inside(b, place, *type->tag), *variant.tag);
        if (!same)
            return false;
        value = b.ternary(same, form(variant), value ? value : b.string("?"));
    }
    if (!value)
        return false;
    text.add(value);
    return true;
}

// Encodes a character as UTF-8, with the number of bytes that its value needs.
hir::Expr* character_text(Binding& b, hir::Expr* value) {
    auto bytes = [&](const std::vector<hir::Expr*>& list) {
        Text text;
        text.literal("'");
        for (hir::Expr* byte : list) {
            plan::Directive directive;
            directive.kind = plan::Directive::Char;
            directive.conversion = 'c';
            text.add(directive, byte);
        }
        text.literal("'");
        return std::move(text).finish(b);
    };
    auto bits = [&](int64_t shift, int64_t mask, int64_t mark) {
        hir::Expr* part = b.binary(BinaryOp::And, b.binary(BinaryOp::Shr, value, b.number(shift)), b.number(mask));
        return b.binary(BinaryOp::Or, part, b.number(mark));
    };
    auto below = [&](int64_t limit, hir::Expr* yes, hir::Expr* no) {
        return b.ternary(b.binary(BinaryOp::Lt, value, b.number(limit)), yes, no);
    };
    // UTF-8
    return below(
        0x80, bytes({value}),
        below(0x800, bytes({bits(6, 0x1f, 0xc0), bits(0, 0x3f, 0x80)}),
              below(0x10000, bytes({bits(12, 0xf, 0xe0), bits(6, 0x3f, 0x80), bits(0, 0x3f, 0x80)}),
                    bytes({bits(18, 7, 0xf0), bits(12, 0x3f, 0x80), bits(6, 0x3f, 0x80), bits(0, 0x3f, 0x80)}))));
}

// A reference or a box is printed as its target.
bool add_rust_scalar(Binding& b, Text& text, const Type& type, hir::Expr* value, Level level) {
    if (type.kind == Type::Character && type.name == "char" && type.size == 4) {
        text.add(character_text(b, value));
        return true;
    }
    // The name first: size_of() searches the whole program for the definition of a declared type.
    if (!is_rust_reference(&type) || size_of(type.target) == 0)
        return false;
    add_pretty(b, text, object_at(value, type.target), level.behind_pointer());
    return true;
}

// Adds the value inside of a structure that only wraps it.
bool add_wrapped(Binding& b, Text& text, const Place& place, std::string_view name, Level level) {
    struct Wrapper {
        std::string_view scope, name, path;
    };
    static constexpr Wrapper wrappers[] = {
        {"core::cell::", "UnsafeCell", "value"},
        {"core::cell::", "Cell", "value.value"},
        {"core::cell::", "RefCell", "value.value"},
        {"core::cell::once::", "OnceCell", "inner.value"},
        {"core::mem::manually_drop::", "ManuallyDrop", "value"},
        {"core::mem::maybe_dangling::", "MaybeDangling", "__0"},
        {"std::sync::", "Mutex", "data.value"},
        {"std::sync::", "RwLock", "data.value"},
        {"alloc::collections::binary_heap::", "BinaryHeap", "data"},
    };
    for (const Wrapper& wrapper : wrappers) {
        // The scope can have more parts in some versions: `std::sync::poison::mutex::Mutex`.
        if (!name.starts_with(wrapper.scope) || !name.ends_with("::" + std::string(wrapper.name)))
            continue;
        std::optional<Place> value = field(b, place, wrapper.path);
        if (value)
            add_pretty(b, text, *value, level);
        return value.has_value();
    }
    if (!name.starts_with("core::sync::atomic::Atomic"))
        return false;
    std::optional<Place> value = field(b, place, name.ends_with("AtomicPtr") ? "p.value" : "v.value");
    hir::Expr* number = value && is_scalar(value->type) ? load(b, *value, b.expr.range) : nullptr;
    if (!number)
        return false;
    if (name.ends_with("AtomicBool"))
        text.add(b.ternary(number, b.string("true"), b.string("false")));
    else
        add_pretty(b, text, *value, level);
    return true;
}

// Rust's types have no common scope, so this accepts what no other language owns.
bool is_rust(const Type&) { return true; }

bool add_rust(Binding& b, Text& text, const Place& place, Level level) {
    const Type* type = strip(place.type);
    const std::string name = rust_name(type);
    if (!type->variants.empty())
        return add_enum(b, text, place, level);
    if (is_rust_slice(type))
        return add_slice(b, text, place, level);
    if (name == "alloc::string::String") {
        std::optional<Place> vector = field(b, place, "vec");
        const Sequence bytes = vector ? elements_of(b, *vector) : Sequence();
        return bytes && bytes.count && add_bytes(b, text, bytes.first, bytes.count);
    }
    if (name == "alloc::vec::Vec")
        return add_sequence(b, text, elements_of(b, place), level);
    if (is_rust_shared(name))
        return add_shared(b, text, place, level);
    if (name == "alloc::rc::Weak" || name == "alloc::sync::Weak") { // as by {:?}: most lead back to an owner
        text.literal("(Weak)");
        return true;
    }
    if (name == "std::collections::hash::map::HashMap" || name == "std::collections::hash::set::HashSet")
        return add_rust_hash(b, text, place, name.ends_with("Map"), level);
    if (name == "alloc::collections::btree::map::BTreeMap" || name == "alloc::collections::btree::set::BTreeSet")
        return add_rust_tree(b, text, place, name.ends_with("Map"), level);
    if (name == "alloc::collections::vec_deque::VecDeque")
        return add_sequence(b, text, elements_of(b, place), level);
    if (name == "alloc::collections::linked_list::LinkedList")
        return add_rust_list(b, text, place, level);
    if (add_wrapped(b, text, place, name, level))
        return true;
    if (is_numbered(type)) {
        if (!level.is_open()) {
            text.literal("(...)");
            return true;
        }
        return add_tuple(b, text, place, level);
    }
    return false;
}

} // namespace

const Language rust_language = {.owns = is_rust, .add = add_rust, .add_scalar = add_rust_scalar};

} // namespace sonde
