// Determines the classes of a value's eightbytes, which decide whether it is passed in registers or in memory: System V
// ABI for x86-64, section 3.2.3. If compilers or their options disagree, `doubt` has the reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde {

struct Type;
class TypeReader;

// The classes of the ABI that matter here; the others are described by `memory` and `x87`.
enum class ValueClass : uint8_t {
    None,    // not passed: padding, objects without data
    Integer, // a general purpose register
    Sse,     // a vector register
    SseUp,   // the upper half of the previous eightbyte's vector register
};

// The classes of one value. A value of more than two eightbytes is always in memory.
struct ValueClasses {
    ValueClass eightbytes[2] = {ValueClass::None, ValueClass::None};
    bool memory = false;
    bool x87 = false;       // contains an x87 number; if it is alone in a record, it is returned in an x87 register
    uint64_t alignment = 8; // alignment in memory, in bytes; at least 8
    const char* doubt = nullptr; // why the location of this value, and of those after it, is unknown

    // Number of eightbytes with that class, that is, of registers that the value needs.
    size_t registers(ValueClass of) const;
};

// `type` must be complete. This does not handle objects that C++ passes by address (class_passing.h).
ValueClasses value_classes(TypeReader& types, const Type* type);

} // namespace sonde
