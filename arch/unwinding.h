// Facts about a processor's call frame information (CFI), and about frames that have none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sonde {

// The frame of a signal handler's caller: from the stack pointer, the saved registers as consecutive words.
struct SignalFrame {
    std::span<const uint64_t> registers; // their numbers, in this order
    int64_t first = 0;                   // where they begin, in bytes
    int64_t stack_pointer = 0;           // where the stack pointer is saved
};

// Numbers are those of Architecture::registers().
struct UnwindTraits {
    // CFI describes the return address as the value of this register. It is the instruction pointer if calls store the
    // return address on the stack. Otherwise it is the link register, where calls store it.
    uint64_t return_address = 0;
    bool has_link_register = false;
    uint64_t registers = 0; // rules exist for registers below this number
    // The callee-saved registers other than the frame pointer: those that a saves word covers, in its order
    // (arch/host/unwind_registers.h), and the others.
    std::span<const uint64_t> saved, saved_beyond;
    // The expression for "the address in the frame pointer": DW_OP_breg of the frame pointer with 0.
    std::string_view frame_expression;
    SignalFrame signal_frame;
};
// No architecture has more registers with rules.
constexpr size_t most_unwind_registers = 33;

} // namespace sonde
