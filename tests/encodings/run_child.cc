// The child process of execute.cc: runs instructions from known states, and stores their outcomes.
#include <cpuid.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/ucontext.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/encodings/machine.h"

namespace encodings {

Child child;

namespace {

long call_kernel(long number, long a = 0, long b = 0) {
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
    return result;
}

uint64_t hash(const void* bytes, size_t size, uint64_t value = 0x9e3779b97f4a7c15) {
    for (size_t at = 0; at + 8 <= size; at += 8) {
        uint64_t word;
        __builtin_memcpy(&word, static_cast<const uint8_t*>(bytes) + at, 8);
        value = (value ^ word) * 0xff51afd7ed558ccd;
        value ^= value >> 32;
    }
    return value;
}

uint64_t hash_zeros(size_t size) {
    uint64_t value = 0x9e3779b97f4a7c15;
    for (size_t at = 0; at + 8 <= size; at += 8) {
        value *= 0xff51afd7ed558ccd;
        value ^= value >> 32;
    }
    return value;
}

uint64_t next_random(uint64_t& seed) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

constexpr size_t data_pointer_at = 16, mxcsr_at = 24, x87_registers_at = 32, xmm_at = 160, legacy_end = 416,
                 header_at = 512;
constexpr size_t features_at = 464 + 8; // in the part that is the kernel's: the components that the frame has

uint64_t read_word(const uint8_t* bytes) {
    uint64_t word;
    __builtin_memcpy(&word, bytes, 8);
    return word;
}

// Vector and x87 registers of a frame. A component that the header says is in its initial state has no bytes.
void capture_vectors(const uint8_t* frame, uint64_t* values) {
    const uint64_t present = read_word(frame + header_at);
    uint8_t legacy[legacy_end] = {};
    if (present & 1)
        __builtin_memcpy(legacy, frame, xmm_at);
    else
        legacy[0] = 0x7f, legacy[1] = 3;
    values[0] = read_word(legacy) & 0xffffffffffff;
    // Without the address of the last instruction, which is that of the kernel's copy (docs/kernels.md). AMD's
    // processors store it only after an exception.
    const uint64_t last_opcode = read_word(legacy) >> 48;
    values[1] = hash(legacy + data_pointer_at, mxcsr_at - data_pointer_at, last_opcode);
    // The last six bytes of each x87 register are undefined.
    uint64_t registers = 1;
    for (size_t at = x87_registers_at; at < xmm_at; at += 16)
        registers = hash(legacy + at, 8, registers) ^ (read_word(legacy + at + 8) & 0xffff);
    values[2] = registers;
    values[3] = present & 6 ? read_word(frame + mxcsr_at) & 0xffffffff : 0x1f80;
    values[4] = present & 2 ? hash(frame + xmm_at, legacy_end - xmm_at) : hash_zeros(legacy_end - xmm_at);
    size_t field = 5;
    for (const int number : {2, 5, 6, 7}) {
        const Component& component = child.components[static_cast<size_t>(number)];
        values[field++] =
            (present >> number & 1) ? hash(frame + component.offset, component.size) : hash_zeros(component.size);
    }
}

uint64_t read_selectors(bool is_fs_gs) {
    uint64_t first, second;
    if (is_fs_gs)
        asm volatile("mov %%fs, %0\n mov %%gs, %1" : "=r"(first), "=r"(second));
    else
        asm volatile("mov %%ds, %0\n mov %%es, %1" : "=r"(first), "=r"(second));
    return first << 16 | second;
}

constexpr uint64_t initial_fs = 0x40, initial_gs = 0x80;
constexpr long set_gs = 0x1001, set_fs = 0x1002, get_fs = 0x1003, get_gs = 0x1004;

void capture(Outcome& outcome, int signal, const siginfo_t* info, const ucontext_t* frame) {
    const greg_t* registers = frame->uc_mcontext.gregs;
    uint64_t* values = outcome.values.data();
    for (size_t number = 0; number < field_signal; ++number)
        values[number] = static_cast<uint64_t>(registers[number]);
    values[field_signal] = static_cast<uint64_t>(signal);
    values[field_signal_code] = static_cast<uint32_t>(info->si_code);
    values[field_address] = signal == SIGTRAP && info->si_code <= 0 ? 0 : reinterpret_cast<uint64_t>(info->si_addr);
    values[field_trap] = static_cast<uint64_t>(registers[REG_TRAPNO]);
    values[field_error] = static_cast<uint64_t>(registers[REG_ERR]);
    values[field_ds_es] = read_selectors(false);
    values[field_fs_gs] = read_selectors(true);
    call_kernel(SYS_arch_prctl, get_fs, reinterpret_cast<long>(&values[field_fs_base]));
    call_kernel(SYS_arch_prctl, get_gs, reinterpret_cast<long>(&values[field_gs_base]));
    capture_vectors(reinterpret_cast<const uint8_t*>(frame->uc_mcontext.fpregs), values + field_x87);
    for (size_t number = 0; number < regions.size(); ++number) {
        const auto* now = reinterpret_cast<const uint8_t*>(
            regions[number].address); // NOLINT(performance-no-int-to-ptr): a fixed mapping
        child.is_dirty[number] = __builtin_memcmp(now, child.memory[number], page_size);
        // Memory below the red zone has no defined contents, because a signal may arrive at any time.
        const size_t from = regions[number].address == stack_at
                                ? child.states[child.state].registers[field_rsp] - red_zone - stack_at
                                : 0;
        const bool is_same =
            !child.is_dirty[number] || !__builtin_memcmp(now + from, child.memory[number] + from, page_size - from);
        values[field_memory + number] = is_same ? 0 : hash(now + from, page_size - from);
    }
    outcome.hits = *child.hits - child.hits_before;
    outcome.done = 1;
}

// Restores state that is not in the frame.
void restore(const Outcome& outcome) {
    if (outcome.values[field_ds_es])
        asm volatile("mov %0, %%ds\n mov %0, %%es" : : "r"(0));
    if (outcome.values[field_fs_gs])
        asm volatile("mov %0, %%fs\n mov %0, %%gs" : : "r"(0));
    if (outcome.values[field_fs_base] != initial_fs || outcome.values[field_fs_gs])
        call_kernel(SYS_arch_prctl, set_fs, initial_fs);
    if (outcome.values[field_gs_base] != initial_gs || outcome.values[field_fs_gs])
        call_kernel(SYS_arch_prctl, set_gs, initial_gs);
}

void load_state(ucontext_t* frame) {
    const State& state = child.states[static_cast<size_t>(child.state)];
    greg_t* registers = frame->uc_mcontext.gregs;
    for (size_t number = 0; number < 16; ++number)
        registers[number] = static_cast<greg_t>(state.registers[number]);
    registers[REG_RIP] = static_cast<greg_t>(code_at + child.instructions[child.at].offset);
    // pause(2), which a signal ends.
    if (child.alarm_us && child.state == 1 && child.instructions[child.at].is_system_call)
        registers[REG_RAX] = SYS_pause;
    registers[REG_EFL] = static_cast<greg_t>(state.flags);
    registers[REG_CSGSFS] = static_cast<greg_t>(child.selectors);
    __builtin_memcpy(frame->uc_mcontext.fpregs, child.frames[child.state], child.frame_size);
    for (size_t number = 0; number < regions.size(); ++number)
        if (child.is_dirty[number])
            __builtin_memcpy(reinterpret_cast<void*>(regions[number].address), child.memory[number],
                             page_size); // NOLINT(performance-no-int-to-ptr)
    child.hits_before = *child.hits;
}

// Creates the vector registers of each state. The first frame is the pattern, because it contains marks that the kernel
// requires.
void make_frames(const uint8_t* frame) {
    child.frame_size = *reinterpret_cast<const uint32_t*>(frame + 464 + 16);
    if (child.frame_size > most_frame_bytes - 64)
        call_kernel(SYS_exit_group, 78);
    const uint64_t features = read_word(frame + features_at);
    for (size_t number = 0; number < state_count; ++number) {
        uint8_t* image = child.frames[number];
        __builtin_memcpy(image, frame, child.frame_size + 4); // with the mark at the end
        uint64_t seed = child.states[number].seed;
        uint64_t wanted = (features & 0xe7) | (read_word(image + header_at) & ~uint64_t{0xff});
        __builtin_memcpy(image + header_at, &wanted, 8);
        const uint16_t control = 0x37f;
        __builtin_memcpy(image, &control, 2);
        image[2] = image[3] = 0;
        image[4] = number == 1 ? 0 : 0x0f; // registers in use
        for (size_t at = x87_registers_at; at < xmm_at; at += 16) {
            const uint64_t mantissa = next_random(seed) | 1ULL << 63, exponent = 0x3fff + (at >> 4);
            __builtin_memcpy(image + at, &mantissa, 8);
            __builtin_memcpy(image + at + 8, &exponent, 8);
        }
        __builtin_memcpy(image + mxcsr_at, &child.states[number].mxcsr, 4);
        const auto fill = [&](size_t offset, size_t size) {
            for (size_t at = 0; at + 8 <= size; at += 8) {
                const uint64_t word = next_random(seed);
                __builtin_memcpy(image + offset + at, &word, 8);
            }
        };
        fill(xmm_at, legacy_end - xmm_at);
        const uint64_t indices[2] = {0x0000001000000008, 0x0000002000000018};
        __builtin_memcpy(image + xmm_at + 16, indices, 16); // xmm1: of gathers
        for (const size_t component : {2, 5, 6, 7})
            if (features >> component & 1)
                fill(child.components[component].offset, child.components[component].size);
    }
}

// Skips instructions that are not run. Returns false at the end.
bool find_next() {
    while (child.at < child.end && child.instructions[child.at].is_skipped)
        ++child.at;
    return child.at < child.end;
}

// Goes to the next run. Returns false at the end.
bool advance() {
    if (++child.repeat < repeat_count)
        return true;
    child.repeat = 0;
    if (++child.state < state_count)
        return true;
    child.state = 0;
    const auto* code = reinterpret_cast<const volatile uint8_t*>(
        code_at + child.instructions[child.at].offset); // NOLINT(performance-no-int-to-ptr)
    child.outcomes[child.at].first_byte_after = *code;
    ++child.at;
    return find_next();
}

void handle_signal(int signal, siginfo_t* info, void* context) {
    auto* frame = static_cast<ucontext_t*>(context);
    if (child.shared->is_in_handler) {
        // a fault in the handler
        child.shared->failure =
            static_cast<uint64_t>(frame->uc_mcontext.gregs[REG_RIP]) * 256 + static_cast<uint64_t>(signal);
        call_kernel(SYS_exit_group, 77);
    }
    child.shared->is_in_handler = 1;
    bool goes_on = true;
    if (child.is_running) {
        Outcome& outcome = child.outcomes[child.at].run[child.state][child.repeat];
        capture(outcome, signal, info, frame);
        restore(outcome);
        goes_on = advance();
    } else {
        child.is_running = true;
        goes_on = find_next();
        child.selectors = static_cast<uint64_t>(frame->uc_mcontext.gregs[REG_CSGSFS]);
        make_frames(reinterpret_cast<const uint8_t*>(frame->uc_mcontext.fpregs));
        call_kernel(SYS_arch_prctl, set_fs, initial_fs);
        call_kernel(SYS_arch_prctl, set_gs, initial_gs);
    }
    if (!goes_on)
        call_kernel(SYS_exit_group, 0);
    if (child.state == 0 && child.repeat == 0) {
        const auto* code = reinterpret_cast<const volatile uint8_t*>(
            code_at + child.instructions[child.at].offset); // NOLINT(performance-no-int-to-ptr)
        child.outcomes[child.at].attached = *code != child.instructions[child.at].bytes[0];
        child.shared->index = child.at;
    }
    child.shared->progress = child.shared->progress + 1;
    load_state(frame);
    child.shared->is_in_handler = 0;
}

// A signal from outside, at any time. The program must never be seen in the page where the kernel executes copies of
// instructions.
void handle_alarm(int, siginfo_t*, void* context) {
    constexpr uint64_t copies_at = 0x7fffff000000;
    const auto rip = static_cast<uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
    child.shared->alarms = child.shared->alarms + 1;
    if (rip >= copies_at)
        child.shared->strange_alarms = child.shared->strange_alarms + 1;
}

void* map_fixed(uint64_t address, size_t size, int protection, int file, size_t offset) {
    const int flags = MAP_FIXED | MAP_PRIVATE | (file < 0 ? MAP_ANONYMOUS : 0);
    void* at = mmap(reinterpret_cast<void*>(address), size, protection, flags, file,
                    static_cast<off_t>(offset)); // NOLINT(performance-no-int-to-ptr)
    if (at == MAP_FAILED) {
        perror("mmap");
        _exit(76);
    }
    return at;
}

} // namespace

void run_child(int file) {
    const Instruction& last = child.instructions[child.end - 1];
    const size_t begin = child.instructions[child.at].offset / page_size * page_size;
    const size_t end = (last.offset + 2 * slot_size + page_size - 1) / page_size * page_size;
    map_fixed(code_at + begin, end - begin, PROT_READ | PROT_EXEC, file, begin);
    memset(map_fixed(landing_at, page_size, PROT_READ | PROT_WRITE, -1, 0), hlt, page_size);
    mprotect(reinterpret_cast<void*>(landing_at), page_size,
             PROT_READ | PROT_EXEC); // NOLINT(performance-no-int-to-ptr)
    for (const Region& region : regions)
        map_fixed(region.address, region.size, PROT_READ | PROT_WRITE, -1, 0);
    memset(child.is_dirty, 1, sizeof(child.is_dirty));
    constexpr size_t handler_stack_size = 256 * 1024;
    stack_t stack{};
    stack.ss_sp =
        mmap(nullptr, handler_stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    stack.ss_size = handler_stack_size;
    sigaltstack(&stack, nullptr);
    struct sigaction action{};
    action.sa_sigaction = handle_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (const int signal : {SIGTRAP, SIGSEGV, SIGILL, SIGBUS, SIGFPE, SIGSYS})
        sigaction(signal, &action, nullptr);
    if (child.alarm_us) {
        action.sa_sigaction = handle_alarm;
        sigaction(SIGALRM, &action, nullptr);
        const itimerval timer = {{0, child.alarm_us}, {0, child.alarm_us}};
        setitimer(ITIMER_REAL, &timer, nullptr);
    }
    asm volatile("int3");
    _exit(75);
}

void make_states() {
    // In the frame's order: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp. rbx is the usual operand; rcx counts
    // repetitions.
    child.states[0] = {{0x1122334455667788, ~uint64_t{1}, data_at + 0x600, hole_at + 0x10, data_at + 0xc0,
                        data_at + 0x100, 7, 0x8000000000000001, data_at + 0x280, data_at + 0x200, data_at + 0x300,
                        data_at + 0x400, data_at + 0x180, data_at + 0x40, 3, stack_at + 0x800},
                       0x8d7,
                       0x1f80,
                       landing_at + 0x40,
                       0x0123456789abcdef};
    // No flags but the direction, so strings go down; getuid() if it is a system call; no repetition; an exception that
    // is not masked.
    child.states[1] = {{5, 0xff, data_at + 0x602, hole_at + 0x20, data_at + 0xc8, data_at + 0x108, 1, 0,
                        data_at + 0x388, data_at + 0x308, data_at + 0x310, data_at + 0x480, 0x2b, 102, 0,
                        stack_at + 0xa04},
                       0x402,
                       0x1f00,
                       landing_at + 0x80,
                       0x9876543210fedcba};
    // Some flags; getgid(); an operand that is not aligned; the last repetition; popf would set the trap flag.
    child.states[2] = {{0, 1, data_at + 0x606, hole_at + 0x30, data_at + 0xd1, data_at + 0x111, 63, 0x7fffffff,
                        data_at + 0x2a1, data_at + 0x221, data_at + 0x320, data_at + 0x403, 1, 104, 1,
                        stack_at + 0xc10},
                       0x246,
                       0x1f80,
                       0x346,
                       0x13579bdf02468ace};
    uint64_t seed = 0x2545f4914f6cdd1d;
    for (auto& region : child.memory)
        for (size_t at = 0; at < page_size; at += 8) {
            const size_t word = at / 8 % 8;
            const uint64_t value = word == 0 ? landing_at + 0x40 : word == 1 ? 0x33 : next_random(seed);
            memcpy(region + at, &value, 8);
        }
    for (const State& state : child.states) {
        // the five words that `iret` pops
        const std::array<uint64_t, 5> top = {state.top_of_stack, 0x33, 0x246, stack_at + 0x900, 0x2b};
        memcpy(child.memory[2] + state.registers[field_rsp] - stack_at, top.data(), sizeof(top));
    }
    for (unsigned number = 0; number < 64; ++number) {
        unsigned size, offset, c, d;
        if (number >= 2 && __get_cpuid_count(0xd, number, &size, &offset, &c, &d))
            child.components[number] = {offset, size};
    }
}

} // namespace encodings
