// Stacks as frames: what output that programs read, and pictures, are made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sonde {

class Symbols;

struct Frame {
    uint64_t address = 0;
    std::string function; // empty: not known
    int64_t offset = 0;   // of the address from the function's entry; of an inlined one: 0
    std::string file;     // the path of the program, library or module; empty: not known
    std::string source;   // "file.c:12"; empty: not known, or not asked for
    bool is_inlined = false, is_kernel = false;
};

// A function that an address of a stack is in, and where in the source that one stands.
struct FramePlace {
    std::string inlined; // its name; empty: the function whose code it is, not an inlined one
    std::string source;  // "file.c:12"; empty: not known, or not asked for
};
// The innermost first; the last is the function whose code it is. What a function has inlined, it calls where that was.
std::vector<FramePlace> places_at(Symbols& symbols, uint64_t process, uint64_t address, bool with_source);

// What lies at an address of a stack: inlined functions, the innermost first, then the one whose code it is. `process`
// as for Symbols. `after_call`: a return address, so that the call before it is meant. `with_source` reads line tables.
std::vector<Frame> frames_at(Symbols& symbols, uint64_t process, uint64_t address, bool after_call, bool with_source);

// Names, the outermost first, with `;` between them, as flame graphs are made of.
std::string folded(const std::vector<std::string>& names);
// What a frame is called there: its function, else its file, else its address.
std::string frame_name(const Frame& frame);

// The addresses of a stack as text, as handlers make it: hexadecimal numbers, the innermost first.
std::vector<uint64_t> addresses_in(const std::string& text);

} // namespace sonde
