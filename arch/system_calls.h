// The system calls of an architecture.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "arch/registers.h"

namespace sonde {

// A system call of any architecture; system_calls.def describes the fields.
struct SystemCallRow {
    const char* name;
    const char* parameters;
    const char* text;
    int number = -1; // if it is the same in all architectures
};
std::span<const SystemCallRow> system_call_rows();

// The number of a system call up to 423.
struct SystemCallNumber {
    int number;
    const char* name;
    const char* parameters = nullptr; // null: the fields of the SystemCallRow with that name
    const char* text = nullptr;
};

// The same in programs in the 32-bit mode. `sources` has one item for each parameter, separated by blanks: the place of
// the argument. Items at the end may be omitted if their arguments are in the usual registers:
//    3    register number 3 (the first one is 1)
//    +3   registers 3 and 4, which contain the lower and the upper half
//    0    not passed; the value is 0
//    w3   the low 16 bits of register 3: the id of a user or group
//    p3   register 3, in units of pages
//    *3   the third word of the array that the call gets
struct NarrowCallNumber {
    int number;
    const char* name;
    const char* sources;
};

struct SystemCalls {
    std::span<const SystemCallNumber> numbers;
    std::span<const NarrowCallNumber> narrow_numbers;
    // Calls that have no row, because they are internal to the kernel or too new for SystemTap.
    std::span<const std::pair<int, std::string_view>> unnamed;
    // Calls that 64-bit programs do not have here, but on other architectures, and the call that C libraries make
    // instead.
    std::span<const std::pair<std::string_view, std::string_view>> replaced;
    // The names of all calls by number, separated by `|`: 512 of 64-bit programs and then 512 of 32-bit programs.
    std::string_view names;
    // The kernel's function for the call `read` is this prefix and `read`.
    std::string_view function_prefix;
    // The registers of the arguments, in order, and of the result; and those of calls in the 32-bit mode.
    std::span<const int> arguments, narrow_arguments;
    int result;
    // The numbers of calls in the 32-bit mode that are several calls, or whose arguments are in an array.
    std::span<const int> outer_calls;
    // The size in bytes of the part of struct pt_regs with the registers of 64-bit programs' arguments.
    uint32_t argument_bytes;

    // The register that has an argument also after the call.
    int kept(int argument) const { return argument == result ? kept_argument_register : argument; }
    // Whether a call overwrites one of its arguments with its result.
    bool overwrites_argument() const { return arguments[0] == result; }
};

// From this number on, a call has the same number in all architectures, and a function with its name.
constexpr int first_of_all_architectures = 424;

} // namespace sonde
