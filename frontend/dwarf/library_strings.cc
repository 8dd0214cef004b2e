// The layout of std::string in libstdc++ since GCC 5: a pointer to the characters, the length, and a union of the
// capacity with a buffer of 16 bytes for short strings. Older strings (without __cxx11) are only a pointer; the length
// precedes the characters in memory.
#include "frontend/dwarf/library_strings.h"

#include <string_view>

#include "frontend/dwarf/type_reader.h"

namespace sonde {
namespace {

struct CharacterType {
    std::string_view name;
    uint64_t size;
};

// The character types for which libstdc++ contains instances.
constexpr CharacterType characters[] = {{"char", 1}, {"wchar_t", 4}, {"char16_t", 2}, {"char32_t", 4}, {"char8_t", 1}};

constexpr std::string_view string_of = "basic_string<";

// Returns the character type if the text begins with `basic_string<char, ..., std::allocator<char> >`. For other
// allocators, the program contains the instance and its definition.
const CharacterType* character_of(std::string_view text) {
    if (!text.starts_with(string_of) || text.find("std::allocator<") == std::string_view::npos)
        return nullptr;
    text.remove_prefix(string_of.size());
    for (const CharacterType& one : characters)
        if (text.starts_with(one.name) && text.substr(one.name.size()).starts_with(','))
            return &one;
    return nullptr;
}

const Type* number_type(TypeReader& types, std::string_view name, uint64_t size, Type::Kind kind) {
    Type& type = types.add();
    type.kind = kind;
    type.name = name;
    type.size = size;
    type.is_signed = name == "char" || name == "wchar_t";
    return &type;
}

Type& record_type(TypeReader& types, Type::Kind kind, std::string_view name, uint64_t size) {
    Type& type = types.add();
    type.kind = kind;
    type.name = name;
    type.size = size;
    return type;
}

void describe_pointer_holder(TypeReader& types, const Type* character, Type& record) {
    Type& pointer = types.add();
    pointer.kind = Type::Pointer;
    pointer.size = 8;
    pointer.target = character;
    record.size = pointer.size;
    record.members = {{.name = "_M_p", .type = &pointer}};
}

} // namespace

bool describe_library_string(TypeReader& types, Type& record) {
    std::string_view scope = record.scope;
    bool is_std = scope.starts_with("std::");
    size_t inside = scope.rfind(string_of);
    if (is_std && record.name == "_Alloc_hider" && inside != std::string_view::npos) {
        const CharacterType* known = character_of(scope.substr(inside));
        if (known)
            describe_pointer_holder(types, number_type(types, known->name, known->size, Type::Character), record);
        return known != nullptr;
    }
    const CharacterType* known = is_std ? character_of(record.name) : nullptr;
    if (!known)
        return false;
    const Type* character = number_type(types, known->name, known->size, Type::Character);
    Type& holder = record_type(types, Type::Struct, "_Alloc_hider", 0);
    describe_pointer_holder(types, character, holder);
    record.arguments = {character};
    record.members = {{.name = "_M_dataplus", .type = &holder}};
    record.size = holder.size;
    if (scope != "std::__cxx11::") // in the older string, the length precedes the characters
        return true;
    const Type* size = number_type(types, "unsigned long", 8, Type::Integer);
    constexpr uint64_t buffer_bytes = 16;
    Type& buffer = types.add();
    buffer.kind = Type::Array;
    buffer.target = character;
    buffer.count = buffer_bytes / known->size;
    buffer.size = buffer_bytes;
    Type& either = record_type(types, Type::Union, "", buffer_bytes);
    either.members = {{.name = "_M_local_buf", .type = &buffer}, {.name = "_M_allocated_capacity", .type = size}};
    record.members.push_back({.name = "_M_string_length", .type = size, .byte_offset = 8});
    record.members.push_back({.name = "", .type = &either, .byte_offset = 16});
    record.size = 16 + buffer_bytes;
    return true;
}

} // namespace sonde
