// Go's values that are records for the debug information, but one value for the programmer. How they are printed is
// written in the script language (stdlib/go.stp).
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/variables/language.h"
#include "frontend/variables/reading.h"

namespace sonde {
namespace {

bool is_go(const Type& record) {
    return record.kind == Type::Struct && (record.go_kind == Type::GoString || record.go_kind == Type::GoSlice ||
                                           record.name == "runtime.iface" || record.name == "runtime.eface");
}

bool add_go(Binding& b, Text& text, const Place& place, Level) {
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
        if (!element || !((is_scalar(element) && element->size != 0) || is_string))
            return false;
        add_call("__go_slice", {member("array"), member("len"), b.number(static_cast<int64_t>(element->size)),
                                b.number(is_string ? 2 : element->kind == Type::Integer && element->is_signed)});
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

const Language go_language = {.owns = is_go, .add = add_go, .behind_pointers = false};

} // namespace sonde
