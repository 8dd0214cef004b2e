// The terms in which the kinds of probes are described.
#pragma once

#include <cstdint>

namespace sonde::plan {

// The reason why a handler runs.
enum class Cause : uint8_t {
    Start,   // the session begins
    End,     // the session ends
    Failure, // the session ends with too many errors
    Nobody,
    Timer,    // a timer of the session
    Read,     // a program reads a control file
    Write,    // a program writes a control file
    Recorded, // an event of a recording (recorded_points.h)
    Event,    // a traced event: the handler is a BPF program
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

} // namespace sonde::plan
