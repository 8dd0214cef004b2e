// The registers of a processor, and the roles that they have in calls. All numbers are those of DWARF.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sonde {

// The names of a register and of its parts.
struct RegisterNames {
    static constexpr int widths = 5;
    const char* names[widths]; // 64, 32, 16 bits, the low 8 bits, bits 8 to 15; "" if the part has no name
};

// The place of an argument of a system call: the register, and its offset in the saved registers (struct pt_regs).
struct SyscallArgument {
    int reg;
    uint64_t offset;
};

struct RegisterFile {
    // Names by number, for the general registers and then the instruction pointer.
    std::span<const RegisterNames> names;
    int stack_pointer, frame_pointer, instruction_pointer;
    int result;                     // of a function: integers and pointers
    std::span<const int> arguments; // of a function: integers and pointers, in order
    int vector_arguments;           // the number of vector registers for arguments; they are the first ones
    int vectors;                    // the number of vector registers that an Effect can name

    int count() const { return static_cast<int>(names.size()); }
    // The name of the whole register. Returns "" for a number without a register.
    std::string_view name(int number) const {
        return number >= 0 && number < count() ? names[static_cast<size_t>(number)].names[0] : std::string_view();
    }
};

// What Go's compiler does with registers (Go's ABI, "ABIInternal").
struct GoConvention {
    // Functions begin with a comparison of the stack pointer with the limit in the current goroutine, which is in one
    // of these registers; the second one is used by assembly code.
    int goroutine, goroutine_in_assembly;
    uint8_t stack_is_used_up;      // the condition of the jump after the comparison
    std::span<const int> integers; // the registers of integer arguments and results, in order
    size_t floats;                 // the number of registers for floating-point numbers
};

} // namespace sonde
