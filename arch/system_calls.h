// The system calls of an architecture.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace sonde {

// A system call; arch/x86_64/syscalls.def describes the fields.
struct SystemCallRow {
    int number;
    const char* name;
    const char* parameters;
    const char* text;
};

// A system call of programs in the 32-bit mode. `sources`: where its arguments come from (arch/x86_64/syscalls_32.def).
struct NarrowCallRow {
    int number;
    const char* name;
    const char* parameters; // null: those of the SystemCallRow with that name
    const char* text;
    const char* sources;
};

struct SystemCalls {
    std::span<const SystemCallRow> rows;
    std::span<const NarrowCallRow> narrow_rows;
    // Calls that have no row, because they are internal to the kernel or too new for SystemTap.
    std::span<const std::pair<int, std::string_view>> unnamed;
    // The kernel's function for the call `read` is this prefix and `read`.
    std::string_view function_prefix;
    // The registers of the arguments, in order, and of the result; and those of calls in the 32-bit mode.
    std::span<const int> arguments, narrow_arguments;
    int result;
};

// From this number on, a call has the same number in all architectures, and a function with its name.
constexpr int first_of_all_architectures = 424;

} // namespace sonde
