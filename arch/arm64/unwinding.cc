// Call frame information on arm64 (DWARF for the Arm 64-bit Architecture, section 4).
#include "arch/arm64/unwinding.h"

#include <array>

#include "arch/arm64/registers.h"

namespace sonde::arm64 {
namespace {

using namespace std::literals;

constexpr uint64_t saved[] = {19, 20, 21, 22, 23}, saved_beyond[] = {24, 25, 26, 27, 28};
// At the stack pointer is struct rt_sigframe: 128 bytes of siginfo, and struct ucontext, whose mcontext has x0 to x30,
// sp and pc as consecutive words (arch/arm64/kernel/signal.c, uapi/asm/sigcontext.h).
constexpr auto in_signal_frame = [] {
    std::array<uint64_t, pc + 1> out{};
    for (uint64_t i = 0; i < out.size(); i++)
        out[i] = i;
    return out;
}();
constexpr int64_t first_in_frame = 312;

} // namespace

const UnwindTraits& unwind_traits() {
    static constexpr UnwindTraits out = {.return_address = lr,
                                         .has_link_register = true,
                                         .registers = pc + 1,
                                         .saved = saved,
                                         .saved_beyond = saved_beyond,
                                         .frame_expression = "\x8d\x00"sv, // DW_OP_breg29 0
                                         .signal_frame = {in_signal_frame, first_in_frame, first_in_frame + 8 * sp}};
    static_assert(out.registers <= most_unwind_registers);
    return out;
}

} // namespace sonde::arm64
