#include "frontend/variables/layout.h"

#include <algorithm>

namespace sonde {

uint64_t size_of(const Type* type) {
    type = strip(type);
    if (!type)
        return 0;
    complete(type);
    if (type->kind == Type::Array)
        return type->count ? *type->count * size_of(type->target) : type->size;
    if (type->size == 0 && (type->kind == Type::Pointer || type->kind == Type::Reference))
        return 8;
    return type->size;
}

bool is_char(const Type* type) {
    type = strip(type);
    return type && type->kind == Type::Character && type->size == 1;
}

bool is_record(const Type* type) {
    type = strip(type);
    return type && (type->kind == Type::Struct || type->kind == Type::Union);
}

// Debug information has an alignment only where the source code sets one. So this derives the usual one: a number is
// aligned to its size, and a record like the member with the largest alignment.
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

std::string_view template_name(const Type* type) {
    std::string_view name = strip(type)->name;
    return name.substr(0, name.find('<'));
}

const Type* template_argument(const Type* type, size_t index) {
    type = strip(type);
    return type && index < type->arguments.size() ? type->arguments[index] : nullptr;
}

} // namespace sonde
