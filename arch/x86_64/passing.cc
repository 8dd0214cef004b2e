// Determines the classes of a value's eightbytes. For example, struct { int a, b; double c; } has two eightbytes. `a`
// and `b` share the first one, whose class is INTEGER. `c` is the second one, whose class is SSE. So the struct is
// passed in a general register and a vector register. struct { char a[17]; } has more than two eightbytes and is passed
// in memory.
#include "arch/x86_64/passing.h"

#include <iterator>

namespace sonde::x86 {
namespace {

// SseUp is the upper half of the previous eightbyte's vector register.
enum class Class : uint8_t { None, Integer, Sse, SseUp };

constexpr uint64_t eightbyte = 8, vector_register = 16; // in bytes; every processor has vector registers of this size

constexpr const char* wide_vector =
    "is or follows a vector of more than 16 bytes, whose passing depends on the compiler's options";
// Old versions of clang split such a number between a register and the stack, or do not align it.
constexpr const char* long_number =
    "is or follows a number of 16 bytes on the stack, which compilers pass in different ways";

// Merges two classes of the same eightbyte: INTEGER wins over SSE (rule 4 of the classification).
Class merge(Class a, Class b) {
    if (a == b || b == Class::None)
        return a;
    if (a == Class::None)
        return b;
    return a == Class::Integer || b == Class::Integer ? Class::Integer : Class::Sse;
}

struct Classes {
    Class eightbytes[2] = {Class::None, Class::None};
    bool memory = false;
    bool x87 = false; // contains an x87 number; if it is alone in a record, it is returned in an x87 register
    const char* doubt = nullptr;

    void put(uint64_t offset, Class value) {
        if (offset / eightbyte < std::size(eightbytes))
            eightbytes[offset / eightbyte] = merge(eightbytes[offset / eightbyte], value);
        else
            memory = true;
    }
    // An unaligned member of a packed record forces the whole record into memory.
    void add_scalar(const ScalarPart& part, Class first, Class second) {
        memory = memory || part.offset % std::min(part.size, eightbyte) != 0;
        put(part.offset, first);
        if (part.size > eightbyte)
            put(part.offset + eightbyte, second);
    }
    void add(const ScalarPart& part) {
        switch (part.kind) {
        case ScalarPart::Integer:
            return add_scalar(part, Class::Integer, Class::Integer);
        case ScalarPart::BitField: // a bit field never makes a record unaligned
            return put(part.offset, Class::Integer);
        case ScalarPart::LongFloat:
            memory = x87 = true;
            return;
        case ScalarPart::Float:
            return add_scalar(part, Class::Sse, Class::SseUp);
        case ScalarPart::Vector:
            if (part.size > vector_register)
                doubt = wide_vector;
            else
                add_scalar(part, Class::Sse, Class::SseUp);
            return;
        }
    }
};

PassedPart::Place place_of(Class of) {
    switch (of) {
    case Class::None:
        return PassedPart::Nowhere;
    case Class::Integer:
        return PassedPart::General;
    case Class::Sse:
        return PassedPart::Vector;
    case Class::SseUp:
        break;
    }
    return PassedPart::Rest;
}

} // namespace

// Values of more than two eightbytes are passed in memory.
PassedValue passed(const ValueShape& shape) {
    Classes classes;
    for (const ScalarPart& part : shape.parts)
        classes.add(part);
    PassedValue out;
    out.doubt = shape.doubt ? shape.doubt : classes.doubt;
    out.alignment = std::max(shape.full_alignment, eightbyte);
    out.unreadable_result = classes.x87 && shape.size == vector_register;
    const bool is_integer = shape.parts.size() == 1 && shape.parts[0].kind == ScalarPart::Integer;
    if (!shape.is_record && is_integer && shape.size > eightbyte)
        out.doubt_on_stack = long_number;
    if (classes.memory || shape.size > 2 * eightbyte || shape.size == 0)
        return out;
    for (uint64_t at = 0; at < shape.size; at += eightbyte)
        out.parts.push_back({place_of(classes.eightbytes[at / eightbyte]),
                             static_cast<uint32_t>(std::min(shape.size - at, eightbyte))});
    return out;
}

} // namespace sonde::x86
