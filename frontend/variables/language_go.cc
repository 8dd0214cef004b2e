// Go's values that are records for the debug information, but one value for the programmer:
//
//     string   {str, len}          "abc"
//     []int    {array, len, cap}   [1, 2, 3]
//     map[string]int               {"a"=1, "b"=2}: a pointer to a table (go_maps.h)
//     chan int                     chan 2/4 [5, 6]: a pointer to a ring of elements
//     error    {tab, data}         an interface: the type of the value is known only at run time
//
// Strings, slices of numbers or strings, and interfaces are printed by functions in the script language
// (stdlib/go.stp).
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/variables/containers.h"
#include "frontend/variables/go_maps.h"
#include "frontend/variables/language.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/reading.h"

namespace sonde {

namespace {

// A channel: the elements are in a ring, from the place `recvx` on.
//
//     hchan<T>      qcount (the number of elements), dataqsiz (the capacity), buf, recvx, closed, recvq.first
//
// The element's type is that of `recvq.first->elem`.
bool is_channel(const Type* type) {
    type = strip(type);
    return type && type->kind == Type::Struct && type->name.starts_with("hchan<") && type->name.ends_with('>');
}

// The type to which the pointer at the end of the path points.
const Type* target_at(Binding& b, const Place& place, std::string_view path) {
    std::optional<Place> found = field(b, place, path);
    const Type* type = found ? strip(found->type) : nullptr;
    return type && type->kind == Type::Pointer ? type->target : nullptr;
}

// `chan 2/4 [5, 6]`: the number of elements and the capacity, and the elements.
bool add_channel(Binding& b, Text& text, const Place& channel, Level level) {
    hir::Expr *count = field_value(b, channel, "qcount"), *capacity = field_value(b, channel, "dataqsiz"),
              *buffer = field_value(b, channel, "buf"), *position = field_value(b, channel, "recvx"),
              *closed = field_value(b, channel, "closed");
    const Type* waiting = target_at(b, channel, "recvq.first");
    const Type* element = is_record(waiting) ? target_at(b, object_at(b.number(0), waiting), "elem") : nullptr;
    if (!count || !capacity || !buffer || !position || !closed || !element)
        return false;
    text.literal("chan ");
    text.add(b.ternary(closed, b.string("closed "), b.string("")));
    text.add_integer(count, 'd', 0);
    text.literal("/");
    text.add_integer(capacity, 'd', 0);
    if (size_of(element) == 0) // a chan struct{}
        return true;
    text.literal(" ");
    return add_sequence(b, text, {buffer, count, element, position, capacity}, level);
}

// A variable of a map's or channel's type is a pointer.
bool add_go_scalar(Binding& b, Text& text, const Type& type, hir::Expr* value, Level level) {
    if (type.kind != Type::Pointer || !b.binder.call)
        return false;
    const bool is_map = is_go_map(type.target);
    if (!is_map && !is_channel(type.target))
        return false;
    const Place target = object_at(value, type.target);
    Text inside;
    if (!(is_map ? add_go_map(b, inside, target, level) : add_channel(b, inside, target, level)))
        return false;
    hir::Expr* shown = b.make<hir::Guarded>(b.expr.range, std::move(inside).finish(b), b.string("?"));
    text.add(b.ternary(value, shown, b.string("nil")));
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
        if (!is_string && element->kind != Type::Integer)
            return add_sequence(b, text, elements_of(b, place), level);
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
