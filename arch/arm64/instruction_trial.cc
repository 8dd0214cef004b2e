// The samples, and the switch between C++ and a sample.
#include "arch/instruction_trial.h"

#ifdef __aarch64__

#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "arch/arm64/hazards.h"
#include "arch/arm64/trial_state.h"

namespace sonde {
namespace {

using arm64::Arm64Hazard;

struct Sample {
    Arm64Hazard hazard;
    uint32_t code;
    unsigned long needs = 0; // a bit of AT_HWCAP
};

// Each entry is a different way in which a kernel can fail. Literals are 64 bytes behind the instruction. There, the
// page has breakpoints, and the kernel's page of copied instructions has something else.
constexpr Sample samples[] = {
    {Arm64Hazard::VectorLiteral, 0x1c000200},              // ldr s0, .+64
    {Arm64Hazard::VectorLiteral, 0x5c000200},              // ldr d0, .+64
    {Arm64Hazard::VectorLiteral, 0x9c000200},              // ldr q0, .+64
    {Arm64Hazard::Ordered, 0xc8dffc20},                    // ldar x0, [x1]
    {Arm64Hazard::Ordered, 0xc89ffc20},                    // stlr x0, [x1]
    {Arm64Hazard::CompareSwap, 0x88a07c41, HWCAP_ATOMICS}, // cas w0, w1, [x2]
    {Arm64Hazard::Authenticated, 0xd50323bf, HWCAP_PACA},  // autiasp
    {Arm64Hazard::Authenticated, 0xd65f0bff, HWCAP_PACA},  // retaa
    {Arm64Hazard::Refused, 0xd503203f},                    // yield
    {Arm64Hazard::Refused, 0xd51b4200},                    // msr nzcv, x0
    {Arm64Hazard::Refused, 0xd8000200},                    // prfm pldl1keep, .+64
    {Arm64Hazard::Refused, 0xd500401f, HWCAP_FLAGM},       // cfinv
    {Arm64Hazard::Refused, 0x48207c82, HWCAP_ATOMICS},     // casp x0, x1, x2, x3, [x4]
};

std::string_view bytes_of(const uint32_t& code) { return {reinterpret_cast<const char*>(&code), sizeof code}; }

} // namespace
} // namespace sonde

// The switch between C++ and a sample. `sonde_trial_enter` saves the callee-saved registers, loads `sonde_trial_state`
// and jumps to the sample. The code after the sample jumps to `sonde_trial_exit`, which stores the registers in
// `sonde_trial_state` again. The signal handler stores them itself and continues at `sonde_trial_back`.
//
// Jumps need a register. x17 is the one that the ABI reserves for linkers, so no sample uses it, and its value is not
// compared. Nothing here may use the stack while a sample's registers are loaded: sp points to the sample's own stack.
extern "C" {
__attribute__((used)) sonde::TrialState sonde_trial_state;
void sonde_trial_enter(const void* code);
void sonde_trial_exit();
void sonde_trial_back();
}
asm(R"(
.text
.balign 4
.globl sonde_trial_enter, sonde_trial_exit, sonde_trial_back
sonde_trial_enter:
    hint #34
    stp x29, x30, [sp, #-160]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    adrp x16, sonde_trial_stack
    add x16, x16, :lo12:sonde_trial_stack
    mov x17, sp
    str x17, [x16]
    mov x17, x0
    adrp x16, sonde_trial_state
    add x16, x16, :lo12:sonde_trial_state
    add x1, x16, #264
    ldp q0, q1, [x1]
    ldp q2, q3, [x1, #32]
    ldr x1, [x16, #256]
    msr nzcv, x1
    ldr x1, [x16, #248]
    mov sp, x1
    ldp x0, x1, [x16]
    ldp x2, x3, [x16, #16]
    ldp x4, x5, [x16, #32]
    ldp x6, x7, [x16, #48]
    ldp x8, x9, [x16, #64]
    ldp x10, x11, [x16, #80]
    ldp x12, x13, [x16, #96]
    ldp x14, x15, [x16, #112]
    ldp x18, x19, [x16, #144]
    ldp x20, x21, [x16, #160]
    ldp x22, x23, [x16, #176]
    ldp x24, x25, [x16, #192]
    ldp x26, x27, [x16, #208]
    ldp x28, x29, [x16, #224]
    ldr x30, [x16, #240]
    ldr x16, [x16, #128]
    br x17
sonde_trial_exit:
    hint #36
    adrp x17, sonde_trial_state
    add x17, x17, :lo12:sonde_trial_state
    stp x0, x1, [x17]
    stp x2, x3, [x17, #16]
    stp x4, x5, [x17, #32]
    stp x6, x7, [x17, #48]
    stp x8, x9, [x17, #64]
    stp x10, x11, [x17, #80]
    stp x12, x13, [x17, #96]
    stp x14, x15, [x17, #112]
    stp x16, xzr, [x17, #128]
    stp x18, x19, [x17, #144]
    stp x20, x21, [x17, #160]
    stp x22, x23, [x17, #176]
    stp x24, x25, [x17, #192]
    stp x26, x27, [x17, #208]
    stp x28, x29, [x17, #224]
    mov x0, sp
    stp x30, x0, [x17, #240]
    mrs x0, nzcv
    str x0, [x17, #256]
    add x0, x17, #264
    stp q0, q1, [x0]
    stp q2, q3, [x0, #32]
sonde_trial_back:
    adrp x16, sonde_trial_stack
    add x16, x16, :lo12:sonde_trial_stack
    ldr x17, [x16]
    mov sp, x17
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    ldp x29, x30, [sp], #160
    ret
.local sonde_trial_stack
.comm sonde_trial_stack, 8, 8
)");

namespace sonde {

static_assert(offsetof(TrialState, flags) == 256 && offsetof(TrialState, vectors) == 264);

void take_trial_signal(int signal, void* context) {
    mcontext_t& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
    std::copy(std::begin(registers.regs), std::end(registers.regs), sonde_trial_state.registers.begin());
    constexpr size_t linkers = 17, stack = 31;
    sonde_trial_state.registers[linkers] = 0;
    sonde_trial_state.registers[stack] = registers.sp;
    sonde_trial_state.flags = 0;
    sonde_trial_state.place = registers.pc;
    sonde_trial_state.signal = static_cast<uint64_t>(signal);
    registers.pc = reinterpret_cast<uint64_t>(&sonde_trial_back);
    constexpr uint64_t branch_type = 0xc00; // of an indirect jump that led to the fault
    registers.pstate &= ~branch_type;
}

std::vector<TrialSample> trial_samples() {
    const unsigned long has = getauxval(AT_HWCAP);
    std::vector<TrialSample> out;
    for (const Sample& one : samples)
        if ((has & one.needs) == one.needs)
            out.push_back({static_cast<Hazard>(one.hazard), bytes_of(one.code)});
    return out;
}

// The address of the exit follows the jump as data: the page can be farther from the program than a direct jump
// reaches.
std::string trial_page(std::string_view sample, size_t size, size_t at) {
    constexpr uint32_t breakpoint = 0xd4200000, jump[] = {0x58000051, 0xd61f0220}; // ldr x17, .+8; br x17
    std::string out;
    while (out.size() < size)
        out.append(bytes_of(breakpoint));
    const auto exit = reinterpret_cast<uint64_t>(&sonde_trial_exit);
    out.replace(at, sample.size(), sample);
    out.replace(at + sample.size(), sizeof jump, reinterpret_cast<const char*>(jump), sizeof jump);
    out.replace(at + sample.size() + sizeof jump, sizeof exit, reinterpret_cast<const char*>(&exit), sizeof exit);
    return out;
}

// Each register points to another part of `data`. A sample with any memory operand can then run, and a kernel that uses
// the wrong register or the wrong memory leaves a different result. The vectors have different bytes for the same
// reason.
void begin_trial(std::string_view /*sample*/, char* data, char* stack, const char* behind_sample) {
    sonde_trial_state = {};
    constexpr size_t link = 30, top = 31;
    for (size_t i = 0; i < link; i++)
        sonde_trial_state.registers[i] = reinterpret_cast<uint64_t>(data) + 1024 + 192 * i;
    sonde_trial_state.registers[link] = reinterpret_cast<uint64_t>(behind_sample);
    sonde_trial_state.registers[top] = reinterpret_cast<uint64_t>(stack);
    sonde_trial_state.flags = 0x20000000; // carry
    for (size_t i = 0; i < sonde_trial_state.vectors.size(); i++)
        sonde_trial_state.vectors[i].fill(static_cast<uint8_t>(0x31 + 0x15 * i));
}

void run_trial_sample(const void* code) { sonde_trial_enter(code); }

const TrialState& trial_state() { return sonde_trial_state; }

} // namespace sonde

#endif
