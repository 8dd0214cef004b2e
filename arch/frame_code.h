// Machine code that unwinding recognizes where a file has no tables.
#pragma once

#include <cstddef>
#include <string_view>

namespace sonde {

// The beginning of a function. Sizes are in bytes.
struct FramePrologue {
    size_t mark = 0; // a mark for the target of indirect jumps
    size_t push = 0; // the instruction behind it, if it pushes the frame pointer
    size_t move = 0; // the instruction behind that, if it sets the frame pointer to the stack pointer
};

// An instruction in the procedure linkage table.
struct StubInstruction {
    std::string_view bytes; // its beginning
    size_t size;
    unsigned pushed; // words
    bool leaves;     // the stub ends here
    // The first stub begins with such an instruction. It is reached by a jump from another stub, which has already
    // pushed its index.
    bool begins_first = false;
};

} // namespace sonde
