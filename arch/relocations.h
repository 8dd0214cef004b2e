// What relocations of a processor mean. The loader of programs applies those of programs and libraries; sonde reads
// them. sonde itself applies those of the host code, which LLVM generates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde {

// Relocations of a program or library.
enum class DynamicRelocation : uint8_t {
    Other,
    Call,           // the address of a function, for the procedure linkage table
    Pointer,        // the address of a symbol
    ThreadDistance, // the distance from the thread pointer to a thread-local variable
    ThreadModule,   // the module's index in the threads' tables of blocks
    // Two words: a function that finds the distance to a thread-local variable, and the function's argument.
    ThreadDescriptor,
};

// A relocation of an object file. The names in ABIs: S + A is the target, P the place, GOT the address of the table.
struct CodeRelocation {
    uint32_t type = 0;
    uint8_t* place = nullptr;
    uint64_t room = 0; // bytes from the place to the end of the section
    uint64_t symbol = 0;
    int64_t addend = 0;
    uint64_t table = 0; // of the global offset table
    uint64_t stub = 0;  // code that jumps to the symbol, nearby; 0: none
};

enum class Relocated : uint8_t {
    Done,
    TooLong, // the relocated bytes are not all in the section
    OutOfReach,
    Unknown,
};

} // namespace sonde
