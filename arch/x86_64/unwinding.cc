// Call frame information on x86-64 and i386 (System V psABI, section 3.6.2, and 2.4.2).
#include "arch/x86_64/unwinding.h"

#include "arch/x86_64/operands.h"

namespace sonde::x86 {
namespace {

using namespace std::literals;

constexpr uint64_t saved_wide[] = {rbx, 12, 13, 14, 15}, saved_narrow[] = {rbx, rsi, rdi};
// At the stack pointer is struct ucontext, which has these registers as consecutive words.
constexpr uint64_t in_signal_frame[] = {8, 9, 10, 11, 12, 13, 14, 15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip};

constexpr UnwindTraits traits(std::span<const uint64_t> saved, std::string_view frame_expression) {
    return {.return_address = rip,
            .has_link_register = false,
            .registers = rip + 1,
            .saved = saved,
            .saved_beyond = {},
            .frame_expression = frame_expression,
            .signal_frame = {in_signal_frame, 40, 160}};
}

} // namespace

// DW_OP_breg6 0; in i386 code DW_OP_breg5 0.
const UnwindTraits& unwind_traits(X86Mode mode) {
    static constexpr UnwindTraits wide = traits(saved_wide, "\x76\x00"sv), narrow = traits(saved_narrow, "\x75\x00"sv);
    return mode == X86Mode::Long ? wide : narrow;
}

} // namespace sonde::x86
