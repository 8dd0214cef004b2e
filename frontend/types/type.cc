// Operations on types: removing qualifiers, printing names, and finding members through anonymous members and base
// classes.
//
// Types come from debug information, which may be corrupt. Therefore every traversal has a limit: a cycle of typedefs,
// or a record that contains itself, must not cause an endless loop.
#include "frontend/types/type.h"

#include <set>

#include <fmt/format.h>

namespace sonde {
namespace {

constexpr int max_depth = 64;
constexpr size_t max_records = 4096; // maximum number of records in which one name is searched

const Type unknown_type = [] {
    Type type;
    type.kind = Type::Unknown;
    type.name = "<unknown>";
    return type;
}();

bool is_wrapper(const Type* type) {
    switch (type->kind) {
    case Type::Typedef:
    case Type::Const:
    case Type::Volatile:
    case Type::Restrict:
    case Type::Atomic:
        return true;
    default:
        return false;
    }
}

bool is_record(const Type* type) { return type && (type->kind == Type::Struct || type->kind == Type::Union); }

// If the member's own members can be accessed without its name, returns the record; else null.
const Type* transparent(const TypeMember& member) {
    if (!member.name.empty() && !member.is_base && !member.is_embedded)
        return nullptr;
    const Type* type = strip(member.type);
    if (member.is_embedded && type && type->kind == Type::Pointer)
        type = strip(type->target);
    return is_record(type) ? type : nullptr;
}

// Appends a step to the path. If the member has a known offset in the previous step's record, the two become one step.
void add_step(std::vector<TypeMember>& path, const TypeMember& member) {
    if (!path.empty() && !member.in_vtable && !path.back().in_vtable && is_record(strip(path.back().type))) {
        uint64_t before = path.back().byte_offset;
        path.back() = member;
        path.back().byte_offset += before;
    } else {
        path.push_back(member);
    }
}

std::string tagged(const char* keyword, const Type* type) {
    return type->name.empty() ? fmt::format("{} {{...}}", keyword) : fmt::format("{} {}", keyword, type->name);
}

// C declarators are nested inside out: `declarator` is the text around the place of the name.
std::string spell(const Type* type, std::string declarator, int depth) {
    if (!type)
        return "void" + declarator;
    if (depth >= max_depth)
        return "<unknown>" + declarator;
    auto qualify = [&](const char* word) {
        return spell(type->target, fmt::format(" {}{}", word, declarator), depth + 1);
    };
    // A pointer to an array or a function needs parentheses; other pointers do not.
    auto point = [&](const char* star) {
        const Type* target = type->target;
        bool group = target && (target->kind == Type::Array || target->kind == Type::Function);
        return spell(target, group ? fmt::format(" ({}{})", star, declarator) : star + declarator, depth + 1);
    };
    if (type->go_kind != Type::NotGo && !type->name.empty())
        return type->name + declarator;
    // Go's name for a type argument in a generic function.
    if (type->kind == Type::Typedef && type->name.starts_with('.'))
        return spell(type->target, std::move(declarator), depth + 1);
    switch (type->kind) {
    case Type::Void:
        return "void" + declarator;
    case Type::Struct:
        return tagged("struct", type) + declarator;
    case Type::Union:
        return tagged("union", type) + declarator;
    case Type::Enum:
        return tagged("enum", type) + declarator;
    case Type::Const:
        // In C, a constant array is an array of constant elements.
        if (type->target && type->target->kind == Type::Array)
            return spell(type->target, declarator, depth + 1);
        return qualify("const");
    case Type::Volatile:
        return qualify("volatile");
    case Type::Restrict:
        return qualify("restrict");
    case Type::Atomic:
        return qualify("_Atomic");
    case Type::Pointer:
        return point("*");
    case Type::Reference:
        return point("&");
    case Type::Array:
        return spell(type->target, type->count ? fmt::format("{}[{}]", declarator, *type->count) : declarator + "[]",
                     depth + 1);
    case Type::Function: {
        std::string parameters;
        for (const TypeMember& member : type->members) {
            if (!parameters.empty())
                parameters += ", ";
            parameters += member.name == "..." && !member.type ? "..." : spell(member.type, "", depth + 1);
        }
        if (declarator.empty())
            declarator = " ";
        return spell(type->target, fmt::format("{}({})", declarator, parameters.empty() ? "void" : parameters),
                     depth + 1);
    }
    case Type::Integer:
    case Type::Boolean:
    case Type::Character:
    case Type::Float:
    case Type::Typedef:
    case Type::Unknown:
        break;
    }
    return (type->name.empty() ? "<unknown>" : type->name) + declarator;
}

} // namespace

const Type* strip(const Type* type) {
    for (int depth = 0; type && is_wrapper(type); depth++) {
        if (depth >= max_depth)
            return &unknown_type;
        type = type->target;
    }
    return type;
}

// Records are filled in by their reader when somebody first looks at them.
const Type* complete(const Type* type) {
    const Type* record = strip(type);
    if (!is_record(record))
        return type;
    if (record->source) {
        // The owner created the object as a non-const Type and shares it as const. Completing it later is the owner's
        // task. `source` is cleared first, so that a record that contains itself terminates.
        Type& object = const_cast<Type&>(*record);
        TypeSource* source = object.source;
        object.source = nullptr;
        source->complete(object);
    }
    // The size of a declared type becomes known now; update the typedefs and qualifiers that copied the old one.
    for (const Type* wrapper = type; wrapper != record; wrapper = wrapper->target)
        if (wrapper->size != record->size)
            const_cast<Type*>(wrapper)->size = record->size;
    return type;
}

std::string type_name(const Type* type) { return spell(type, "", 0); }

std::vector<TypeMember> find_member_path(const Type* record, std::string_view name) {
    record = strip(record);
    if (!is_record(record) || name.empty())
        return {};
    struct Reached {
        const Type* record;
        std::vector<TypeMember> path;
    };
    // Breadth-first: all members at one depth come before those of the records inside them.
    // Search in order of depth: a record's own name hides an inherited one.
    std::vector<Reached> reached = {{record, {}}};
    std::set<const Type*> seen = {record};
    for (size_t i = 0; i < reached.size() && i < max_records; i++) {
        const Reached from = reached[i];
        complete(from.record);
        for (const TypeMember& member : from.record->members)
            if (!member.is_base && member.name == name) {
                std::vector<TypeMember> path = from.path;
                add_step(path, member);
                // The next step of the path needs the record that the member contains or points to.
                const Type* next = strip(member.type);
                for (int depth = 0; next && depth < max_depth && !is_record(next) && next->target; depth++)
                    next = strip(next->target);
                complete(next);
                return path;
            }
        for (const TypeMember& member : from.record->members)
            if (const Type* inner = transparent(member); inner && seen.insert(inner).second) {
                reached.push_back({inner, from.path});
                add_step(reached.back().path, member);
            }
    }
    return {};
}

std::optional<TypeMember> find_member(const Type* record, std::string_view name) {
    std::vector<TypeMember> path = find_member_path(record, name);
    return path.size() == 1 ? std::optional(path[0]) : std::nullopt;
}

std::optional<int64_t> find_member_enumerator(const Type* record, std::string_view name) {
    record = strip(record);
    std::vector<const Type*> reached = {record};
    std::set<const Type*> seen = {record};
    for (size_t i = 0; is_record(record) && i < reached.size() && i < max_records; i++) {
        complete(reached[i]);
        for (const Enumerator& one : reached[i]->enumerators)
            if (one.name == name)
                return one.value;
        for (const TypeMember& member : reached[i]->members)
            if (const Type* inner = transparent(member); inner && seen.insert(inner).second)
                reached.push_back(inner);
    }
    return std::nullopt;
}

std::vector<std::string> member_names(const Type* record) {
    std::vector<std::string> names;
    record = strip(record);
    std::set<const Type*> seen;
    // The recursion keeps the names in the order of the source.
    auto add = [&](auto&& self, const Type* from) -> void {
        if (!seen.insert(from).second || seen.size() > max_records)
            return;
        complete(from);
        for (const TypeMember& member : from->members) {
            if (!member.name.empty() && !member.is_base)
                names.push_back(member.name);
            if (const Type* inner = transparent(member))
                self(self, inner);
        }
    };
    if (is_record(record))
        add(add, record);
    return names;
}

void place_bits(TypeMember& member, uint64_t position, uint64_t unit) {
    if (unit == 0 || unit > 8)
        unit = 8;
    member.byte_offset = position / (unit * 8) * unit;
    member.bit_offset = static_cast<uint32_t>(position - member.byte_offset * 8);
    if (member.bit_offset + member.bit_size > unit * 8) { // a packed field that spans two units
        member.byte_offset = position / 8;
        member.bit_offset = static_cast<uint32_t>(position % 8);
    }
}

Type integer_type(std::string name, uint64_t size, bool is_signed) {
    Type out;
    out.kind = Type::Integer;
    out.name = std::move(name);
    out.size = size;
    out.is_signed = is_signed;
    return out;
}

bool is_scalar(const Type* type) {
    type = strip(type);
    if (!type)
        return false;
    switch (type->kind) {
    case Type::Integer:
    case Type::Boolean:
    case Type::Character:
    case Type::Enum:
    case Type::Pointer:
    case Type::Reference:
        return true;
    default:
        return false;
    }
}

} // namespace sonde
