// Collects the scalars of a value. For example, struct { int a[2]; double c; } has three: two integers at 0 and 4, and
// a number at 8.
#include "frontend/dwarf/value_shape.h"

#include <algorithm>

#include <dwarf.h>

#include "base/debug/die.h"
#include "frontend/dwarf/type_reader.h"

namespace sonde {
namespace {

constexpr int max_depth = 16;

const char* unknown_type = "is or follows a value whose type is not known";

struct Alignment {
    uint64_t own = 1, full = 1; // without and with attributes
};

class Collector {
  public:
    Collector(TypeReader& types, ValueShape& shape) : types_(types), shape_(shape) {}

    // Adds the type at `offset`; returns its alignment.
    Alignment add(const Type* type, uint64_t offset, int depth) {
        type = strip(type);
        if (!type || depth > max_depth) {
            shape_.doubt = unknown_type;
            return {};
        }
        if (is_scalar(type))
            return add_scalar(type->size, offset, ScalarPart::Integer);
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
    void put(uint64_t offset, uint64_t size, ScalarPart::Kind kind) {
        if (offset < ValueShape::most_bytes)
            shape_.parts.push_back({kind, offset, size});
    }

    Alignment add_scalar(uint64_t size, uint64_t offset, ScalarPart::Kind kind) {
        if (size == 0) {
            shape_.doubt = unknown_type;
            return {};
        }
        put(offset, size, kind);
        const uint64_t alignment = std::min<uint64_t>(size, 16);
        return {alignment, alignment};
    }

    Alignment add_float(const Type* type, uint64_t offset) {
        Dwarf_Die die;
        const bool is_complex =
            types_.die_of(type, &die) && number_attribute(die, DW_AT_encoding) == DW_ATE_complex_float;
        // On x86-64, the format of this type is another one than that of other numbers of the same size. Only the names
        // distinguish them.
        const bool is_long = type->name.ends_with("long double") || type->name.ends_with("_Float64x");
        const ScalarPart::Kind kind = is_long ? ScalarPart::LongFloat : ScalarPart::Float;
        const uint64_t size = is_complex ? type->size / 2 : type->size;
        if (is_complex)
            add_scalar(size, offset + size, kind);
        return add_scalar(size, offset, kind);
    }

    bool is_vector(const Type* type) {
        Dwarf_Die die;
        return types_.die_of(type, &die) && flag_attribute(die, DW_AT_GNU_vector);
    }

    Alignment add_vector(const Type* type, uint64_t offset) {
        add_scalar(type->size, offset, ScalarPart::Vector);
        const uint64_t alignment = std::max<uint64_t>(type->size, 1);
        return {alignment, alignment};
    }

    Alignment add_array(const Type* type, uint64_t offset, int depth) {
        const uint64_t size = type->target ? type->target->size : 0;
        const Alignment alignment = size != 0 ? add(type->target, offset, depth + 1) : Alignment();
        for (uint64_t i = 1; size != 0 && i < type->count.value_or(0) && i * size < ValueShape::most_bytes; i++)
            add(type->target, offset + i * size, depth + 1);
        return alignment;
    }

    // Adds all members at their offsets. Members of a union overlap.
    Alignment add_record(const Type* type, uint64_t offset, int depth) {
        complete(type);
        if (type->incomplete)
            shape_.doubt = unknown_type;
        Alignment out;
        for (const TypeMember& member : type->members) {
            const uint64_t at = offset + member.byte_offset;
            if (member.bit_size != 0) {
                put(at + member.bit_offset / 8, 1, ScalarPart::BitField);
                const uint64_t unit = std::min<uint64_t>(strip(member.type)->size, 8);
                out = {std::max(out.own, unit), std::max(out.full, unit)};
            } else {
                const Alignment needed = add(member.type, at, depth + 1);
                if (needed.own != 0 && member.byte_offset % needed.own == 0)
                    out.own = std::max(out.own, needed.own);
                if (needed.full != 0 && member.byte_offset % needed.full == 0)
                    out.full = std::max(out.full, needed.full);
            }
        }
        if (type->size % out.own != 0)
            out.own = 1; // packed
        if (type->size % out.full != 0)
            out.full = 1;
        Dwarf_Die die;
        if (types_.die_of(type, &die))
            out.full = std::max<uint64_t>(out.full, number_attribute(die, DW_AT_alignment).value_or(1));
        return out;
    }

    // Adds a pointer to a member, or nullptr. A pointer to a member function has a second word, which is added to
    // `this`.
    Alignment add_unnamed(const Type* type, uint64_t offset) {
        constexpr uint64_t word = 8;
        Dwarf_Die die;
        const int tag = types_.die_of(type, &die) ? dwarf_tag(&die) : 0;
        if (tag == DW_TAG_ptr_to_member_type) {
            put(offset, word, ScalarPart::Integer);
            const Type* pointed = strip(types_.type_of(die));
            if (pointed && pointed->kind == Type::Function)
                put(offset + word, word, ScalarPart::Integer);
        } else if (tag == DW_TAG_unspecified_type && type->name == "decltype(nullptr)") {
            put(offset, word, ScalarPart::Integer);
        } else {
            shape_.doubt = unknown_type;
        }
        return {word, word};
    }

    TypeReader& types_;
    ValueShape& shape_;
};

} // namespace

ValueShape value_shape(TypeReader& types, const Type* type) {
    ValueShape out;
    out.size = type->size;
    out.is_record = type->kind == Type::Struct || type->kind == Type::Union;
    const Alignment alignment = Collector(types, out).add(type, 0, 0);
    out.alignment = alignment.own;
    out.full_alignment = alignment.full;
    // Debug information gives no size for nullptr, and none for some pointers to members.
    if (out.size == 0 && !out.is_record)
        for (const ScalarPart& part : out.parts)
            out.size = std::max(out.size, part.offset + part.size);
    return out;
}

} // namespace sonde
