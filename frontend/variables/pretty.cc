// A value is printed as C would write it: `{.name="bash", .pid=123, .next=0x5600...}`. The whole text is one printf,
// whose format and arguments are collected in a Text. Types are known when the script is compiled, so no type
// information is needed at the hit.
//
// Example: `$p$` with `struct point { int x, y; }` becomes sprintf("{.x=%i, .y=%i}", $p->x, $p->y).
//
// Three things can go wrong, and each has its own remedy:
// - A part cannot be read, for example behind a null pointer. Each such part is guarded, and becomes `?` or the bare
//   address. The rest is still printed.
// - The value is large. The numbers of elements, levels and characters are limited (max_elements and others).
// - The number of elements is known only at run time. A function with a loop is generated (loops.cc).
#include "frontend/variables/pretty.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "frontend/variables/bind.h"
#include "frontend/variables/components.h"
#include "frontend/variables/language.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/reading.h"

namespace sonde {
namespace {

constexpr uint64_t max_elements = 32;
constexpr int max_depth = 16;
constexpr int64_t max_string = 512;

} // namespace

hir::Expr* pretty_text(Binding& b) {
    std::optional<Place> place = find_place(b, b.expr.components.size() - 1);
    if (!place)
        return nullptr;
    Text text;
    add_value(b, text, *std::move(place), b.pretty_depth() == 2);
    hir::Expr* result = std::move(text).finish_guarded(b);
    if (!b.held)
        return result;
    // `held || 1` is always true, and evaluates `held` first.
    auto* first = b.make<hir::Logical>(b.expr.range, false, b.held, b.number(1));
    return b.ternary(first, result, b.string(""));
}

void add_value(Binding& b, Text& text, Place place, bool deep) {
    if (!place.at_entry)
        return add_pretty(b, text, place, {.deep = deep});
    place.at_entry = false;
    Text whole;
    add_pretty(b, whole, place, {.deep = deep});
    text.add(b.saved(std::move(whole).finish_guarded(b), true));
}

hir::Expr* text_of(Binding& b, const Place& place, Level level) {
    Text text;
    add_pretty(b, text, place, level);
    return std::move(text).finish(b);
}

namespace {

// The string that a pointer points to.
hir::Expr* read_string(Binding& b, const Place& place, hir::Expr* address) {
    const char* reader = place.kernel ? "__kernel_string_quoted" : "__user_string_quoted";
    return b.make<hir::Intrinsic>(b.expr.range, reader, hir::ValueType::String,
                                  std::vector<hir::Expr*>{address, b.number(max_string)});
}

// The text in an array; the array need not contain a NUL.
hir::Expr* read_array(Binding& b, const Place& place, hir::Expr* address, uint64_t count) {
    const char* reader = place.kernel ? "__kernel_array_quoted" : "__user_array_quoted";
    return b.make<hir::Intrinsic>(b.expr.range, reader, hir::ValueType::String,
                                  std::vector<hir::Expr*>{address, b.number(static_cast<int64_t>(count))});
}

// `unsigned char` under any name, but not C++'s char8_t.
bool is_byte(const Type* type) {
    type = strip(type);
    return type && type->kind == Type::Character && type->size == 1 && !type->is_signed &&
           type->name == "unsigned char";
}

// The string that a pointer points to, or the address if it cannot be read, so that the rest is still printed.
hir::Expr* string_or_address(Binding& b, hir::Expr* string, hir::Expr* address) {
    Text number;
    number.add_integer(address, 'x', '#');
    return b.make<hir::Guarded>(b.expr.range, string, std::move(number).finish(b));
}

// A character as a constant in C: 'A', '\n', '\303'. If a character of two or four bytes does not fit into one byte, it
// is printed like '\u20AC'.
void add_character(Binding& b, Text& text, hir::Expr* value, uint64_t size) {
    constexpr int64_t one_byte = 0x100;
    auto add_quoted = [&](Text& out, const char* before, const plan::Directive& directive) {
        out.literal(before);
        out.add(directive, value);
        out.literal("'");
    };
    plan::Directive character;
    character.kind = plan::Directive::Char;
    character.conversion = 'c';
    character.flag = '#';
    if (size == 1)
        return add_quoted(text, "'", character);
    plan::Directive digits;
    digits.kind = plan::Directive::Integer;
    digits.conversion = 'X';
    digits.flag = '0';
    digits.width = size == 2 ? 4 : 8;
    Text narrow, wide;
    add_quoted(narrow, "'", character);
    add_quoted(wide, size == 2 ? "'\\u" : "'\\U", digits);
    hir::Expr* wide_text = std::move(wide).finish(b);
    hir::Expr* is_narrow = b.binary(hir::BinaryOp::Lt, value, b.number(one_byte));
    text.add(b.ternary(is_narrow, std::move(narrow).finish(b), wide_text));
}

// For a pointer to char16_t or char32_t: the decoded string in quotes. Null for any other pointer.
hir::Expr* wide_string(Binding& b, const Place& place, hir::Expr* address) {
    const Type* unit = strip(strip(place.type)->target);
    if (!b.binder.call || !unit || unit->kind != Type::Character || unit->name == "char" ||
        (unit->size != 2 && unit->size != 4))
        return nullptr;
    const std::string name =
        std::string(place.kernel ? "kernel" : "user") + "_string_quoted_utf" + (unit->size == 2 ? "16" : "32");
    return string_or_address(b, b.binder.call(name.c_str(), {address}), address);
}

// The enumerator's name, or the number if it has no name.
hir::Expr* enumerator_text(Binding& b, const Type* type, hir::Expr* value) {
    Text number_text;
    number_text.add_integer(value, type->is_signed ? 'd' : 'u', 0);
    hir::Expr* text = std::move(number_text).finish(b);
    for (const Enumerator& one : type->enumerators)
        text = b.ternary(b.binary(hir::BinaryOp::Eq, value, b.number(one.value)), b.string(one.name), text);
    return text;
}

// Adds a number, character or pointer.
void add_scalar(Binding& b, Text& text, const Place& place, hir::Expr* value, Level level) {
    const Type* type = strip(place.type);
    if (add_scalar_in_language(b, text, *type, value, level))
        return;
    if (type->kind == Type::Boolean && type->name == "bool") // C's type is `_Bool`
        return text.add(b.ternary(value, b.string("true"), b.string("false")));
    constexpr size_t max_names = 64;
    if (type->kind == Type::Enum && !type->scope.empty() && type->enumerators.size() <= max_names)
        return text.add(enumerator_text(b, type, value));
    if (type->kind == Type::Character)
        return add_character(b, text, value, type->size);
    if (type->kind != Type::Pointer)
        return text.add_integer(value, type->is_signed ? 'd' : 'u', 0);
    if (is_char(type->target))
        return text.add(string_or_address(b, read_string(b, place, value), value));
    if (hir::Expr* string_text = wide_string(b, place, value))
        return text.add(string_text);
    if (level.depth == 0 && is_record(type->target)) {
        Place target = object_at(value, type->target);
        target.kernel = place.kernel;
        Text record;
        bool is_shown = add_in_language(b, record, target, true, level);
        if (!is_shown && !complete(strip(target.type))->members.empty()) {
            add_record(b, record, target, level);
            is_shown = true;
        }
        if (is_shown) // a null pointer is a value, unlike a variable that is not available
            return text.add(string_or_address(b, std::move(record).finish(b), value));
    }
    text.add_integer(value, 'x', '#');
}

// Adds a number of 16 bytes: in decimal if it fits into the lower half, otherwise in hexadecimal.
void add_long_integer(Binding& b, Text& text, const Place& place) {
    constexpr int half = 8, half_bits = 64;
    static const Type word = integer_type("unsigned long", half, false);
    const bool is_signed = strip(place.type)->is_signed;
    Place lower = place;
    lower.type = &word;
    const TypeMember upper = {.name = "", .type = &word, .byte_offset = half};
    hir::Expr* low = load(b, lower, b.expr.range);
    hir::Expr* high = low ? load(b, inside(b, place, upper), b.expr.range) : nullptr;
    if (!high)
        return text.literal("?");
    hir::Expr* sign = is_signed ? b.binary(hir::BinaryOp::Shr, low, b.number(half_bits - 1)) : b.number(0);
    plan::Directive digits;
    digits.kind = plan::Directive::Integer;
    digits.conversion = 'x';
    digits.flag = '0';
    digits.width = 2 * half;
    Text narrow, wide;
    narrow.add_integer(low, is_signed ? 'd' : 'u', 0);
    wide.add_integer(high, 'x', '#');
    wide.add(digits, low);
    hir::Expr* narrow_text = std::move(narrow).finish(b);
    text.add(b.ternary(b.binary(hir::BinaryOp::Eq, high, sign), narrow_text, std::move(wide).finish(b)));
}

// (1.5, 2.5)
void add_complex(Binding& b, Text& text, const Place& place, Level level) {
    static const std::array<Type, 3> numbers = [] {
        std::array<Type, 3> types;
        for (size_t i = 0; i < types.size(); i++) {
            types[i].kind = Type::Float;
            types[i].size = uint64_t{4} << i;
        }
        return types;
    }();
    const auto part = std::ranges::find(numbers, size_of(place.type) / 2, &Type::size);
    if (part == numbers.end())
        return text.literal("?");
    Place first = place;
    first.type = &*part;
    TypeMember second = {.name = "", .type = first.type, .byte_offset = part->size};
    text.literal("(");
    add_pretty(b, text, first, level.inside());
    text.literal(", ");
    add_pretty(b, text, inside(b, place, second), level.inside());
    text.literal(")");
}

// The same array of bytes, printed as numbers.
Place as_numbers(Binding& b, Place place) {
    static const Type byte = integer_type("unsigned char", 1, false);
    auto* numbers = b.binder.arena.make<Type>(*strip(place.type));
    numbers->target = &byte;
    place.type = numbers;
    return place;
}

// Bytes are printed as text if they are printable up to the first zero, and zero from there on. `unsigned char` is also
// used for addresses, hashes and keys, which are printed as numbers. So {'e', 't', 'h', '0', 0, 0} is "eth0", but the
// hardware address {0, 0x1b, 0x21, 5, 6, 7} is a list. The choice is made at run time, by __is_byte_text().
void add_bytes_or_text(Binding& b, Text& text, const Place& place, hir::Expr* first, Level level) {
    constexpr uint64_t word = 8, most_words = 4;
    const uint64_t count = *strip(place.type)->count;
    hir::Expr* quoted = read_array(b, place, first, count);
    // Bytes after the text are checked in short arrays only.
    std::vector<hir::Expr*> arguments = {quoted};
    for (uint64_t at = 0; at < most_words * word; at += word) {
        hir::Expr* bytes = b.number(0);
        for (uint64_t i = at; i < std::min(count, at + word) && count <= most_words * word; i++) {
            hir::Expr* one = read(b, place, b.expr.range, b.plus(first, static_cast<int64_t>(i)), 1, false);
            bytes = b.binary(hir::BinaryOp::Or, bytes,
                             b.binary(hir::BinaryOp::Shl, one, b.number(static_cast<int64_t>((i - at) * 8))));
        }
        arguments.push_back(bytes);
    }
    Text list;
    add_array(b, list, as_numbers(b, place), level);
    hir::Expr* is_text = b.binder.call("__is_byte_text", std::move(arguments));
    text.add(b.ternary(is_text, quoted, std::move(list).finish(b)));
}

} // namespace

void add_pretty(Binding& b, Text& text, const Place& original, Level level) {
    if (text.is_full() || level.depth > max_depth)
        return text.literal("...");
    // A member that cannot be read is printed as `?`.
    Diagnostics::Suppress quiet(b.binder.diags);
    std::optional<Place> place = without_references(b, original, b.expr.range);
    const Type* type = place ? strip(place->type) : nullptr;
    switch (type ? type->kind : Type::Void) {
    case Type::Struct:
    case Type::Union:
        if (add_in_language(b, text, *place, false, level))
            return;
        return level.is_open() ? add_record(b, text, *place, level) : text.literal("{...}");
    case Type::Array:
        if (is_char(type->target) && place->address && (type->count || !type->unterminated) && type->stride.empty()) {
            hir::Expr* first = b.saved(first_element(b, *place), place->at_entry);
            if (type->count && is_byte(type->target) && b.binder.call)
                return add_bytes_or_text(b, text, *place, first, level);
            return text.add(type->count ? read_array(b, *place, first, *type->count) : read_string(b, *place, first));
        }
        // The length of a flexible array member is unknown.
        if (!level.is_open() || !type->count)
            return text.literal("[...]");
        return add_array(b, text, is_byte(type->target) ? as_numbers(b, *place) : *place, level);
    case Type::Function:
        if (hir::Expr* address = address_of(b, *place))
            return text.add_integer(address, 'x', '#');
        return text.literal("?");
    case Type::Float: {
        if (type->is_complex)
            return add_complex(b, text, *place, level);
        constexpr int64_t digits = 6; // digits after the point, as in C's %f
        hir::Expr* bits = double_bits(b, *place, b.expr.range);
        hir::Expr* number = bits && b.binder.call ? b.binder.call("fp_to_string", {bits, b.number(digits)}) : nullptr;
        return number ? text.add(number) : text.literal("?");
    }
    case Type::Integer:
    case Type::Boolean:
    case Type::Character:
    case Type::Enum:
    case Type::Pointer:
        if (type->size == 0 && type->name == "()") // Rust's unit value
            return text.literal("()");
        if (size_of(type) == 16 && type->kind == Type::Integer)
            return add_long_integer(b, text, *place);
        if (place->pointee && type->kind == Type::Pointer && level.depth == 0 && is_record(type->target)) {
            Place target = *place->pointee; // only the object is known, not its address
            target.type = type->target;
            return add_record(b, text, target, level);
        }
        if (hir::Expr* value = load(b, *place, b.expr.range))
            return add_scalar(b, text, *place, value, level);
        return text.literal("?");
    default:
        return text.literal("?");
    }
}

void add_record(Binding& b, Text& text, const Place& place, Level level) {
    const Type* record = strip(place.type);
    complete(record);
    text.literal("{");
    bool first = true;
    for (const TypeMember& member : record->members) {
        if (!first)
            text.literal(", ");
        first = false;
        if (text.is_full()) {
            text.literal("...");
            break;
        }
        if (!member.name.empty())
            text.literal("." + member.name + "=");
        add_pretty(b, text, inside(b, place, member), level.inside());
    }
    text.literal("}");
}

void add_array(Binding& b, Text& text, const Place& place, Level level) {
    const Type* array = strip(place.type);
    uint64_t size = size_of(array->target);
    uint64_t count = array->count.value_or(0);
    text.literal("[");
    for (uint64_t i = 0; i < count; i++) {
        if (i != 0)
            text.literal(", ");
        if (i == max_elements || text.is_full() || size == 0) {
            text.literal("...");
            break;
        }
        Place element = place;
        element.type = array->target;
        if (element.address)
            element.address = b.plus(element.address, static_cast<int64_t>(i * size));
        else
            element.offset += i * size;
        add_pretty(b, text, element, level.inside());
    }
    text.literal("]");
}

} // namespace sonde
