#include "frontend/variables/place.h"

#include <algorithm>

#include "base/check.h"
#include "frontend/variables/reading.h"

namespace sonde {

Place object_at(hir::Expr* address, const Type* type) {
    Place place;
    place.type = type;
    place.address = address;
    return place;
}

// The part has 8 bytes whatever the type's size is; reading truncates it to the type.
Place value_place(const Type* type, hir::Expr* value) {
    Place place;
    place.type = type;
    place.parts.push_back({0, 8, PlacePart::Value, value, ""});
    return place;
}

Place constant_place(Binding& b, int64_t value) {
    static const Type type = integer_type("long", 8, true);
    return value_place(&type, b.number(value));
}

const PlacePart* part_at(const Place& place, uint64_t offset) {
    for (const PlacePart& part : place.parts)
        if (offset >= part.offset && offset - part.offset < part.size)
            return &part;
    return nullptr;
}

// Runs the steps of a descriptor at translation time: the stack has expressions, and the result is one expression.
hir::Expr* follow_steps(Binding& b, const Place& array, const std::vector<ArrayStep>& steps) {
    hir::Expr* own = array.descriptor ? array.descriptor : array.address;
    if (!own)
        return nullptr;
    constexpr uint64_t word = 8;
    std::vector<hir::Expr*> stack;
    auto pop = [&] {
        CHECK(!stack.empty()); // the reader has checked the counts
        hir::Expr* top = stack.back();
        stack.pop_back();
        return top;
    };
    for (const ArrayStep& step : steps) {
        switch (step.kind) {
        case ArrayStep::Object:
            stack.push_back(own);
            break;
        case ArrayStep::Number:
            stack.push_back(b.number(step.number));
            break;
        case ArrayStep::Load:
            stack.push_back(read(b, array, b.expr.range, pop(), word, true));
            break;
        default: {
            hir::Expr* right = pop();
            hir::Expr* left = pop();
            stack.push_back(b.binary(step.kind == ArrayStep::Add        ? hir::BinaryOp::Add
                                     : step.kind == ArrayStep::Subtract ? hir::BinaryOp::Sub
                                                                        : hir::BinaryOp::Mul,
                                     left, right));
        }
        }
    }
    return pop();
}

hir::Expr* first_element(Binding& b, const Place& array) {
    const Type* type = strip(array.type);
    return type->elements.empty() ? array.address : follow_steps(b, array, type->elements);
}

// The offset of a virtual base is in the virtual table: read the table's address from the object, then the distance.
Place inside(Binding& b, const Place& record, const TypeMember& member) {
    Place place = record;
    place.type = member.type;
    place.offset += member.byte_offset;
    place.bit_offset = member.bit_offset;
    place.bit_size = member.bit_size;
    if (!member.in_vtable) {
        if (place.address)
            place.address = b.plus(place.address, static_cast<int64_t>(member.byte_offset));
    } else if (place.address) {
        constexpr uint64_t word = 8;
        hir::Expr* table = read(b, record, b.expr.range, record.address, word, false);
        hir::Expr* distance = read(b, record, b.expr.range, b.plus(table, *member.in_vtable), word, true);
        place.address = b.binary(hir::BinaryOp::Add, record.address, distance);
    } else {
        place.offset = 0;
        place.parts = {
            {0, UINT64_MAX, PlacePart::Missing, nullptr, "is a virtual base of an object that is not in memory"}};
    }
    return place;
}

std::optional<Place> field(Binding& b, Place place, std::string_view path) {
    while (!path.empty()) {
        size_t dot = std::min(path.find('.'), path.size());
        std::optional<TypeMember> found = find_member(place.type, path.substr(0, dot));
        if (!found)
            return std::nullopt;
        place = inside(b, place, *found);
        path.remove_prefix(std::min(dot + 1, path.size()));
    }
    return place;
}

} // namespace sonde
