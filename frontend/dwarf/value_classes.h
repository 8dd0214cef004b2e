// The classes of a value's eightbytes, by which it is passed in registers or in memory: the System V ABI for x86-64,
// section 3.2.3. What compilers and their options disagree about is a doubt, in words.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde {

struct Type;
class TypeReader;

enum class ValueClass : uint8_t {
    None,    // nothing is passed: padding, objects without data
    Integer, // a general purpose register
    Sse,     // a vector register
    SseUp,   // the upper half of the vector register that the eightbyte before it takes
};

struct ValueClasses {
    ValueClass eightbytes[2] = {ValueClass::None, ValueClass::None};
    bool memory = false;
    bool x87 = false;            // has a number of the x87's; alone in a record it is returned in a register of its own
    uint64_t alignment = 8;      // bytes, of the value in memory; 8 at least
    const char* doubt = nullptr; // where it is passed is not known, nor is where what follows it is: why

    size_t registers(ValueClass of) const;
};

// `type` is complete. Objects that C++ passes by address (class_passing.h) are not this function's matter.
ValueClasses value_classes(TypeReader& types, const Type* type);

} // namespace sonde
