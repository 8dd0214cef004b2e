// Stacks as lists of frames, for JSON output and for pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sonde {

class Symbolizer;

// An address of a stack, or one of the functions that are inlined at that address.
struct Frame {
    uint64_t process = 0; // as for the symbolizer
    uint64_t address = 0;
    std::string function; // empty: unknown
    int64_t offset = 0;   // of the address from the function's entry, in bytes; 0 for an inlined function
    std::string file;     // path of the program, library or module; empty: unknown
    std::string source;   // "file.c:12"; empty: unknown or not requested
    bool is_inlined = false, is_kernel = false;
    // Of an interpreter's function: "python". Then `address` is not an address, but the frame's word. Null: machine
    // code.
    const char* language = nullptr;
};

// A function at an address of a stack, and the source line that is being executed in this function.
struct FramePlace {
    std::string inlined; // name of the inlined function; empty: the function that contains the address
    std::string source;  // "file.c:12"; empty: unknown or not requested
};
// Returns the functions at an address, innermost first; the last one contains the address. The source line of an outer
// function is the line of the inlined call.
std::vector<FramePlace> places_at(Symbolizer& symbols, uint64_t process, uint64_t address, bool with_source);

// Returns the frames for an address of a stack, innermost first. `process`: see Symbolizer. `after_call`: `address` is
// a return address, so the lookup uses the call instruction before it. `with_source` reads line tables, which is slow
// for large files.
std::vector<Frame> frames_at(Symbolizer& symbols, uint64_t process, uint64_t address, bool after_call,
                             bool with_source);

// Joins names with `;`, outermost first: the "folded" format of flame graph tools. A `;` in a name becomes `:`.
std::string folded(const std::vector<std::string>& names);
// Returns the name of a frame in flame graphs: the function, else `[file]`, else the address. A function of an
// interpreter has its file and line: "render views.py:12".
std::string frame_name(const Frame& frame);

// Parses a stack in a string of the script: hexadecimal addresses separated by spaces, innermost first.
std::vector<uint64_t> addresses_in(const std::string& text);

} // namespace sonde
