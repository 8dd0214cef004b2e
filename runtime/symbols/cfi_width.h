// The registers of call frame information on x86-64 and i386 (System V psABI, section 3.6.2, and 2.4.2).
#pragma once

#include <cstdint>

namespace sonde {

namespace cfi {
constexpr uint64_t rbp = 6, rsp = 7, return_address = 16; // DWARF numbers of x86-64
constexpr uint64_t registers = 17;                        // rules exist for registers below this number
constexpr uint64_t no_register = ~uint64_t{0};
} // namespace cfi

// The differences between x86-64 and i386: the size of a word in bytes, and the register numbers.
struct CfiWidth {
    int word = 8;

    // Converts a DWARF register number to that of x86-64. Returns no_register for registers that rules do not track.
    uint64_t number(uint64_t number) const {
        constexpr uint64_t of_i386[] = {0, 2, 1, 3, cfi::rsp, cfi::rbp, 4, 5, cfi::return_address};
        if (word == 8)
            return number < cfi::registers ? number : cfi::no_register;
        return number < sizeof of_i386 / sizeof *of_i386 ? of_i386[number] : cfi::no_register;
    }
};
inline constexpr CfiWidth wide_cfi, narrow_cfi{4};

} // namespace sonde
