// One interned Type over DWARF (and later BTF): what a `$variable` is, how big, with which members.
//
// Types are owned by the debug-information reader that made them (dwarf/dwarf_module.h) and live as long as it.
// Structs are completed lazily: ask complete() before looking at members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

struct Type;

// Fills in a record's members when somebody asks for them (complete()); implemented by the reader that owns the type.
class TypeSource {
  public:
    virtual void complete(Type& record) = 0;

  protected:
    ~TypeSource() = default;
};

struct TypeMember {
    std::string
        name; // empty: anonymous struct or union, whose members are reached through it; C++ bases: the base's name
    const Type* type = nullptr;
    uint64_t byte_offset = 0; // of the storage unit to load
    uint32_t bit_offset = 0;  // bitfields: least significant bit within the unit of type->size bytes (little endian)
    uint32_t bit_size = 0;    // 0: not a bitfield
    bool is_base = false;     // C++ base class: its members are reached through it, like an anonymous member's
    // Go's embedded field: the members of its type, or of what it points to, are reached by their names alone, too.
    bool is_embedded = false;
    // A virtual base: how far from where the object's table of virtual functions begins its offset in the object
    // stands, in bytes (Itanium C++ ABI, section 2.5.2). `byte_offset` is 0 then.
    std::optional<int64_t> in_vtable = std::nullopt;
};

struct Enumerator {
    std::string name;
    int64_t value;
};

// One form of a tagged union (Rust's enums): what it holds is there while the tag has its value.
struct TypeVariant {
    std::optional<int64_t> tag; // none: the form for all other values
    size_t member = 0;          // in `members`
};

// One step from an array's own address, on a stack, to where its elements are or how far apart they are, where the
// program keeps that in a descriptor (Fortran, Pascal). DWARF 5, section 5.18.
struct ArrayStep {
    enum Kind { Object, Number, Add, Subtract, Multiply, Load } kind; // Object: the array's own address
    int64_t number = 0;
};

struct Type {
    enum Kind {
        Void,
        Integer,
        Boolean,
        Character,
        Float,
        Enum,
        Pointer,
        Reference,
        Array,
        Struct,
        Union,
        Function,
        Typedef,
        Const,
        Volatile,
        Restrict,
        Atomic,
        Unknown,
    } kind = Unknown;

    std::string name;       // tag or typedef or base type name, without "struct "; empty when anonymous
    uint64_t size = 0;      // bytes; 0 if unknown or incomplete
    bool is_signed = false; // Integer, Character, Enum
    // Go's own kind (the constants of its package reflect); what is none of C's is a record with known members.
    enum GoKind : uint8_t { NotGo = 0, GoSlice = 23, GoString = 24 } go_kind = NotGo;
    const Type* target = nullptr; // Pointer, Reference, Array element, Typedef, qualifiers, Function result; null: void
    std::optional<uint64_t> count;       // Array: number of elements of this dimension, if known
    std::vector<ArrayStep> elements;     // Array: to its first element; empty: there the array begins
    std::vector<ArrayStep> stride;       // Array: bytes from one element to the next; empty: the element's size
    bool unterminated = false;           // Array of characters: text that no zero ends
    bool is_complex = false;             // Float: two numbers of half the size
    bool is_decimal = false;             // Float: not the processor's
    bool is_swapped = false;             // a number with its highest byte first
    std::vector<TypeMember> members;     // Struct, Union; Function: parameters (a last one named "..." is variadic)
    std::vector<Enumerator> enumerators; // Enum
    bool of_kernel = false;              // from the kernel's own types
    bool incomplete = false;             // a declaration whose definition was not found
    TypeSource* source = nullptr;        // Struct, Union: members not filled in yet; complete() does it

    // Struct, Union; filled in with the members.
    std::string scope;                  // "std::__cxx11::"
    std::vector<const Type*> arguments; // of a template or a generic type, in order; only types
    std::vector<TypeVariant> variants;  // tagged unions
    std::optional<TypeMember> tag;      // none: there is one form only
};

// Fills in `members` (and, for a declaration whose definition is elsewhere, `size`) of a Struct or Union; looks through
// typedefs and qualifiers. Returns its argument. find_member() and member_names() do it themselves.
const Type* complete(const Type* type);

// Without typedefs and const/volatile/restrict/atomic. Never null for a non-null argument except for `const void`.
const Type* strip(const Type* type);

// As C writes it and as listings print it: "int", "struct s*", "char[16]", "unsigned int", "enum color", "void*".
std::string type_name(const Type* type);

// The member with that name, looking into anonymous members and base classes; `byte_offset` is from the outer struct's
// start. None for one that only a virtual base or a pointer leads to.
std::optional<TypeMember> find_member(const Type* record, std::string_view name);

// The same for all members: the steps to it, each in the record that the one before is or points to. Of several the
// one that is least deep, as in Go. Empty: there is none.
std::vector<TypeMember> find_member_path(const Type* record, std::string_view name);

// Names of all members that find_member() would find; for suggestions.
std::vector<std::string> member_names(const Type* record);

// Sets a bitfield's place in `member`, whose bit_size is known: in the unit of its type's size (`unit`, in bytes) that
// has its lowest bit, or in one of its own. `position`: of that bit, from the record's first one.
void place_bits(TypeMember& member, uint64_t position, uint64_t unit);

// An integer type that no debug information tells of.
Type integer_type(std::string name, uint64_t size, bool is_signed);

// True for what fits a script `long`: integers, bool, char, enum, pointers, references.
bool is_scalar(const Type* type);

} // namespace sonde
