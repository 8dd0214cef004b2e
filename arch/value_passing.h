// How functions of C and C++ receive and return a value, by its type.
//
// The problem: each processor has its own rules, but the rules ask the same questions about a type. The idea: a
// ValueShape has the answers without the type itself, and Architecture::passed() applies the rules. For example,
// struct { int a; double b; } has the shape
//
//     size 16, alignment 8, Integer of 4 bytes at 0, Float of 8 bytes at 8
//
// x86-64 passes it in a general register and a vector register, arm64 in two general registers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sonde {

// A scalar in a value. Scalars of a union overlap.
struct ScalarPart {
    enum Kind : uint8_t {
        Integer,
        BitField,  // the byte with its first bit
        Float,     // a complex number has two
        LongFloat, // `long double`
        Vector,
    };
    Kind kind;
    uint64_t offset, size;
};

struct ValueShape {
    static constexpr uint64_t most_bytes = 64; // `parts` has no scalars after these bytes of a larger value

    uint64_t size = 0;
    bool is_record = false;      // a struct, a class or a union
    uint64_t alignment = 1;      // of the scalars
    uint64_t full_alignment = 1; // also by attributes
    std::vector<ScalarPart> parts;
    const char* doubt = nullptr; // why the shape is not known
};

// The place of a part of a value, which is at most as large as a register.
struct PassedPart {
    enum Place : uint8_t {
        Nowhere, // padding, or an object without data
        General, // in a general register
        Vector,  // in a vector register
        Rest,    // in the vector register of the part before
    };
    Place place;
    uint32_t size;
};

struct PassedValue {
    // The value's registers, if enough are left. Empty: the value is in memory.
    std::vector<PassedPart> parts;
    // In memory, the caller passes the address of a copy. Otherwise the value is on the stack as a whole.
    bool by_address = false;
    bool begins_even = false; // the first general register has an even number
    // The result is in a register of another kind, which a probe cannot read. `parts` are valid for arguments only.
    bool unreadable_result = false;
    uint64_t alignment = 8; // on the stack, in bytes
    // Why the place of this value, and of those after it, is unknown: always, or if the value is on the stack.
    const char* doubt = nullptr;
    const char* doubt_on_stack = nullptr;

    // The number of registers of one kind.
    size_t registers(PassedPart::Place kind) const {
        return static_cast<size_t>(std::ranges::count(parts, kind, &PassedPart::place));
    }
};

} // namespace sonde
