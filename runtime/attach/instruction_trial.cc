// The problem: a uprobe replaces an instruction by a breakpoint. When the breakpoint is hit, the kernel emulates the
// instruction or executes a copy of it elsewhere. For some instructions the result is wrong, and the kernel attaches to
// them without an error. For example, it mistakes `vpor` (c5 f9 eb c1) for `jmp`, because it reads the byte eb as the
// opcode. The traced program then computes something else.
//
// The idea: execute a sample of each class twice, without and with a probe, and compare everything that the program
// could notice.
//
// 1. The samples are written to an anonymous file (memfd), one page for each. Other processes do not map this file, so
//    they cannot hit the probes.
// 2. A child process maps the file. It runs each sample `rounds` times from a fixed state: registers, flags, vector
//    registers, memory and stack. It stores the state after the last run.
// 3. The session puts a uprobe on each sample, and the child runs all samples again.
// 4. A class passes if both states are equal and each probe was hit exactly `rounds` times. A repeated string
//    instruction (`rep movsb`) has an equal state, but the kernel counts one hit for each element.
//
// The child must survive any result. A mistaken jump can go anywhere: the bytes around the sample are breakpoints, and
// a signal handler brings the child back. A sample that never comes back is stopped by a timer. If anything in the test
// itself fails, the class counts as broken: a probe that is refused is better than a changed program.
#include "runtime/attach/instruction_trial.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/fd.h"
#include "runtime/attach/attach.h"
#include "runtime/kernel/uprobe_session.h"

#ifdef __x86_64__

namespace sonde {
namespace {

// A part of the instruction set that not every processor has.
enum class Extension : uint8_t { None, Avx, Avx2, Fma, Avx512, Xop };

struct Sample {
    Hazard hazard;
    std::string_view code;
    Extension needs = Extension::None;
};

using namespace std::string_view_literals;
// Each entry is a different way in which a kernel can fail. The comments give the instruction, and the instruction that
// the kernel takes it for.
constexpr Sample samples[] = {
    {Hazard::VectorAsJump, "\xc5\xf9\xeb\xc1"sv, Extension::Avx},            // vpor, as jmp
    {Hazard::VectorAsJump, "\xc5\xf9\xe9\xc1"sv, Extension::Avx},            // vpsubsw, as jmp
    {Hazard::VectorAsJump, "\xc5\xf9\xe8\xc1"sv, Extension::Avx},            // vpsubsb, as call
    {Hazard::VectorAsJump, "\xc5\xf9\x74\xc1"sv, Extension::Avx},            // vpcmpeqb, as je
    {Hazard::VectorAsJump, "\xc5\xf9\x73\xd9\x03"sv, Extension::Avx},        // vpsrldq, as jae
    {Hazard::VectorAsJump, "\xc4\xe2\x69\x90\x04\x0f"sv, Extension::Avx2},   // vpgatherdd, as nop
    {Hazard::VectorAsJump, "\x62\xf1\x7d\x08\xeb\xc1"sv, Extension::Avx512}, // EVEX vpord, as jmp
    {Hazard::VectorAsJump, "\x8f\xe9\x78\x90\xc0"sv, Extension::Xop},        // XOP vprotb, as nop
    {Hazard::VectorAsPush, "\xc5\xf8\x57\xc1"sv, Extension::Avx},            // vxorps
    {Hazard::VectorAsPush, "\xc5\xf8\x50\xc1"sv, Extension::Avx},            // vmovmskps
    {Hazard::VectorAsPush, "\x62\xf1\x7c\x08\x54\xc1"sv, Extension::Avx512}, // EVEX vandps
    {Hazard::VectorAsReturn, "\xc5\xf8\xc2\xc1\x01"sv, Extension::Avx},      // vcmpps, as ret
    {Hazard::VectorAsReturn, "\xc5\xf8\xc2\x05\x40\x00\x00\x00\x01"sv,
     Extension::Avx},                                                   // with an operand relative to rip
    {Hazard::VectorAsReturn, "\xc4\xe2\x71\x9d\xc2"sv, Extension::Fma}, // vfnmadd132ss, as popf
    {Hazard::ExchangeAsNop, "\x49\x90"sv},                              // xchg %r8, %rax
    {Hazard::ExchangeAsNop, "\x41\x90"sv},                              // xchg %r8d, %eax
    {Hazard::ExchangeAsNop, "\xf3\x41\x90"sv},                          // with a prefix
    {Hazard::Pause, "\xf3\x90"sv},                                      // pause
    {Hazard::ShortPush, "\x66\x50"sv},                                  // push %ax
    {Hazard::ShortPush, "\x66\x41\x50"sv},                              // push %r8w
    {Hazard::ShortPush, "\x66\xff\x36"sv},                              // pushw (%rsi)
    {Hazard::ShortPush, "\x66\x6a\x05"sv},                              // pushw $5
    {Hazard::PushFlags, "\x9c"sv},                                      // pushf
    {Hazard::PushFlags, "\x66\x9c"sv},                                  // pushfw
    {Hazard::DescriptorTable, "\x0f\x00\xc8"sv},                        // str
    {Hazard::DescriptorTable, "\x0f\x01\x07"sv},                        // sgdt (%rdi)
    {Hazard::DescriptorTable, "\x0f\x01\xe0"sv},                        // smsw
    {Hazard::RedZoneNop, "\x0f\x1f\x44\x00\x00"sv},                     // nopl 0(%rax, %rax)
    {Hazard::RedZoneNop, "\x66\x0f\x1f\x40\x00"sv},                     // nopw 0(%rax)
    {Hazard::LongNop, "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"sv},    // cs nopw 0(%rax, %rax)
    {Hazard::LongNop, "\x66\x66\x0f\x1f\x84\x00\x00\x00\x00\x00"sv},    // data16 nopw 0(%rax, %rax)
    {Hazard::VectorRefused, "\xc5\xf9\x6e\xc0"sv, Extension::Avx},      // vmovd
    {Hazard::VectorRefused, "\xc5\xf9\xea\xc1"sv, Extension::Avx},      // vpminsw
    {Hazard::VectorRefused, "\xc4\xe2\x71\x9a\xc2"sv, Extension::Fma},  // vfmsub132ps
    {Hazard::UnknownPrefix, "\xf2\x0f\x42\x05\x40\x00\x00\x00"sv},      // cmovb, relative to rip
    {Hazard::UnknownPrefix, "\xf3\x0f\x42\x05\x40\x00\x00\x00"sv},
    {Hazard::Refused, "\x2e\x8b\x07"sv},     // mov %cs:(%rdi), %eax
    {Hazard::Refused, "\xf0\x48\x01\x07"sv}, // lock add
    {Hazard::Refused, "\x66\x73\x00"sv},     // jae with another prefix
    {Hazard::Repeated, "\xf3\xa4"sv},        // rep movsb
    {Hazard::Repeated, "\xf3\x48\xab"sv},    // rep stosq
    {Hazard::Repeated, "\xf2\xae"sv},        // repne scasb
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

constexpr int rounds = 3;
constexpr int round_limit_ms = 100; // some samples loop forever in the page where the kernel executes the copies
constexpr size_t page = 4096, sample_at = 2048, memory_bytes = 8192, red_zone = 128;

struct State {
    std::array<uint64_t, 16> registers; // in the order of their numbers in instructions: rax, rcx, rdx, rbx, rsp, ...
    uint64_t flags;
    std::array<std::array<uint8_t, 16>, 4> vectors;
    uint64_t place; // the instruction pointer at a signal
    uint64_t signal;
};

// The state after a sample. Both runs must be equal in all members.
struct Outcome {
    State state;
    uint64_t memory; // hash of the data and of the stack above the red zone
    bool done;
    bool operator==(const Outcome& other) const {
        return std::memcmp(&state, &other.state, sizeof state) == 0 && memory == other.memory && done == other.done;
    }
};

} // namespace
} // namespace sonde

// The switch between C++ and a sample. `sonde_trial_enter` saves the callee-saved registers, loads `sonde_trial_state`
// and jumps to the sample. The code after the sample jumps to `sonde_trial_exit`, which stores the registers in
// `sonde_trial_state` again. The signal handler stores them itself and continues at `sonde_trial_back`.
//
// The saved stack pointer and the target are global variables, so only one sample can run at a time. Nothing here may
// use the stack while a sample's registers are loaded: rsp points to the sample's own stack.
extern "C" {
__attribute__((used)) sonde::State sonde_trial_state;
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
namespace {

static_assert(offsetof(State, flags) == 128 && offsetof(State, vectors) == 136);

// Handles the signal of a sample that faults or jumps to a wrong address. It stores the registers, so that the fault
// itself is compared: some samples fault without a probe, too.
void take_signal(int signal, siginfo_t* /*info*/, void* context) {
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

// Memory that the child shares with the session, or code that the child executes.
class Mapping {
  public:
    explicit Mapping(size_t size, int protection = PROT_READ | PROT_WRITE, int flags = MAP_SHARED | MAP_ANONYMOUS,
                     int fd = -1)
        : size_(size), at_(mmap(nullptr, size, protection, flags, fd, 0)) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() {
        if (*this)
            munmap(at_, size_);
    }
    explicit operator bool() const { return at_ != MAP_FAILED; }
    char* at(size_t offset = 0) const { return static_cast<char*>(at_) + offset; }

  private:
    size_t size_;
    void* at_;
};

// Everything that the child needs. It is created before fork(), because allocating memory after fork() is not safe: the
// session may have other threads.
struct Trial {
    std::vector<Sample> wanted;
    Fd file; // a page for each sample
    Mapping code, memory, results;

    explicit Trial(std::vector<Sample> some, Fd fd)
        : wanted(std::move(some)), file(std::move(fd)),
          code(wanted.size() * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get()), memory(2 * memory_bytes),
          results(2 * wanted.size() * sizeof(Outcome)) {}
    bool ready() const { return code && memory && results; }
    Outcome& outcome(size_t sample, bool probed) const {
        return reinterpret_cast<Outcome*>(results.at())[2 * sample + (probed ? 1 : 0)];
    }
};

// Returns a page that consists of breakpoints, the sample, and a jump to sonde_trial_exit. The breakpoints catch a
// sample that jumps to a wrong address within the page.
std::string make_page(std::string_view sample) {
    std::string out(page, '\xcc');
    const auto exit = reinterpret_cast<uint64_t>(&sonde_trial_exit);
    std::string jump("\xff\x25\0\0\0\0", 6); // jmp *0(%rip)
    jump.append(reinterpret_cast<const char*>(&exit), sizeof exit);
    out.replace(sample_at, sample.size(), sample);
    out.replace(sample_at + sample.size(), jump.size(), jump);
    return out;
}

Fd make_file(const std::vector<Sample>& wanted) {
    constexpr unsigned may_execute = 0x0010; // MFD_EXEC (6.3); older kernels reject it
    Fd out(static_cast<int>(syscall(SYS_memfd_create, "sonde_trial", MFD_CLOEXEC | may_execute)));
    if (out.get() < 0)
        out = Fd(static_cast<int>(syscall(SYS_memfd_create, "sonde_trial", MFD_CLOEXEC)));
    for (size_t i = 0; i < wanted.size(); i++) {
        const std::string text = make_page(wanted[i].code);
        if (pwrite(out.get(), text.data(), text.size(), static_cast<off_t>(i * page)) !=
            static_cast<ssize_t>(text.size()))
            return {};
    }
    return out;
}

// ---- in the child ---------------------------------------------------------------------------------------------------

uint64_t hash_of(const char* bytes, size_t size) {
    uint64_t out = 0xcbf29ce484222325; // FNV-1a
    for (size_t i = 0; i < size; i++)
        out = (out ^ static_cast<uint8_t>(bytes[i])) * 0x100000001b3;
    return out;
}

void set_timer(int milliseconds) {
    itimerval timer{};
    timer.it_value.tv_usec = milliseconds * 1000;
    setitimer(ITIMER_REAL, &timer, nullptr);
}

// Runs one sample `rounds` times and stores the state after the last run. Each round starts from the same registers and
// memory, so that the runs with and without a probe can be compared.
void run_sample(const Trial& trial, size_t sample, bool probed) {
    char *data = trial.memory.at(), *stack = trial.memory.at(memory_bytes);
    const auto top = reinterpret_cast<uint64_t>(stack + memory_bytes / 2);
    const auto code = reinterpret_cast<uint64_t>(trial.code.at(sample * page));
    Outcome& out = trial.outcome(sample, probed);
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < 2 * memory_bytes; i++)
            data[i] = static_cast<char>(i * 7 + i / 256);
        const uint64_t back = code + sample_at + trial.wanted[sample].code.size();
        std::memcpy(stack + memory_bytes / 2, &back, sizeof back);
        sonde_trial_state = {};
        for (size_t i = 0; i < sonde_trial_state.registers.size(); i++)
            sonde_trial_state.registers[i] = reinterpret_cast<uint64_t>(data) + 1024 + 256 * i;
        sonde_trial_state.registers[1] = 3; // rcx: elements of a string instruction
        sonde_trial_state.registers[4] = top;
        sonde_trial_state.flags = 0x203; // carry, interrupts, and the bit that is always set
        for (size_t i = 0; i < sonde_trial_state.vectors.size(); i++)
            sonde_trial_state.vectors[i].fill(static_cast<uint8_t>(0x31 + 0x15 * i));
        if (trial.wanted[sample].code.starts_with("\xc4\xe2\x69\x90")) // vpgatherdd: small indices
            sonde_trial_state.vectors[1].fill(0);
        set_timer(round_limit_ms);
        sonde_trial_enter(trial.code.at(sample * page + sample_at));
        set_timer(0);
        if (sonde_trial_state.signal == SIGALRM)
            break;
    }
    // Ignore the memory below the red zone: a signal may overwrite it at any time, so no program uses that memory.
    out.memory =
        hash_of(data, memory_bytes) * 31 + hash_of(stack + memory_bytes / 2 - red_zone, memory_bytes / 2 + red_zone);
    out.state = sonde_trial_state;
    out.done = true;
}

// Runs all samples without probes, reports this on `ready`, waits on `go` until the session has attached the probes,
// and runs them again.
[[noreturn]] void run_child(const Trial& trial, int ready, int go) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 1);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    // The signal handler needs its own stack: a sample may leave any value in rsp.
    static char own_stack[64 << 10];
    stack_t alternative{};
    alternative.ss_sp = own_stack;
    alternative.ss_size = sizeof own_stack;
    sigaltstack(&alternative, nullptr);
    sigset_t nothing;
    sigemptyset(&nothing);
    sigprocmask(SIG_SETMASK, &nothing, nullptr);
    struct sigaction action{};
    action.sa_sigaction = take_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int number : {SIGSEGV, SIGTRAP, SIGILL, SIGBUS, SIGFPE, SIGALRM})
        sigaction(number, &action, nullptr);
    for (bool probed : {false, true}) {
        for (size_t i = 0; i < trial.wanted.size(); i++)
            run_sample(trial, i, probed);
        char byte = 0;
        if (!probed && (write(ready, "r", 1) != 1 || read(go, &byte, 1) != 1))
            break;
    }
    _exit(0);
}

// ---- in the session -------------------------------------------------------------------------------------------------

// Counts the hits of probes on samples in the child.
class HitCounts {
  public:
    virtual ~HitCounts() = default;
    // Of a sample; empty: it has no probe.
    virtual std::optional<uint64_t> of(size_t sample) const = 0;
};

// One perf event for each sample: for kernels without uprobe_multi links. Each takes about 100 ms.
class EventCounts final : public HitCounts {
  public:
    EventCounts(const Trial& trial, pid_t child) {
        uint32_t type = 0;
        if (!(std::ifstream("/sys/bus/event_source/devices/uprobe/type") >> type))
            return;
        const std::string path = fmt::format("/proc/self/fd/{}", trial.file.get());
        for (size_t i = 0; i < trial.wanted.size(); i++) {
            perf_event_attr attr{};
            attr.size = sizeof attr;
            attr.type = type;
            attr.config1 = reinterpret_cast<uint64_t>(path.c_str());
            attr.config2 = i * page + sample_at;
            events_.emplace_back(
                static_cast<int>(syscall(SYS_perf_event_open, &attr, child, -1, -1, PERF_FLAG_FD_CLOEXEC)));
        }
    }
    std::optional<uint64_t> of(size_t sample) const override {
        uint64_t hits = 0;
        if (sample >= events_.size() || !events_[sample] ||
            read(events_[sample].get(), &hits, sizeof hits) != sizeof hits)
            return std::nullopt;
        return hits;
    }

  private:
    std::vector<Fd> events_;
};

// uprobe_multi links (6.6), each for many samples, and a program that counts by the probe's cookie. Taking a link off
// waits for the kernel, so there are few: one for all samples, but for those of classes that the kernel refuses. These
// have one for each class, as a link that contains one of them cannot be made.
class LinkCounts final : public HitCounts {
  public:
    // Null: the kernel has no such links, or does not let this process make them.
    static std::unique_ptr<LinkCounts> make(const Trial& trial, pid_t child) {
        std::unique_ptr<LinkCounts> out(new LinkCounts(trial.wanted.size()));
        if (!out->load())
            return nullptr;
        std::map<Hazard, std::vector<size_t>> by_class;
        std::vector<size_t> together;
        for (size_t i = 0; i < trial.wanted.size(); i++) {
            by_class[trial.wanted[i].hazard].push_back(i);
            if (traits_of(trial.wanted[i].hazard).effect != HazardEffect::Refused)
                together.push_back(i);
        }
        const bool linked = out->link(trial, child, together);
        for (const auto& [hazard, samples] : by_class)
            if (!linked || traits_of(hazard).effect == HazardEffect::Refused)
                out->link(trial, child, samples);
        if (out->links_.empty())
            return nullptr;
        return out;
    }
    std::optional<uint64_t> of(size_t sample) const override {
        uint64_t hits = 0;
        const auto key = static_cast<uint32_t>(sample);
        if (!has_probe_[sample] || bpf_map_lookup_elem(counts_.get(), &key, &hits) != 0)
            return std::nullopt;
        return hits;
    }

  private:
    explicit LinkCounts(size_t samples) : has_probe_(samples) {}

    bool load() {
        counts_ = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "sonde_trial", sizeof(uint32_t), sizeof(uint64_t),
                                    static_cast<uint32_t>(has_probe_.size()), nullptr));
        // counts[bpf_get_attach_cookie(r1)]++; return 0
        const bpf_insn code[] = {
            {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_attach_cookie},
            {BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_0, -4, 0},
            {BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0},
            {BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4},
            {BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, counts_.get()},
            {0, 0, 0, 0, 0},
            {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem},
            {BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 2, 0},
            {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, 1},
            {BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD},
            {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0},
            {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
        };
        bpf_prog_load_opts options{};
        options.sz = sizeof options;
        options.expected_attach_type = static_cast<enum bpf_attach_type>(trace_uprobe_multi);
        program_ = Fd(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "sonde_trial", "GPL", code, std::size(code), &options));
        return counts_ && program_;
    }

    bool link(const Trial& trial, pid_t child, const std::vector<size_t>& samples) {
        if (samples.empty())
            return true;
        UprobeTargets targets;
        targets.attach_name = fmt::format("/proc/self/fd/{}", trial.file.get());
        targets.process = child;
        for (const size_t sample : samples) {
            targets.offsets.push_back(sample * page + sample_at);
            targets.cookies.push_back(sample);
        }
        Result<std::unique_ptr<Attachment>> made = attach_uprobe_multi(program_.get(), targets);
        if (!made)
            return false;
        links_.push_back(*std::move(made));
        for (const size_t sample : samples)
            has_probe_[sample] = true;
        return true;
    }

    Fd counts_, program_;
    std::vector<bool> has_probe_;
    std::vector<std::unique_ptr<Attachment>> links_;
};

std::unique_ptr<HitCounts> place_probes(const Trial& trial, pid_t child) {
    if (std::unique_ptr<LinkCounts> links = LinkCounts::make(trial, child))
        return links;
    return std::make_unique<EventCounts>(trial, child);
}

struct Pipe {
    Fd read, write;
    static Pipe make() {
        int ends[2] = {-1, -1};
        if (pipe2(ends, O_CLOEXEC) != 0)
            return {};
        return {Fd(ends[0]), Fd(ends[1])};
    }
};

std::set<Hazard> judge(const Trial& trial, const HitCounts& counts) {
    std::set<Hazard> out;
    for (size_t i = 0; i < trial.wanted.size(); i++) {
        const Outcome &plain = trial.outcome(i, false), &probed = trial.outcome(i, true);
        if (counts.of(i) != uint64_t{rounds} || !plain.done || !(plain == probed))
            out.insert(trial.wanted[i].hazard);
    }
    return out;
}

// Waits for the child, and kills it after 15 seconds.
void wait_for(pid_t child) {
    constexpr int most_ms = 15'000;
    for (int waited = 0;; waited++) {
        if (waitpid(child, nullptr, WNOHANG) != 0)
            return;
        if (waited == most_ms)
            kill(child, SIGKILL);
        usleep(1000);
    }
}

// Runs the child. Returns all classes if the test cannot run, and otherwise the broken ones.
std::set<Hazard> run_trial(const Trial& trial) {
    std::set<Hazard> all;
    for (const Sample& sample : trial.wanted)
        all.insert(sample.hazard);
    Pipe ready = Pipe::make(), go = Pipe::make();
    if (ready.read.get() < 0 || go.read.get() < 0)
        return all;
    const pid_t child = fork();
    if (child < 0)
        return all;
    if (child == 0) {
        close(ready.read.get());
        close(go.write.get());
        run_child(trial, ready.write.get(), go.read.get());
    }
    ready.write = {};
    go.read = {};
    std::unique_ptr<HitCounts> counts;
    char byte = 0;
    ssize_t told = 0;
    do
        told = read(ready.read.get(), &byte, 1);
    while (told < 0 && errno == EINTR);
    if (told == 1) {
        counts = place_probes(trial, child);
        if (write(go.write.get(), "g", 1) != 1)
            kill(child, SIGKILL);
    }
    go.write = {};
    wait_for(child);
    return counts ? judge(trial, *counts) : all;
}

} // namespace

std::set<Hazard> try_hazards(const std::set<Hazard>& wanted) {
    std::vector<Sample> some;
    std::set<Hazard> out;
    // Programs do not execute what this processor lacks.
    for (const Sample& sample : samples)
        if (wanted.contains(sample.hazard) && has(sample.needs))
            some.push_back(sample);
    for (Hazard hazard : wanted)
        if (hazard != Hazard::None && std::ranges::find(some, hazard, &Sample::hazard) == some.end())
            out.insert(hazard);
    if (some.empty())
        return out;
    Fd file = make_file(some);
    const Trial trial(std::move(some), std::move(file));
    if (trial.ready())
        out.merge(run_trial(trial));
    else
        for (const Sample& sample : trial.wanted)
            out.insert(sample.hazard);
    return out;
}

} // namespace sonde

#else

namespace sonde {

// Samples exist for x86-64 only, so nothing can be tested.
std::set<Hazard> try_hazards(const std::set<Hazard>& wanted) {
    std::set<Hazard> out = wanted;
    out.erase(Hazard::None);
    return out;
}

} // namespace sonde

#endif
