// Classifies values. For example, struct { int a, b; double c; } has two eightbytes. `a` and `b` share the first one,
// whose class is INTEGER. `c` is the second one, whose class is SSE. So the struct is passed in a general purpose
// register and a vector register. struct { char a[17]; } has more than two eightbytes and is passed in memory.
#include "frontend/dwarf/value_classes.h"

#include <algorithm>

#include <dwarf.h>

#include "base/debug/die.h"
#include "frontend/dwarf/type_reader.h"

namespace sonde {
namespace {

constexpr int max_depth = 16;
constexpr uint64_t vector_register = 16; // in bytes; supported by every processor

const char* wide_vector =
    "is or follows a vector of more than 16 bytes, whose passing depends on the compiler's options";
const char* unknown_type = "is or follows a value whose type is not known";

// Merges two classes of the same eightbyte: INTEGER wins over SSE (psABI, 3.2.3, "Classification", rule 4).
ValueClass merge(ValueClass a, ValueClass b) {
    if (a == b || b == ValueClass::None)
        return a;
    if (a == ValueClass::None)
        return b;
    return a == ValueClass::Integer || b == ValueClass::Integer ? ValueClass::Integer : ValueClass::Sse;
}

class Classifier {
  public:
    Classifier(TypeReader& types, ValueClasses& classes) : types_(types), classes_(classes) {}

    // Adds the type at `offset`; returns its alignment.
    uint64_t add(const Type* type, uint64_t offset, int depth) {
        type = strip(type);
        if (!type || depth > max_depth) {
            classes_.doubt = unknown_type;
            return 1;
        }
        if (is_scalar(type))
            return add_scalar(type, offset, ValueClass::Integer, ValueClass::Integer);
        switch (type->kind) {
        case Type::Float:
            return add_float(type, offset);
        case Type::Array:
            return is_vector(type) ? add_vector(type, offset) : add_array(type, offset, depth);
        case Type::Struct:
        case Type::Union:
            return add_record(type, offset, depth);
        default:
            return add_unnamed(type, offset);
        }
    }

  private:
    void put(uint64_t offset, ValueClass value) {
        if (offset / 8 < std::size(classes_.eightbytes))
            classes_.eightbytes[offset / 8] = merge(classes_.eightbytes[offset / 8], value);
        else
            classes_.memory = true;
    }

    // An unaligned member of a packed record forces the whole record into memory.
    uint64_t add_scalar(const Type* type, uint64_t offset, ValueClass first, ValueClass second) {
        if (type->size == 0) {
            classes_.doubt = unknown_type;
            return 1;
        }
        if (offset % std::min<uint64_t>(type->size, 8) != 0)
            classes_.memory = true;
        put(offset, first);
        if (type->size > 8)
            put(offset + 8, second);
        return std::min<uint64_t>(type->size, 16);
    }

    uint64_t add_float(const Type* type, uint64_t offset) {
        Dwarf_Die die;
        bool complex = types_.die_of(type, &die) && number_attribute(die, DW_AT_encoding) == DW_ATE_complex_float;
        // x87 numbers are passed in memory. Other numbers of the same size are not; only the names distinguish them.
        if (type->name.ends_with("long double") || type->name.ends_with("_Float64x")) {
            classes_.memory = classes_.x87 = true;
            return 16;
        }
        if (type->size > 16) { // two numbers of 16 bytes each
            classes_.memory = true;
            return 16;
        }
        uint64_t alignment = add_scalar(type, offset, ValueClass::Sse, complex ? ValueClass::Sse : ValueClass::SseUp);
        return complex ? std::max<uint64_t>(alignment / 2, 1) : alignment;
    }

    bool is_vector(const Type* type) {
        Dwarf_Die die;
        return types_.die_of(type, &die) && flag_attribute(die, DW_AT_GNU_vector);
    }

    uint64_t add_vector(const Type* type, uint64_t offset) {
        if (type->size > vector_register)
            classes_.doubt = wide_vector;
        else
            add_scalar(type, offset, ValueClass::Sse, ValueClass::SseUp);
        return std::max<uint64_t>(type->size, 1);
    }

    // Classify every element, because different elements belong to different eightbytes.
    uint64_t add_array(const Type* type, uint64_t offset, int depth) {
        uint64_t size = type->target ? type->target->size : 0;
        uint64_t alignment = size != 0 ? add(type->target, offset, depth + 1) : 1;
        for (uint64_t i = 1; size != 0 && i < type->count.value_or(0) && !classes_.memory; i++)
            add(type->target, offset + i * size, depth + 1);
        return alignment;
    }

    // Classifies all members at their offsets. Members of a union overlap, which merges their classes.
    uint64_t add_record(const Type* type, uint64_t offset, int depth) {
        complete(type);
        if (type->incomplete)
            classes_.doubt = unknown_type;
        uint64_t alignment = 1;
        for (const TypeMember& member : type->members) {
            uint64_t at = offset + member.byte_offset;
            if (member.bit_size != 0) { // a bit field never makes a record unaligned
                put(at + member.bit_offset / 8, ValueClass::Integer);
                alignment = std::max(alignment, std::min<uint64_t>(strip(member.type)->size, 8));
            } else {
                uint64_t needed = add(member.type, at, depth + 1);
                if (needed != 0 && member.byte_offset % needed == 0)
                    alignment = std::max(alignment, needed);
            }
        }
        if (type->size % alignment != 0)
            alignment = 1; // packed
        Dwarf_Die die;
        if (types_.die_of(type, &die))
            alignment = std::max<uint64_t>(alignment, number_attribute(die, DW_AT_alignment).value_or(1));
        return alignment;
    }

    // Adds a pointer to a member, or nullptr. A pointer to a member function has a second word, which is added to
    // `this`.
    uint64_t add_unnamed(const Type* type, uint64_t offset) {
        Dwarf_Die die;
        int tag = types_.die_of(type, &die) ? dwarf_tag(&die) : 0;
        if (tag == DW_TAG_ptr_to_member_type) {
            put(offset, ValueClass::Integer);
            const Type* pointed = strip(types_.type_of(die));
            if (pointed && pointed->kind == Type::Function)
                put(offset + 8, ValueClass::Integer);
        } else if (tag == DW_TAG_unspecified_type && type->name == "decltype(nullptr)") {
            put(offset, ValueClass::Integer);
        } else {
            classes_.doubt = unknown_type;
        }
        return 8;
    }

    TypeReader& types_;
    ValueClasses& classes_;
};

} // namespace

size_t ValueClasses::registers(ValueClass of) const {
    return memory ? 0 : static_cast<size_t>(std::count(std::begin(eightbytes), std::end(eightbytes), of));
}

// Values of more than two eightbytes are passed in memory.
ValueClasses value_classes(TypeReader& types, const Type* type) {
    ValueClasses classes;
    classes.alignment = std::max<uint64_t>(Classifier(types, classes).add(type, 0, 0), 8);
    if (type->size > 16 || (type->size == 0 && type->kind == Type::Struct))
        classes.memory = true;
    return classes;
}

} // namespace sonde
