// The kinds of probes and what is true of each: one row of kinds.def, which every layer asks by what it wants to know.
//
// Nobody compares kinds by their order, and none but a kind's own files (its resolver, its mechanism) by its name: a
// new kind whose row says what it is works wherever only its traits matter.
#pragma once

#include <cstdint>

namespace sonde::plan {

// What makes a handler run.
enum class Cause : uint8_t {
    Start,   // the session, before anything else
    End,     // the session, when it ends
    Failure, // the session, when it ends with too many errors
    Nobody,
    Timer, // the session's own clock
    Read,  // who reads a control file
    Write, // who writes one
    Event, // what is traced: the handler is a BPF program
};

// What is traced, where Cause is Event.
enum class Subject : uint8_t {
    None,
    UserCode,       // an instruction of a file that programs map
    Process,        // a process begins or ends
    Thread,         // a thread does
    SystemCall,     // of a process
    Tracepoint,     // of the kernel
    KernelFunction, // one of its functions
    Sample,         // a perf event: what a processor did at that moment
    Packet,         // in the network's stack
    SecurityHook,   // what programs ask the kernel to be allowed
    ExistingTask,   // one that there is already
};

// What the BPF program's argument points to.
enum class Context : uint8_t {
    None,
    Registers, // struct pt_regs of the code that was hit
    Sampled,   // struct bpf_perf_event_data, which begins with the registers of what was interrupted
    Saved,     // a word, which points to the registers that the kernel has saved at its entry
    Words,     // the arguments, a word each, read as they stand
    Helpers,   // the arguments, which helpers read (bpf_get_func_arg)
    Memory,    // the arguments, a word each, read as memory of the kernel's
};

// Where the registers of the user's code are found.
enum class UserRegisters : uint8_t {
    Nowhere, // the event is about no task
    Here,    // the context has them, where it is the user's code that was hit
    Entry,   // the kernel has saved them at its entry
    Gone,    // the task has left its program
};

// What the kernel does with what a handler gives back.
enum class Decision : uint8_t {
    None,
    Verdict, // 1: the packet goes on (which is the default), 0: it is dropped
    Refusal, // 0: granted (the default); an error number, negative, refuses
    Result,  // 0: the function runs (the default); another word is its result, and it does not run
};

// How a program is attached.
enum class Mechanism : uint8_t {
#define MECHANISM(id, name, attach) id,
#include "runtime/plan/mechanisms.def"
#undef MECHANISM
};
const char* name_of(Mechanism mechanism);

struct KindTraits {
    const char* name; // what the dumps and probe_type() call it
    Cause cause = Cause::Event;
    Subject subject = Subject::None;
    bool at_return = false;                // the end of what its twin sees the beginning of: a return, an exit
    const char* section = "";              // of its BPF program, from which libbpf knows the program's type
    uint8_t program_type = 0;              // the type (bpf_prog_type), where libbpf does not know it by the section
    uint8_t attach_type = 0;               // with it (bpf_attach_type)
    const char* at_entry = "";             // of a return's program that saves values at the entry; empty: the same
    Mechanism mechanism = Mechanism::None; // the usual one; mechanism_of() knows a probe's (plan.h)
    Context context = Context::None;
    UserRegisters user = UserRegisters::Entry;
    Decision decision = Decision::None;
    bool in_kernel_code = false; // the kernel has a stack that led there
    bool has_registers = false;  // register() and its relatives read the context's, or those of the kernel's entry
    bool is_aimed = false;       // the program is loaded for one function of the kernel, which it names
    bool in_interrupt = false;   // the handler runs in one: user memory cannot be written
    bool as_written = false;     // of several at one place the one attached first runs first; else the last
    int8_t task_argument = -1; // which of the arguments is the task that the event is about; -1: it is the current one
    bool once = false;         // when the session begins, and never again
};

enum class ProbeKind : uint8_t {
#define KIND(id, ...) id,
#include "runtime/plan/kinds.def"
#undef KIND
};

inline constexpr KindTraits kind_traits[] = {
#define KIND(id, ...) {__VA_ARGS__},
#include "runtime/plan/kinds.def"
#undef KIND
};
constexpr uint64_t kind_count = sizeof kind_traits / sizeof *kind_traits;

constexpr const KindTraits& traits(ProbeKind kind) { return kind_traits[static_cast<uint8_t>(kind)]; }

constexpr const char* name_of(ProbeKind kind) { return traits(kind).name; }
// Hit by what is traced, instead of being run by the session.
constexpr bool is_event(ProbeKind kind) { return traits(kind).cause == Cause::Event; }
constexpr bool is_file(ProbeKind kind) {
    return traits(kind).cause == Cause::Read || traits(kind).cause == Cause::Write;
}
// Nothing else runs while it does: the session has not begun yet, or has ended.
constexpr bool runs_alone(ProbeKind kind) {
    Cause cause = traits(kind).cause;
    return cause == Cause::Start || cause == Cause::End || cause == Cause::Failure || cause == Cause::Nobody;
}
constexpr bool is_about(ProbeKind kind, Subject subject) { return traits(kind).subject == subject; }
constexpr bool is_sample(ProbeKind kind) { return is_about(kind, Subject::Sample); }
constexpr bool is_uprobe(ProbeKind kind) { return is_about(kind, Subject::UserCode); }
constexpr bool is_kernel_function(ProbeKind kind) { return is_about(kind, Subject::KernelFunction); }
// A process or a thread begins or ends.
constexpr bool follows_tasks(ProbeKind kind) {
    return is_about(kind, Subject::Process) || is_about(kind, Subject::Thread);
}
constexpr bool is_task_event(ProbeKind kind) { return follows_tasks(kind) || is_about(kind, Subject::SystemCall); }
// Its hits are a thread's, and each is an event of its own.
constexpr bool tells_hits(ProbeKind kind) {
    return is_event(kind) && !is_sample(kind) && !is_about(kind, Subject::Packet) &&
           !is_about(kind, Subject::ExistingTask);
}
// The kernel goes by what a handler gives back.
constexpr bool decides(ProbeKind kind) { return traits(kind).decision != Decision::None; }
// The kernel's trampolines run it: no breakpoint, and no registers.
constexpr bool is_trampoline(ProbeKind kind) { return traits(kind).context == Context::Helpers; }
// A breakpoint in a function of the kernel's, which keeps all registers.
constexpr bool is_kernel_breakpoint(ProbeKind kind) {
    return is_kernel_function(kind) && traits(kind).context == Context::Registers;
}
// The current task has nothing to do with the event.
constexpr bool is_about_no_task(ProbeKind kind) { return traits(kind).user == UserRegisters::Nowhere; }

} // namespace sonde::plan
