// The samples, and the switch between C++ and a sample.
#include "arch/instruction_trial.h"

#ifdef __x86_64__

#include <ucontext.h>

#include <cstddef>
#include <cstring>
#include <iterator>

#include "arch/x86_64/hazards.h"
#include "arch/x86_64/trial_state.h"

namespace sonde {
namespace {

// A part of the instruction set that not every processor has.
enum class Extension : uint8_t { None, Avx, Avx2, Fma, Avx512, Xop };

struct Sample {
    X86Hazard hazard;
    std::string_view code;
    Extension needs = Extension::None;
};

using namespace std::string_view_literals;
// Each entry is a different way in which a kernel can fail. The comments give the instruction, and the instruction that
// the kernel takes it for.
constexpr Sample samples[] = {
    {X86Hazard::VectorAsJump, "\xc5\xf9\xeb\xc1"sv, Extension::Avx},            // vpor, as jmp
    {X86Hazard::VectorAsJump, "\xc5\xf9\xe9\xc1"sv, Extension::Avx},            // vpsubsw, as jmp
    {X86Hazard::VectorAsJump, "\xc5\xf9\xe8\xc1"sv, Extension::Avx},            // vpsubsb, as call
    {X86Hazard::VectorAsJump, "\xc5\xf9\x74\xc1"sv, Extension::Avx},            // vpcmpeqb, as je
    {X86Hazard::VectorAsJump, "\xc5\xf9\x73\xd9\x03"sv, Extension::Avx},        // vpsrldq, as jae
    {X86Hazard::VectorAsJump, "\xc4\xe2\x69\x90\x04\x0f"sv, Extension::Avx2},   // vpgatherdd, as nop
    {X86Hazard::VectorAsJump, "\x62\xf1\x7d\x08\xeb\xc1"sv, Extension::Avx512}, // EVEX vpord, as jmp
    {X86Hazard::VectorAsJump, "\x8f\xe9\x78\x90\xc0"sv, Extension::Xop},        // XOP vprotb, as nop
    {X86Hazard::VectorAsPush, "\xc5\xf8\x57\xc1"sv, Extension::Avx},            // vxorps
    {X86Hazard::VectorAsPush, "\xc5\xf8\x50\xc1"sv, Extension::Avx},            // vmovmskps
    {X86Hazard::VectorAsPush, "\x62\xf1\x7c\x08\x54\xc1"sv, Extension::Avx512}, // EVEX vandps
    {X86Hazard::VectorAsReturn, "\xc5\xf8\xc2\xc1\x01"sv, Extension::Avx},      // vcmpps, as ret
    {X86Hazard::VectorAsReturn, "\xc5\xf8\xc2\x05\x40\x00\x00\x00\x01"sv,
     Extension::Avx},                                                      // with an operand relative to rip
    {X86Hazard::VectorAsReturn, "\xc4\xe2\x71\x9d\xc2"sv, Extension::Fma}, // vfnmadd132ss, as popf
    {X86Hazard::ExchangeAsNop, "\x49\x90"sv},                              // xchg %r8, %rax
    {X86Hazard::ExchangeAsNop, "\x41\x90"sv},                              // xchg %r8d, %eax
    {X86Hazard::ExchangeAsNop, "\xf3\x41\x90"sv},                          // with a prefix
    {X86Hazard::Pause, "\xf3\x90"sv},                                      // pause
    {X86Hazard::ProcessorInfo, "\x0f\xa2\x48\x8d\x35\0\0\0\0"sv},          // cpuid; lea 0(%rip), %rsi
    {X86Hazard::ShortPush, "\x66\x50"sv},                                  // push %ax
    {X86Hazard::ShortPush, "\x66\x41\x50"sv},                              // push %r8w
    {X86Hazard::ShortPush, "\x66\xff\x36"sv},                              // pushw (%rsi)
    {X86Hazard::ShortPush, "\x66\x6a\x05"sv},                              // pushw $5
    {X86Hazard::PushFlags, "\x9c"sv},                                      // pushf
    {X86Hazard::PushFlags, "\x66\x9c"sv},                                  // pushfw
    {X86Hazard::DescriptorTable, "\x0f\x00\xc8"sv},                        // str
    {X86Hazard::DescriptorTable, "\x0f\x01\x07"sv},                        // sgdt (%rdi)
    {X86Hazard::DescriptorTable, "\x0f\x01\xe0"sv},                        // smsw
    {X86Hazard::RedZoneNop, "\x0f\x1f\x44\x00\x00"sv},                     // nopl 0(%rax, %rax)
    {X86Hazard::RedZoneNop, "\x66\x0f\x1f\x40\x00"sv},                     // nopw 0(%rax)
    {X86Hazard::LongNop, "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"sv},    // cs nopw 0(%rax, %rax)
    {X86Hazard::LongNop, "\x66\x66\x0f\x1f\x84\x00\x00\x00\x00\x00"sv},    // data16 nopw 0(%rax, %rax)
    {X86Hazard::VectorRefused, "\xc5\xf9\x6e\xc0"sv, Extension::Avx},      // vmovd
    {X86Hazard::VectorRefused, "\xc5\xf9\xea\xc1"sv, Extension::Avx},      // vpminsw
    {X86Hazard::VectorRefused, "\xc4\xe2\x71\x9a\xc2"sv, Extension::Fma},  // vfmsub132ps
    {X86Hazard::UnknownPrefix, "\xf2\x0f\x42\x05\x40\x00\x00\x00"sv},      // cmovb, relative to rip
    {X86Hazard::UnknownPrefix, "\xf3\x0f\x42\x05\x40\x00\x00\x00"sv},
    {X86Hazard::Refused, "\x2e\x8b\x07"sv},     // mov %cs:(%rdi), %eax
    {X86Hazard::Refused, "\xf0\x48\x01\x07"sv}, // lock add
    {X86Hazard::Refused, "\x66\x73\x00"sv},     // jae with another prefix
    {X86Hazard::Repeated, "\xf3\xa4"sv},        // rep movsb
    {X86Hazard::Repeated, "\xf3\x48\xab"sv},    // rep stosq
    {X86Hazard::Repeated, "\xf2\xae"sv},        // repne scasb
};

bool has(Extension needs) {
    switch (needs) {
    case Extension::None:
        return true;
    case Extension::Avx:
        return __builtin_cpu_supports("avx");
    case Extension::Avx2:
        return __builtin_cpu_supports("avx2");
    case Extension::Fma:
        return __builtin_cpu_supports("fma");
    case Extension::Avx512:
        return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    case Extension::Xop:
        return __builtin_cpu_supports("xop");
    }
    return false;
}

} // namespace
} // namespace sonde

// The switch between C++ and a sample. `sonde_trial_enter` saves the callee-saved registers, loads `sonde_trial_state`
// and jumps to the sample. The code after the sample jumps to `sonde_trial_exit`, which stores the registers in
// `sonde_trial_state` again. The signal handler stores them itself and continues at `sonde_trial_back`.
//
// The saved stack pointer and the target are global variables, so only one sample can run at a time. Nothing here may
// use the stack while a sample's registers are loaded: rsp points to the sample's own stack.
extern "C" {
__attribute__((used)) sonde::TrialState sonde_trial_state;
void sonde_trial_enter(const void* code);
void sonde_trial_exit();
void sonde_trial_back();
}
asm(R"(
.text
.globl sonde_trial_enter, sonde_trial_exit, sonde_trial_back
sonde_trial_enter:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, sonde_trial_stack(%rip)
    mov %rdi, sonde_trial_target(%rip)
    lea sonde_trial_state(%rip), %rax
    movups 136(%rax), %xmm0
    movups 152(%rax), %xmm1
    movups 168(%rax), %xmm2
    movups 184(%rax), %xmm3
    pushq 128(%rax)
    popfq
    mov 8(%rax), %rcx
    mov 16(%rax), %rdx
    mov 24(%rax), %rbx
    mov 32(%rax), %rsp
    mov 40(%rax), %rbp
    mov 48(%rax), %rsi
    mov 56(%rax), %rdi
    mov 64(%rax), %r8
    mov 72(%rax), %r9
    mov 80(%rax), %r10
    mov 88(%rax), %r11
    mov 96(%rax), %r12
    mov 104(%rax), %r13
    mov 112(%rax), %r14
    mov 120(%rax), %r15
    mov (%rax), %rax
    jmp *sonde_trial_target(%rip)
sonde_trial_exit:
    mov %rax, sonde_trial_state(%rip)
    mov %rcx, 8+sonde_trial_state(%rip)
    mov %rdx, 16+sonde_trial_state(%rip)
    mov %rbx, 24+sonde_trial_state(%rip)
    mov %rsp, 32+sonde_trial_state(%rip)
    mov %rbp, 40+sonde_trial_state(%rip)
    mov %rsi, 48+sonde_trial_state(%rip)
    mov %rdi, 56+sonde_trial_state(%rip)
    mov %r8, 64+sonde_trial_state(%rip)
    mov %r9, 72+sonde_trial_state(%rip)
    mov %r10, 80+sonde_trial_state(%rip)
    mov %r11, 88+sonde_trial_state(%rip)
    mov %r12, 96+sonde_trial_state(%rip)
    mov %r13, 104+sonde_trial_state(%rip)
    mov %r14, 112+sonde_trial_state(%rip)
    mov %r15, 120+sonde_trial_state(%rip)
    movups %xmm0, 136+sonde_trial_state(%rip)
    movups %xmm1, 152+sonde_trial_state(%rip)
    movups %xmm2, 168+sonde_trial_state(%rip)
    movups %xmm3, 184+sonde_trial_state(%rip)
    mov sonde_trial_stack(%rip), %rsp
    pushfq
    popq 128+sonde_trial_state(%rip)
sonde_trial_back:
    cld
    mov sonde_trial_stack(%rip), %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
.local sonde_trial_stack, sonde_trial_target
.comm sonde_trial_stack, 8, 8
.comm sonde_trial_target, 8, 8
)");

namespace sonde {

static_assert(offsetof(TrialState, flags) == 128 && offsetof(TrialState, vectors) == 136);

void take_trial_signal(int signal, void* context) {
    constexpr int numbers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    for (size_t i = 0; i < std::size(numbers); i++)
        sonde_trial_state.registers[i] = static_cast<uint64_t>(registers[numbers[i]]);
    sonde_trial_state.flags = 0; // the kernel sets the resume flag in some cases, which would differ by chance
    sonde_trial_state.place = static_cast<uint64_t>(registers[REG_RIP]);
    sonde_trial_state.signal = static_cast<uint64_t>(signal);
    registers[REG_RIP] = reinterpret_cast<greg_t>(&sonde_trial_back);
}

std::vector<TrialSample> trial_samples() {
    std::vector<TrialSample> out;
    for (const Sample& one : samples)
        if (has(one.needs))
            out.push_back({static_cast<Hazard>(one.hazard), one.code});
    return out;
}

// The address of the exit follows the jump as data: the page can be farther from the program than a direct jump
// reaches.
std::string trial_page(std::string_view sample, size_t size, size_t at) {
    std::string out(size, '\xcc');
    const auto exit = reinterpret_cast<uint64_t>(&sonde_trial_exit);
    std::string jump("\xff\x25\0\0\0\0", 6); // jmp *0(%rip)
    jump.append(reinterpret_cast<const char*>(&exit), sizeof exit);
    out.replace(at, sample.size(), sample);
    out.replace(at + sample.size(), jump.size(), jump);
    return out;
}

// Each register points to another part of `data`. A sample with any memory operand can then run, and a kernel that uses
// the wrong register or the wrong memory leaves a different result. The vectors have different bytes for the same
// reason.
void begin_trial(std::string_view sample, char* data, char* stack, const char* behind_sample) {
    const auto top = reinterpret_cast<uint64_t>(stack), back = reinterpret_cast<uint64_t>(behind_sample);
    std::memcpy(stack, &back, sizeof back);
    sonde_trial_state = {};
    for (size_t i = 0; i < sonde_trial_state.registers.size(); i++)
        sonde_trial_state.registers[i] = reinterpret_cast<uint64_t>(data) + 1024 + 256 * i;
    sonde_trial_state.registers[1] = 3; // rcx: elements of a string instruction
    sonde_trial_state.registers[4] = top;
    sonde_trial_state.flags = 0x203; // carry, interrupts, and the bit that is always set
    for (size_t i = 0; i < sonde_trial_state.vectors.size(); i++)
        sonde_trial_state.vectors[i].fill(static_cast<uint8_t>(0x31 + 0x15 * i));
    if (sample.starts_with("\xc4\xe2\x69\x90")) // vpgatherdd: small indices
        sonde_trial_state.vectors[1].fill(0);
}

void run_trial_sample(const void* code) { sonde_trial_enter(code); }

const TrialState& trial_state() { return sonde_trial_state; }

} // namespace sonde

#endif
