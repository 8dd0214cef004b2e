// Tables of registers. The order of `names` and `saved_at` is that of DWARF numbers, which differs from the order in
// encodings of instructions: rdx is 1 here and 2 there.
#include "arch/x86_64/registers.h"

#include <iterator>

#include <fmt/format.h>

#include "arch/x86_64/operands.h"
#include "arch/x86_64/pt_regs.h"

namespace sonde::x86 {
namespace {

// System V psABI, figure 3.36.
constexpr RegisterNames names[] = {
    {{"rax", "eax", "ax", "al", "ah"}},    {{"rdx", "edx", "dx", "dl", "dh"}},    {{"rcx", "ecx", "cx", "cl", "ch"}},
    {{"rbx", "ebx", "bx", "bl", "bh"}},    {{"rsi", "esi", "si", "sil", ""}},     {{"rdi", "edi", "di", "dil", ""}},
    {{"rbp", "ebp", "bp", "bpl", ""}},     {{"rsp", "esp", "sp", "spl", ""}},     {{"r8", "r8d", "r8w", "r8b", ""}},
    {{"r9", "r9d", "r9w", "r9b", ""}},     {{"r10", "r10d", "r10w", "r10b", ""}}, {{"r11", "r11d", "r11w", "r11b", ""}},
    {{"r12", "r12d", "r12w", "r12b", ""}}, {{"r13", "r13d", "r13w", "r13b", ""}}, {{"r14", "r14d", "r14w", "r14b", ""}},
    {{"r15", "r15d", "r15w", "r15b", ""}}, {{"rip", "eip", "ip", "", ""}},
};
constexpr uint32_t saved_at[] = {SONDE_REGS_AX,  SONDE_REGS_DX,  SONDE_REGS_CX,  SONDE_REGS_BX,  SONDE_REGS_SI,
                                 SONDE_REGS_DI,  SONDE_REGS_BP,  SONDE_REGS_SP,  SONDE_REGS_R8,  SONDE_REGS_R9,
                                 SONDE_REGS_R10, SONDE_REGS_R11, SONDE_REGS_R12, SONDE_REGS_R13, SONDE_REGS_R14,
                                 SONDE_REGS_R15, SONDE_REGS_IP};
static_assert(std::size(names) == std::size(saved_at));
constexpr StateRegister state[] = {
    {{{"rflags", "eflags", "flags", "", ""}}, flags_register, SONDE_REGS_FLAGS},
    {{{"cs", "xcs", "", "", ""}}, code_segment_register, SONDE_REGS_CS},
    {{{"ss", "xss", "", "", ""}}, stack_segment_register, SONDE_REGS_SS},
    {{{"orig_rax", "orig_eax", "orig_ax", "", ""}}, syscall_number_register, SONDE_REGS_ORIG_AX},
};

// Bits of the flags register (Intel SDM volume 1, section 3.4.3). Appendix B of that volume says which of them each
// condition tests. The 16 conditions of `jcc` are 8 pairs: an odd number is the opposite of the even number before it.
constexpr uint64_t carry = 1, parity = 4, zero = 0x40, sign = 0x80, overflow = 0x800;
constexpr FlagsCondition conditions[] = {
    {.any_set = overflow},
    {.any_set = carry}, // below
    {.any_set = zero},  // equal
    {.any_set = carry | zero},
    {.any_set = sign},
    {.any_set = parity},
    {.differ = {sign, overflow}}, // less
    {.any_set = zero, .differ = {sign, overflow}},
};

// Both modes save their registers in the same struct pt_regs. They differ in the registers of arguments and results,
// and in the size of a word on the stack.
constexpr RegisterFile file(std::span<const int> arguments, int vector_arguments, std::span<const int> results,
                            int64_t word) {
    return {.names = names,
            .stack_pointer = rsp,
            .frame_pointer = rbp,
            .instruction_pointer = rip,
            .results = results,
            .arguments = arguments,
            .vector_arguments = vector_arguments,
            .later_arguments_fit = true,
            .memory_result = {.address = rdi, .is_returned = true},
            .saved_at = saved_at,
            .state = state,
            .in_user_mode = {code_segment_register, SONDE_CS_PRIVILEGE, SONDE_CS_PRIVILEGE},
            .in_wide_mode = {code_segment_register, SONDE_CS_BITS, SONDE_USER_CS},
            .in_32_bit_mode = {code_segment_register, SONDE_CS_BITS, SONDE_USER32_CS},
            .behind_breakpoint = 1, // int3
            .call = {.pushed = word, .pushed_in_32_bit_mode = 4, .entry_above_frame_pointer = word},
            .conditions = conditions};
}

} // namespace

// System V psABI, section 3.2.3.
const RegisterFile& wide_registers() {
    static constexpr int arguments[] = {rdi, rsi, rdx, rcx, r8, r9}, results[] = {rax, rdx};
    static constexpr RegisterFile out = file(arguments, 8, results, 8);
    return out;
}

// Arguments are on the stack, except those of functions with the attribute regparm.
const RegisterFile& narrow_registers() {
    static constexpr int arguments[] = {rax, rdx, rcx}, results[] = {rax, rdx};
    static constexpr RegisterFile out = file(arguments, 0, results, 4);
    return out;
}

const GoConvention& go_convention() {
    static constexpr int integers[] = {rax, rbx, rcx, rdi, rsi, r8, r9, r10, r11};
    constexpr uint8_t below_or_equal = 6;
    static constexpr GoConvention out = {.goroutine = r14,
                                         .goroutine_in_assembly = rcx,
                                         .stack_is_used_up = below_or_equal,
                                         .integers = integers,
                                         .floats = 15,
                                         .stack_arguments = 8}; // the return address
    return out;
}

uint64_t register_of_i386(uint64_t dwarf_number) {
    constexpr uint64_t general[] = {rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, rip};
    constexpr uint64_t st0 = 11, xmm0 = 21, eight = 8, other = 64;
    if (dwarf_number < std::size(general))
        return general[dwarf_number];
    if (dwarf_number >= st0 && dwarf_number < st0 + eight)
        return 33 + dwarf_number - st0;
    return dwarf_number >= xmm0 && dwarf_number < xmm0 + eight ? 17 + dwarf_number - xmm0 : other;
}

std::string unreadable_register(uint64_t number) {
    if (number >= 17 && number <= 32)
        return fmt::format("is in the vector register xmm{}, which a probe cannot read", number - 17);
    if (number >= 33 && number <= 40)
        return "is in a floating point register, which a probe cannot read";
    return fmt::format("is in register {}, which a probe cannot read", number);
}

} // namespace sonde::x86
