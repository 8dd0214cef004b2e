// Values of Go as text: what is a record for the debug information, and one thing for who wrote the program. How they
// print is written in the language (stdlib/go.stp).
#include "frontend/variables/binding.h"

namespace sonde {

bool TargetBinder::add_go(Text& text, const Place& place) {
    const Type* type = strip(place.type);
    if (type->kind != Type::Struct || !binder_.call)
        return false;
    auto read = [&](const char* name) -> hir::Expr* {
        std::optional<TypeMember> member = find_member(type, name);
        if (!member)
            return nullptr;
        Place part = member_place(place, *member);
        if (part.address)
            part.address = plus(part.address, static_cast<int64_t>(member->byte_offset));
        return load(part, expr_.range);
    };
    auto add_call = [&](const char* function, std::vector<hir::Expr*> args) {
        for (hir::Expr* arg : args)
            if (!arg)
                return text.literal("?");
        if (hir::Expr* made = binder_.call(function, std::move(args)))
            add_text(text, made);
    };
    if (type->go_kind == Type::GoString) {
        add_call("__go_string", {read("str"), read("len")});
    } else if (std::optional<TypeMember> array = find_member(type, "array"); type->go_kind == Type::GoSlice && array) {
        const Type* element = strip(strip(array->type)->target);
        bool is_string = element && element->go_kind == Type::GoString;
        if (element && ((is_scalar(element) && element->size != 0) || is_string))
            add_call("__go_slice", {read("array"), read("len"), number(static_cast<int64_t>(element->size)),
                                    number(is_string ? 2 : element->kind == Type::Integer && element->is_signed)});
        else
            return false;
    } else if (type->name == "runtime.iface") {
        add_call("__go_interface", {read("tab"), read("data")});
    } else if (type->name == "runtime.eface") {
        add_call("__go_value", {read("_type"), read("data")});
    } else {
        return false;
    }
    return true;
}

} // namespace sonde
