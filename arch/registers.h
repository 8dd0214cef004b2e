// The registers of a processor, and the roles that they have in calls. All numbers are those of DWARF.
#pragma once

#include <algorithm>
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

// A register without a number of DWARF that the kernel saves, too; or another name for a numbered register.
struct StateRegister {
    RegisterNames names;
    int number;        // one of the numbers below, or that of the numbered register
    uint32_t saved_at; // offset in the kernel's struct pt_regs
    uint32_t size = 8; // in bytes; a signed number
};
// The numbers of state registers; an architecture need not have all of them.
constexpr int syscall_number_register = -2, flags_register = -3, code_segment_register = -4,
              stack_segment_register = -5,
              // The first argument of a system call, where the result overwrites its register.
    kept_argument_register = -6;

// A test of a saved register: its bits in `mask` have this value.
struct RegisterTest {
    int number;
    uint64_t mask, value;
};

// A condition that holds in one of these cases: any of the bits `any_set` of the flags is set, any of the bits
// `any_clear` is not set, or exactly one of the bits `differ` is set. `opposite`: it holds in all other cases instead.
struct FlagsCondition {
    uint64_t any_set = 0, any_clear = 0;
    uint64_t differ[2] = {};
    bool opposite = false;
};

// When a conditional jump is taken. An odd number is the opposite of the even number before it.
// * Numbers below 16 test the flags: RegisterFile::conditions has an element for each pair.
// * Numbers from first_register_condition on test bits of a general register: register_test().
// The numbers in between are for the users of conditions.
using JumpCondition = uint16_t;
constexpr JumpCondition first_register_condition = 32;

// The condition that `count` bits of a register are 0, from the bit `first` on. `count` is a power of two below 128.
constexpr JumpCondition if_zero(int number, unsigned first, unsigned count) {
    unsigned power = 0;
    while (1U << power < count)
        power++;
    return static_cast<JumpCondition>(first_register_condition +
                                      2 * ((static_cast<unsigned>(number) * 64 + first) * 7 + power));
}
// The test that the even one of such a pair of conditions stands for.
constexpr RegisterTest register_test(JumpCondition condition) {
    const unsigned parts = (condition - first_register_condition) / 2U, power = parts % 7, first = parts / 7 % 64;
    const uint64_t bits = ~uint64_t{0} >> (64 - (1U << power));
    return {static_cast<int>(parts / 7 / 64), bits << first, 0};
}

// What a call does. Sizes are in bytes.
struct CallFrame {
    int64_t pushed, pushed_in_32_bit_mode; // the size of the return address on the stack; 0: it is in a register
    // From the frame pointer's target to the stack pointer at the function's entry. Empty if the function decides where
    // in its frame the target is.
    std::optional<int64_t> entry_above_frame_pointer;
    int return_register = -1; // has the return address at the entry; -1: it is on the stack
    // A return address has so many bits. The bits above can contain a signature while the function runs.
    unsigned return_address_bits = 64;
};

// How functions of C return a value in memory: the caller passes the address of that memory.
struct ResultInMemory {
    int address;      // the register with the address, at the entry
    bool is_returned; // the function returns the address like a pointer
};

// Registers by their numbers in .eh_frame.
struct UnwindColumns {
    int stack_pointer, frame_pointer, return_address;
};

struct RegisterFile {
    // Names by number, for the general registers and then the instruction pointer.
    std::span<const RegisterNames> names;
    int stack_pointer, frame_pointer, instruction_pointer;
    std::span<const int> results;   // of a function: the registers of an integer or a pointer, the first part first
    std::span<const int> arguments; // of a function: integers and pointers, in order
    int vector_arguments;           // the number of vector registers for arguments; they are the first ones
    // After an argument for which too few registers were left, smaller arguments are passed in these registers.
    bool later_arguments_fit;
    ResultInMemory memory_result;
    std::span<const uint32_t> saved_at; // offsets of the registers in the kernel's struct pt_regs, by number
    std::span<const StateRegister> state;
    RegisterTest in_user_mode;                 // the thread was in user space
    RegisterTest in_wide_mode, in_32_bit_mode; // the thread's program has 64 bits or 32 bits
    // In a probe at an instruction of the kernel: the distance of the saved instruction pointer from that instruction.
    int64_t behind_breakpoint;
    CallFrame call;
    std::span<const FlagsCondition> conditions; // by half of a JumpCondition

    int count() const { return static_cast<int>(names.size()); }
    int result() const { return results[0]; }
    // The name of the whole register. Returns "" for a number without a register.
    std::string_view name(int64_t number) const {
        return number >= 0 && number < count() ? names[static_cast<size_t>(number)].names[0] : std::string_view();
    }
    // Returns the offset in struct pt_regs of a register or of a state register, which must exist.
    uint32_t offset(int number) const {
        if (number >= 0)
            return saved_at[static_cast<size_t>(number)];
        return std::ranges::find(state, number, &StateRegister::number)->saved_at;
    }
    // The size of a saved register in bytes.
    uint32_t size(int number) const {
        return number >= 0 ? 8 : std::ranges::find(state, number, &StateRegister::number)->size;
    }
    // A part of a register: its first bit, and its size in bytes.
    struct Part {
        int number;
        uint32_t size, first_bit;
    };
    // Finds a register or a part by its name.
    std::optional<Part> find(std::string_view name) const {
        constexpr uint32_t sizes[RegisterNames::widths] = {8, 4, 2, 1, 1};
        for (size_t i = 0; !name.empty() && i < names.size(); i++)
            for (int width = 0; width < RegisterNames::widths; width++)
                if (name == names[i].names[width])
                    return Part{static_cast<int>(i), sizes[width], width == RegisterNames::widths - 1 ? 8u : 0u};
        return std::nullopt;
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
    int64_t stack_arguments;       // from the stack pointer at the entry to the first argument there
};

} // namespace sonde
