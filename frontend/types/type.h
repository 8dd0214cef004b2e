// The representation of types from DWARF, BTF and headers: the size of a `$variable`, its kind and its members.
//
// The reader that created a type owns it (dwarf/dwarf_module.h, types/kernel_types.h, types/header_types.h); the type
// lives as long as the reader. Records are filled lazily: call complete() before you use `members`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

struct Type;

// Fills in a record's members when complete() asks for them. The reader that owns the type implements this.
class TypeSource {
  public:
    // Must set `members`, and for a declaration also `size` and `incomplete`. Called once for each record.
    virtual void complete(Type& record) = 0;

  protected:
    ~TypeSource() = default;
};

// A member of a record, or a parameter of a function type.
struct TypeMember {
    std::string name; // "" for an anonymous record, whose members are accessed through it; for a C++ base, its name
    const Type* type = nullptr;
    uint64_t byte_offset = 0; // of the storage unit to load
    // Bit fields: the least significant bit, counted in a unit of type->size bytes (little endian).
    uint32_t bit_offset = 0;
    uint32_t bit_size = 0; // 0: not a bit field
    bool is_base = false;  // a C++ base class; its members are accessed like those of an anonymous member
    // An embedded field in Go: the members of its type (or of the type that it points to) can be accessed without its
    // name.
    bool is_embedded = false;
    // For a virtual base class, `byte_offset` is 0, and its offset in the object is stored in the virtual table. This
    // is the position of that entry relative to the table's beginning, in bytes (Itanium C++ ABI, section 2.5.2).
    std::optional<int64_t> in_vtable = std::nullopt;
};

// An enumerator of an enumeration.
struct Enumerator {
    std::string name;
    int64_t value;
};

// A variant of a tagged union, such as Rust's enums. The member is valid while the tag has this value.
struct TypeVariant {
    std::optional<int64_t> tag; // nullopt: the variant for all other values
    size_t member = 0;          // index in `members`
};

// One step of a computation on a stack: the address of an array's elements, or the distance between them. Languages
// such as Fortran and Pascal store these in a descriptor (DWARF 5, section 5.18).
struct ArrayStep {
    enum Kind { Object, Number, Add, Subtract, Multiply, Load } kind; // Object: push the array's own address
    int64_t number = 0;
};

// A type.
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

    std::string name;       // the tag, or the name of a typedef or base type, without "struct "; "" if anonymous
    uint64_t size = 0;      // in bytes; 0 if unknown or incomplete
    bool is_signed = false; // Integer, Character, Enum
    // The kind in Go, with the numbers of Go's package reflect. Kinds that C does not have are records with known
    // members.
    enum GoKind : uint8_t { NotGo = 0, GoSlice = 23, GoString = 24 } go_kind = NotGo;
    // Of a Pointer, Reference, Array (element), Typedef, qualifier or Function (result); null: void.
    const Type* target = nullptr;
    std::optional<uint64_t> count;   // Array: the number of elements in this dimension, if known
    std::vector<ArrayStep> elements; // Array: how to find the first element; empty: at the array's address
    std::vector<ArrayStep> stride;   // Array: how to find the distance between elements; empty: the element's size
    bool unterminated = false;       // Array of characters: a text without a final zero
    bool is_complex = false;         // Float: two numbers, each of half the size
    bool is_decimal = false;         // Float: a decimal format, which the processor does not support
    bool is_swapped = false;         // the most significant byte comes first
    std::vector<TypeMember> members; // Struct, Union; Function: the parameters (a last one named "..." means variadic)
    std::vector<Enumerator> enumerators; // Enum; Struct, Union: of the enumerations without a scope that it declares
    bool of_kernel = false;              // from the kernel's types
    bool incomplete = false;             // a declaration whose definition was not found
    TypeSource* source = nullptr; // Struct, Union: the reader that fills in the members; null when they are complete

    // These are filled in together with a record's members.
    std::string scope;                  // "std::__cxx11::"
    std::vector<const Type*> arguments; // of a template or generic type, in order; types only
    std::vector<TypeVariant> variants;  // tagged unions
    std::optional<TypeMember> tag;      // nullopt: not a tagged union
};

// Fills in the `members` of a record (and its `size`, if it is a declaration whose definition is elsewhere). Looks
// through typedefs and qualifiers. Returns its argument. find_member() and member_names() call this themselves.
const Type* complete(const Type* type);

// Removes typedefs and qualifiers (const, volatile, restrict, atomic). The result is null only for a null argument, and
// for a qualified void.
const Type* strip(const Type* type);

// Returns the name as C and listings print it: "int", "struct s*", "char[16]", "unsigned int", "enum color", "void*".
std::string type_name(const Type* type);

// Returns the member with that name, including members of anonymous members and base classes; `byte_offset` is relative
// to the outer record. Returns nullopt for a member that can only be reached through a virtual base or a pointer.
std::optional<TypeMember> find_member(const Type* record, std::string_view name);

// The same for all members: returns the steps to the member. Each step is a member of the record that the previous step
// contains or points to. If several members have the name, the least deeply nested one counts, as in Go. Returns an
// empty list if none exists.
std::vector<TypeMember> find_member_path(const Type* record, std::string_view name);

// Returns the value of an enumerator that the record, or a record inside of it without a name, declares: C++ lets a
// program write `object.name` for it.
std::optional<int64_t> find_member_enumerator(const Type* record, std::string_view name);

// Returns the names of all members that find_member() can find, for suggestions.
std::vector<std::string> member_names(const Type* record);

// Sets the place of a bit field whose bit_size is known. `position` is the number of its lowest bit, counted from the
// beginning of the record. `unit` is the size of its type in bytes. The storage unit is the one that contains that bit,
// or begins at its byte if the field spans two units.
void place_bits(TypeMember& member, uint64_t position, uint64_t unit);

// Creates an integer type without debug information.
Type integer_type(std::string name, uint64_t size, bool is_signed);

// Whether a value of the type fits into a script number: integers, bool, char, enums, pointers, references.
bool is_scalar(const Type* type);

} // namespace sonde
