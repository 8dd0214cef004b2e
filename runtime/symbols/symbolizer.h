// Answers questions about addresses of traced processes: as a session finds the answers (symbols.h), or as a recording
// has kept them (sinks/recording/kept_symbols.h).
//
// Processes are identified by their PID in the initial PID namespace, unless a comment says otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/symbols/inlined.h"
#include "runtime/symbols/interpreted_frames.h"
#include "runtime/symbols/rendered.h"

namespace sonde {

// A function in the stack of a thread that a handler has visited.
struct VisitedFrame {
    uint64_t address = 0;
    // Of the functions at the address, in the order of places_at(): "(a=1, b=?)". Empty without debug information.
    std::vector<std::string> arguments;
};
// The stack of a thread that a handler has visited (SONDE_STACK_VISITED).
struct VisitedStack {
    std::string none;  // the reason why the stack cannot be read; empty: it was read
    std::string doing; // "waits in nanosleep() for 1.5 s"; empty: unknown
    uint64_t process = 0;
    uint64_t state = 0;               // sonde_stack_state
    std::vector<VisitedFrame> frames; // innermost first
};

// All functions also work for processes that have ended.
class Symbolizer {
  public:
    virtual ~Symbolizer() = default;

    // For a stack that processes share as a key: returns a number to pass to the functions below as `process`. It
    // stands for the process where the stack occurred first, with the mappings of that time. Returns 0 if the text is
    // not a shared stack.
    virtual uint64_t process_of_stack(const std::string& text) = 0;

    // Returns the text for an address in a sonde_symbol_style. If `process` is 0, searches all processes, the most
    // recent first. Addresses in the upper half belong to the kernel.
    virtual std::string text(uint64_t process, uint64_t address, uint64_t style) = 0;
    // Returns "file.c:12"; "" if unknown.
    virtual std::string source(uint64_t process, uint64_t address) = 0;
    // Returns a frame of an interpreter; nothing for an address.
    virtual std::optional<InterpretedFrame> interpreted_frame(uint64_t word) = 0;
    // Returns the inlined functions at a user address, innermost first.
    virtual std::vector<InlinedCall> inlined(uint64_t process, uint64_t address) = 0;
    // Returns the stack of a visited thread, with at most `most` addresses. Both numbers are those of the initial PID
    // namespace.
    virtual VisitedStack visited_stack(uint64_t process, uint64_t thread, uint64_t most, bool with_arguments) = 0;
    // The cache of lines made from these functions. Call this before each use: it drops lines that are outdated.
    virtual Rendered& rendered() = 0;
};

} // namespace sonde
