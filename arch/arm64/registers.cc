// Tables of registers, in the order of DWARF numbers. This is also their order in struct pt_regs.
#include "arch/arm64/registers.h"

#include <array>
#include <iterator>

#include <fmt/format.h>

#include "arch/arm64/pt_regs.h"

namespace sonde::arm64 {
namespace {

constexpr RegisterNames names[] = {
    {{"x0", "w0", "", "", ""}},   {{"x1", "w1", "", "", ""}},   {{"x2", "w2", "", "", ""}},
    {{"x3", "w3", "", "", ""}},   {{"x4", "w4", "", "", ""}},   {{"x5", "w5", "", "", ""}},
    {{"x6", "w6", "", "", ""}},   {{"x7", "w7", "", "", ""}},   {{"x8", "w8", "", "", ""}},
    {{"x9", "w9", "", "", ""}},   {{"x10", "w10", "", "", ""}}, {{"x11", "w11", "", "", ""}},
    {{"x12", "w12", "", "", ""}}, {{"x13", "w13", "", "", ""}}, {{"x14", "w14", "", "", ""}},
    {{"x15", "w15", "", "", ""}}, {{"x16", "w16", "", "", ""}}, {{"x17", "w17", "", "", ""}},
    {{"x18", "w18", "", "", ""}}, {{"x19", "w19", "", "", ""}}, {{"x20", "w20", "", "", ""}},
    {{"x21", "w21", "", "", ""}}, {{"x22", "w22", "", "", ""}}, {{"x23", "w23", "", "", ""}},
    {{"x24", "w24", "", "", ""}}, {{"x25", "w25", "", "", ""}}, {{"x26", "w26", "", "", ""}},
    {{"x27", "w27", "", "", ""}}, {{"x28", "w28", "", "", ""}}, {{"x29", "w29", "", "", ""}},
    {{"x30", "w30", "", "", ""}}, {{"sp", "wsp", "", "", ""}},  {{"pc", "", "", "", ""}},
};
constexpr auto saved_at = [] {
    std::array<uint32_t, std::size(names)> out{};
    for (uint32_t i = 0; i < out.size(); i++)
        out[i] = 8 * i;
    return out;
}();
static_assert(saved_at[sp] == SONDE_REGS_SP && saved_at[pc] == SONDE_REGS_PC);
constexpr StateRegister state[] = {
    {{{"pstate", "", "", "", ""}}, flags_register, SONDE_REGS_FLAGS},
    {{{"orig_x0", "", "", "", ""}}, kept_argument_register, SONDE_REGS_ORIG_X0},
    {{{"syscallno", "", "", "", ""}}, syscall_number_register, SONDE_REGS_SYSCALL, 4},
    {{{"fp", "", "", "", ""}}, fp, SONDE_REGS_FP},
    {{{"lr", "", "", "", ""}}, lr, SONDE_REGS_LR},
};

// Bits of PSTATE. The manual's section C1.2.4 says which of them each condition tests. The even ones of the conditions
// of `b.cond` are these; `al` and `nv` are not conditions.
constexpr uint64_t negative = uint64_t{1} << 31, zero = 1 << 30, carry = 1 << 29, overflow = 1 << 28;
constexpr FlagsCondition conditions[] = {
    {.any_set = zero},                                                   // equal
    {.any_set = carry},                                                  // higher or same
    {.any_set = negative},                                               // minus
    {.any_set = overflow},                                               // overflow
    {.any_set = zero, .any_clear = carry, .opposite = true},             // higher
    {.differ = {negative, overflow}, .opposite = true},                  // greater or equal
    {.any_set = zero, .differ = {negative, overflow}, .opposite = true}, // greater
};

} // namespace

// AAPCS64, section 6.8.2.
const RegisterFile& registers() {
    static constexpr int arguments[] = {x0, x1, x2, x3, x4, x5, x6, x7}, results[] = {x0, x1};
    static constexpr RegisterFile out = {.names = names,
                                         .stack_pointer = sp,
                                         .frame_pointer = fp,
                                         .instruction_pointer = pc,
                                         .results = results,
                                         .arguments = arguments,
                                         .vector_arguments = 8,
                                         .later_arguments_fit = false,
                                         .memory_result = {.address = x8, .is_returned = false},
                                         .saved_at = saved_at,
                                         .state = state,
                                         .in_user_mode = {flags_register, SONDE_MODE_LEVEL, 0},
                                         .in_wide_mode = {flags_register, SONDE_MODE_32_BIT, 0},
                                         .in_32_bit_mode = {flags_register, SONDE_MODE_32_BIT, SONDE_MODE_32_BIT},
                                         .behind_breakpoint = 0,
                                         .call = {.pushed = 0,
                                                  .pushed_in_32_bit_mode = 0,
                                                  .entry_above_frame_pointer = {},
                                                  .return_register = lr,
                                                  .return_address_bits = 48},
                                         .conditions = conditions};
    return out;
}

// cmd/compile/abi-internal.md, "arm64 architecture".
const GoConvention& go_convention() {
    static constexpr int integers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static constexpr GoConvention out = {.goroutine = 28,
                                         .goroutine_in_assembly = 28,
                                         .stack_is_used_up = 9, // ls: lower or same
                                         .integers = integers,
                                         .floats = 16,
                                         .stack_arguments = 8}; // the callee saves its return address there
    return out;
}

std::string unreadable_register(uint64_t number) {
    if (number >= 64 && number <= 95)
        return fmt::format("is in the vector register v{}, which a probe cannot read", number - 64);
    return fmt::format("is in register {}, which a probe cannot read", number);
}

} // namespace sonde::arm64
