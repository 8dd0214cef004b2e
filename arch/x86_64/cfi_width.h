// The registers of call frame information on x86-64 and i386 (System V psABI, section 3.6.2, and 2.4.2).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sonde {

namespace cfi {
constexpr uint64_t fp = 6, sp = 7, return_address = 16; // DWARF numbers of x86-64
constexpr uint64_t result = 0;                          // of a system call
constexpr uint64_t registers = 17;                      // rules exist for registers below this number
constexpr uint64_t no_register = ~uint64_t{0};
} // namespace cfi

// The differences between x86-64 and i386: the size of a word in bytes, and the register numbers.
struct CfiWidth {
    int word = 8;

    // Converts a DWARF register number to that of x86-64. Returns no_register for registers that rules do not track.
    uint64_t number(uint64_t number) const {
        // The index is the number on i386: eax, ecx, edx, ebx, esp, ebp, esi, edi, eip.
        constexpr uint64_t of_i386[] = {0, 2, 1, 3, cfi::sp, cfi::fp, 4, 5, cfi::return_address};
        if (word == 8)
            return number < cfi::registers ? number : cfi::no_register;
        return number < sizeof of_i386 / sizeof *of_i386 ? of_i386[number] : cfi::no_register;
    }
    // The registers that a saves word covers, in the order of SONDE_SAVED_WIDE and SONDE_SAVED_NARROW.
    std::span<const uint64_t> saved_registers() const {
        static constexpr uint64_t wide[] = {3, 12, 13, 14, 15}, narrow[] = {3, 4, 5};
        return word == 8 ? std::span<const uint64_t>(wide) : narrow;
    }
    // The expression for "the address in the frame pointer": DW_OP_breg6 0, in i386 code DW_OP_breg5 0.
    std::string_view frame_expression() const { return {word == 8 ? "\x76\x00" : "\x75\x00", 2}; }
};
inline constexpr CfiWidth wide_cfi, narrow_cfi{4};

// The frame of a signal handler's caller: at the stack pointer is struct ucontext, which has these registers (DWARF
// numbers) as consecutive words. This is r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
namespace signal_frame {
constexpr uint64_t registers[] = {
    8, 9, 10, 11, 12, 13, 14, 15, 5, 4, cfi::fp, 3, 1, 0, 2, cfi::sp, cfi::return_address};
constexpr int64_t first = 40, stack_pointer = 160; // bytes from the stack pointer
} // namespace signal_frame

} // namespace sonde
