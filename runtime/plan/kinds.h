// The kinds of probes and their traits. Each kind is one row of kinds.def.
//
// Code in all layers asks for a trait ("does it have registers?"), and never compares kinds by name or order. Only the
// files of a kind itself (its resolver and its mechanism) use its name. So adding a kind with the right traits is
// enough for all other code to support it.
#pragma once

#include <cstdint>

namespace sonde::plan {

// The reason why a handler runs.
enum class Cause : uint8_t {
    Start,   // the session begins
    End,     // the session ends
    Failure, // the session ends with too many errors
    Nobody,
    Timer, // a timer of the session
    Read,  // a program reads a control file
    Write, // a program writes a control file
    Event, // a traced event: the handler is a BPF program
};

// The traced object, if Cause is Event.
enum class Subject : uint8_t {
    None,
    UserCode,       // an instruction in a mapped file
    Process,        // a process begins or ends
    Thread,         // a thread begins or ends
    SystemCall,     // a system call of a process
    Tracepoint,     // a tracepoint of the kernel
    KernelFunction, // a function of the kernel
    Sample,         // a perf event: the state of a processor at some moment
    Packet,         // a packet in the network stack
    SecurityHook,   // a request of a program that a security module decides
    ExistingTask,   // a task that exists already
};

// The type of the BPF program's argument.
enum class Context : uint8_t {
    None,
    Registers, // struct pt_regs of the probed code
    Sampled,   // struct bpf_perf_event_data, which begins with the registers of the interrupted code
    Saved,     // a word that points to the registers saved at the kernel's entry
    Words,     // the arguments, one word each, loaded directly
    Helpers,   // the arguments, which helpers read (bpf_get_func_arg)
    Memory,    // the arguments, one word each, read as kernel memory
};

// The location of the user-space registers.
enum class UserRegisters : uint8_t {
    Nowhere, // the event does not concern a task
    Here,    // in the context, if the probed code is user code
    Entry,   // saved at the kernel's entry
    Gone,    // lost: the task has left its program
};

// The meaning of a handler's result to the kernel.
enum class Decision : uint8_t {
    None,
    Verdict, // 1 accepts the packet (the default), 0 drops it
    Refusal, // 0 permits the request (the default), a negative error number refuses it
    Result,  // 0 runs the function (the default), another value skips it and becomes its result
};

// How a program is attached.
enum class Mechanism : uint8_t {
#define MECHANISM(id, name, attach) id,
#include "runtime/plan/mechanisms.def"
#undef MECHANISM
};
// Returns the name for --dump=plan.
const char* name_of(Mechanism mechanism);

// The properties of a kind. The initial values are those of most kinds, so a row of kinds.def lists exceptions only.
struct KindTraits {
    const char* name; // the name in dumps and probe_type()
    Cause cause = Cause::Event;
    Subject subject = Subject::None;
    bool at_return = false;                // the end of an operation, such as a return or an exit
    const char* section = "";              // section of its BPF program, from which libbpf derives the program's type
    uint8_t program_type = 0;              // the type (bpf_prog_type), if libbpf does not know the section
    uint8_t attach_type = 0;               // its attach type (bpf_attach_type)
    const char* at_entry = "";             // section of the program that saves values at the entry; empty: `section`
    Mechanism mechanism = Mechanism::None; // the usual one; mechanism_of() returns a probe's (plan.h)
    Context context = Context::None;
    UserRegisters user = UserRegisters::Entry;
    Decision decision = Decision::None;
    bool in_kernel_code = false; // the kernel has a call stack there
    bool has_registers = false;  // register() reads the context's registers, or those saved at the kernel's entry
    bool is_aimed = false;       // the program is loaded for one kernel function, which it names
    bool in_interrupt = false;   // the handler runs in an interrupt, so it cannot write user memory
    bool as_written = false;     // several programs at one place run in the order of attaching; else reversed
    int8_t task_argument = -1;   // index of the argument that is the event's task; -1: the current task
    bool once = false;           // runs once, when the session begins
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
// A traced event triggers the handler, not the session itself.
constexpr bool is_event(ProbeKind kind) { return traits(kind).cause == Cause::Event; }
// The probe handles reading or writing of a control file.
constexpr bool is_file(ProbeKind kind) {
    return traits(kind).cause == Cause::Read || traits(kind).cause == Cause::Write;
}
// No other handler runs at the same time, because the session has not begun yet, or has ended.
constexpr bool runs_alone(ProbeKind kind) {
    Cause cause = traits(kind).cause;
    return cause == Cause::Start || cause == Cause::End || cause == Cause::Failure || cause == Cause::Nobody;
}
constexpr bool is_about(ProbeKind kind, Subject subject) { return traits(kind).subject == subject; }
constexpr bool is_sample(ProbeKind kind) { return is_about(kind, Subject::Sample); }
constexpr bool is_uprobe(ProbeKind kind) { return is_about(kind, Subject::UserCode); }
constexpr bool is_kernel_function(ProbeKind kind) { return is_about(kind, Subject::KernelFunction); }
// Begins and ends of processes and threads.
constexpr bool follows_tasks(ProbeKind kind) {
    return is_about(kind, Subject::Process) || is_about(kind, Subject::Thread);
}
constexpr bool is_task_event(ProbeKind kind) { return follows_tasks(kind) || is_about(kind, Subject::SystemCall); }
// Each hit is a separate event of a thread (Plan::tells_hits).
constexpr bool tells_hits(ProbeKind kind) {
    return is_event(kind) && !is_sample(kind) && !is_about(kind, Subject::Packet) &&
           !is_about(kind, Subject::ExistingTask);
}
// The handler's result decides what the kernel does.
constexpr bool decides(ProbeKind kind) { return traits(kind).decision != Decision::None; }
// Runs by a trampoline (fentry): without a breakpoint, and without registers.
constexpr bool is_trampoline(ProbeKind kind) { return traits(kind).context == Context::Helpers; }
// A breakpoint in a kernel function (kprobe), with all registers.
constexpr bool is_kernel_breakpoint(ProbeKind kind) {
    return is_kernel_function(kind) && traits(kind).context == Context::Registers;
}
// The event does not belong to the current task.
constexpr bool is_about_no_task(ProbeKind kind) { return traits(kind).user == UserRegisters::Nowhere; }

} // namespace sonde::plan
