// `$x$` and `$x$$`: a value as text, `{.a=1, .b={...}, .c="..."}`; one level deep or all.
#include "frontend/variables/binding.h"

namespace sonde {
namespace {

constexpr uint64_t max_elements = 32;
constexpr int max_depth = 16;
constexpr int64_t max_string = 512;

} // namespace

int TargetBinder::pretty_depth() const {
    if (expr_.components.empty())
        return 0;
    switch (expr_.components.back().kind) {
    case ast::Component::PrettyOne:
        return 1;
    case ast::Component::PrettyDeep:
        return 2;
    default:
        return 0;
    }
}

hir::Expr* TargetBinder::pretty() {
    std::optional<Place> place = base();
    if (place)
        place = walk(*std::move(place), expr_.components.size() - 1);
    if (!place)
        return nullptr;
    Text text;
    add_value(text, *std::move(place), pretty_depth() == 2);
    hir::Expr* result = finish_guarded(std::move(text));
    if (!held_)
        return result;
    // `held || 1` is true, and evaluates `held` first.
    auto* first = make<hir::Logical>(expr_.range, false, held_, number(1));
    return make<hir::Ternary>(expr_.range, first, result, make<hir::ConstString>(expr_.range, ""));
}

void TargetBinder::add_value(Text& text, Place place, bool deep) {
    if (!place.at_entry)
        return add_pretty(text, place, deep, 0);
    place.at_entry = false;
    Text whole;
    add_pretty(whole, place, deep, 0);
    add_text(text, saved(finish_guarded(std::move(whole)), true));
}

void TargetBinder::add_string(Text& text, const Place& place, hir::Expr* address, int64_t limit) {
    const char* reader = place.kernel ? "__kernel_string_quoted" : "__user_string_quoted";
    add_text(text, make<hir::Intrinsic>(expr_.range, reader, hir::ValueType::String,
                                        std::vector<hir::Expr*>{address, number(limit)}));
}

// As C writes a constant: 'A', '\n', '\303'. A character of two or four bytes has a number beyond one byte's as
// '\u20AC'.
void TargetBinder::add_character(Text& text, hir::Expr* value, uint64_t size) {
    constexpr int64_t one_byte = 0x100;
    auto quoted = [&](const char* before, plan::Directive::Kind kind, char conversion, char flag, int width) {
        Text one;
        one.literal(before);
        plan::Directive directive;
        directive.kind = kind;
        directive.conversion = conversion;
        directive.flag = flag;
        directive.width = width;
        one.format.directives.push_back(directive);
        one.args.push_back(value);
        one.literal("'");
        return one;
    };
    Text narrow = quoted("'", plan::Directive::Char, 'c', '#', -1);
    if (size == 1) {
        text.literal("'");
        text.format.directives.push_back(narrow.format.directives[1]);
        text.args.push_back(value);
        return text.literal("'");
    }
    const int digits = size == 2 ? 4 : 8;
    hir::Expr* wide = finish(quoted(size == 2 ? "'\\u" : "'\\U", plan::Directive::Integer, 'X', '0', digits));
    hir::Expr* is_narrow = binary(hir::BinaryOp::Lt, value, number(one_byte));
    add_text(text, make<hir::Ternary>(expr_.range, is_narrow, finish(std::move(narrow)), wide));
}

// Of a pointer to char16_t or char32_t the string, decoded and in quotes; null for any other pointer.
hir::Expr* TargetBinder::wide_string(const Place& place, hir::Expr* address) {
    const Type* unit = strip(strip(place.type)->target);
    if (!binder_.call || !unit || unit->kind != Type::Character || unit->name == "char" ||
        (unit->size != 2 && unit->size != 4))
        return nullptr;
    const std::string name =
        std::string(place.kernel ? "kernel" : "user") + "_string_quoted_utf" + (unit->size == 2 ? "16" : "32");
    return make<hir::Guarded>(expr_.range, binder_.call(name.c_str(), {address}), string("?"));
}

void TargetBinder::add_pretty(Text& text, const Place& original, bool deep, int depth) {
    if (text.full() || depth > max_depth)
        return text.literal("...");
    // A member that cannot be read is a `?` among the others.
    Diagnostics::Suppress quiet(binder_.diags);
    std::optional<Place> place = without_references(original, expr_.range);
    const Type* type = place ? strip(place->type) : nullptr;
    if (!type)
        return text.literal("?");
    if (add_go(text, *place))
        return;
    bool open = depth == 0 || deep;
    switch (type->kind) {
    case Type::Struct:
    case Type::Union:
        if (add_known(text, *place, deep, depth))
            return;
        return open ? add_record(text, *place, deep, depth) : text.literal("{...}");
    case Type::Array:
        if (is_char(type->target) && place->address)
            return add_string(text, *place, address_of(*place),
                              type->count ? static_cast<int64_t>(*type->count) : max_string);
        return open ? add_array(text, *place, deep, depth) : text.literal("[...]");
    case Type::Function:
        if (hir::Expr* address = address_of(*place))
            return add_integer(text, address, 'x', '#');
        return text.literal("?");
    case Type::Integer:
    case Type::Boolean:
    case Type::Character:
    case Type::Enum:
    case Type::Pointer:
        break;
    case Type::Float: {
        constexpr int64_t digits = 6; // behind the point, as C's %f
        hir::Expr* bits = double_bits(*place, expr_.range);
        hir::Expr* number_text = bits && binder_.call ? binder_.call("fp_to_string", {bits, number(digits)}) : nullptr;
        return number_text ? add_text(text, number_text) : text.literal("?");
    }
    default:
        return text.literal("?");
    }
    hir::Expr* value = load(*place, expr_.range);
    if (!value)
        return text.literal("?");
    if (type->kind == Type::Boolean && type->name == "bool") // C's is `_Bool`
        return add_text(text, make<hir::Ternary>(expr_.range, value, string("true"), string("false")));
    constexpr size_t max_names = 64;
    if (type->kind == Type::Enum && !type->scope.empty() && type->enumerators.size() <= max_names)
        return add_text(text, enumerator_text(type, value));
    if (type->kind == Type::Character && type->name == "char" && type->size == 4) // Rust's
        return add_text(text, character_text(value));
    if (type->kind == Type::Character)
        return add_character(text, value, type->size);
    if (type->kind != Type::Pointer)
        return add_integer(text, value, type->is_signed ? 'd' : 'u', 0);
    if (is_char(type->target))
        return add_string(text, *place, value, max_string);
    if (hir::Expr* string_text = wide_string(*place, value))
        return add_text(text, string_text);
    if (add_rust_reference(text, type, value, deep, depth))
        return;
    if (depth == 0 && is_record(type->target)) {
        Place target = object_at(value, type->target);
        target.kernel = place->kernel;
        if (add_known(text, target, deep, depth))
            return;
        if (!complete(strip(target.type))->members.empty())
            return add_record(text, target, deep, depth);
    }
    add_integer(text, value, 'x', '#');
}

void TargetBinder::add_record(Text& text, const Place& place, bool deep, int depth) {
    const Type* record = strip(place.type);
    complete(record);
    text.literal("{");
    bool first = true;
    for (const TypeMember& member : record->members) {
        if (!first)
            text.literal(", ");
        first = false;
        if (text.full()) {
            text.literal("...");
            break;
        }
        if (!member.name.empty())
            text.literal("." + member.name + "=");
        add_pretty(text, inside(place, member), deep, depth + 1);
    }
    text.literal("}");
}

void TargetBinder::add_array(Text& text, const Place& place, bool deep, int depth) {
    const Type* array = strip(place.type);
    uint64_t size = size_of(array->target);
    uint64_t count = array->count.value_or(0);
    text.literal("[");
    for (uint64_t i = 0; i < count; i++) {
        if (i != 0)
            text.literal(", ");
        if (i == max_elements || text.full() || size == 0) {
            text.literal("...");
            break;
        }
        Place element = place;
        element.type = array->target;
        if (element.address)
            element.address = plus(element.address, static_cast<int64_t>(i * size));
        else
            element.offset += i * size;
        add_pretty(text, element, deep, depth + 1);
    }
    text.literal("]");
}

} // namespace sonde
