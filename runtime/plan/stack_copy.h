// A copy of a stack, with the registers of each function, in which the variables of functions can be evaluated.
//
// A script of probes `__frame(N)` is for such a copy: its handlers run in the session's process, and read registers and
// memory of the copy instead of those of a program. The driver makes this script for the callers of a probed function.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/stack.h"

namespace sonde::plan {

// A machine-code function of the stack, with all functions that are inlined at its address.
struct StackFrame {
    std::string path;     // the file with the code, as this process can open it; empty: the code is in no file
    uint64_t address = 0; // as linked: of the probed instruction, or of a byte in the call instruction
    bool is_innermost = false;
    // The registers in the order of struct pt_regs, and a bit for each one whose value is known. The program counter is
    // the run-time address of `address`.
    uint64_t known = 0;
    std::array<uint64_t, SONDE_REGISTERS> registers{};
    // The same for the registers at the function's entry.
    uint64_t known_at_entry = 0;
    std::array<uint64_t, SONDE_REGISTERS> registers_at_entry{};

    bool operator==(const StackFrame&) const = default;
};

struct StackCopy {
    struct Memory {
        uint64_t address = 0;
        std::string bytes;
        bool operator==(const Memory&) const = default;
    };
    std::vector<StackFrame> frames; // innermost first
    uint64_t thread_pointer = 0;
    std::vector<Memory> memory; // sorted by address, without overlaps

    // Copies memory of the program. Returns the number of bytes before the first one that is not in the copy.
    uint64_t read(uint64_t address, char* to, uint64_t size) const;

    // The copy as bytes, for another process. decode() fails if the bytes are not those of encode().
    std::string encode() const;
    static Result<StackCopy> decode(std::string_view bytes);
    bool operator==(const StackCopy&) const = default;
};

// The map with one struct sonde_stack_copy, which a handler fills (if copies_stacks()).
inline constexpr const char* stack_copy_map = "sonde_stack_copy";

// One more StackStyle: with lines, and with the variables of each caller.
constexpr auto StackWithValues = static_cast<StackStyle>(AsyncStack + 1);
constexpr bool has_lines(int style) { return style == StackWithLines || style == StackWithValues; }

// Whether handlers print stacks with the variables of callers. The plan then has a map for the copy of the first hit.
inline bool copies_stacks(const Plan& plan) {
    return std::ranges::any_of(plan.formats, [](const Format& format) {
        return std::ranges::any_of(format.directives, [](const Directive& d) {
            return d.kind == Directive::Stack && d.conversion == StackWithValues;
        });
    });
}

} // namespace sonde::plan
