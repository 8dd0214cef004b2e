// Primitives: what the compiler itself does for the library (stdlib/prelude.stp declares them), one row of
// primitives.def each. Sema and codegen ask a row by what they want to know; none compares names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/plan.h"

namespace sonde::hir {

// Text that depends on the probe point alone.
enum class PointText : uint8_t {
    None,
    Resolved, // the point as it was found
    Written,  // ... as the script has it
    Function,
    Type, // of the probe's kind, so that all points of a handler have it in common
};

// Whom a script may be run by that calls it, and what for; a later one includes those before.
enum class Trust : uint8_t {
    Anybody,
    OwnProcess, // tells what is in a process: memory, registers, stacks
    Kernel,     // the same of the kernel
    Guru,       // changes what is traced: -g
};

// A number of the current task, of its processor or of the session. For each there is a routine for both targets.
enum class TaskNumber : uint8_t {
    None,
    Pid,
    Tid,
    KernelPid, // in no namespace
    Ppid,
    Uid,
    Euid,
    Gid,
    Egid,
    Cpu,
    TaskCurrent, // the address of its `struct task_struct`
    Jiffies,
    Random,
    PidLevel,
    PidSpace,
    In32BitCall,
    HasNarrowTimes,
};
// "pid": what its routines' names end in.
const char* routine_name(TaskNumber number);

// Steady: the real time when the session began, and the monotonic time since then. Records have it: what it measures
// does not change when the clock is set.
enum class Clock : uint8_t { Monotonic, RealTime, Cycles, Steady };

struct Primitive {
    static constexpr uint32_t no_word = UINT32_MAX;

    std::string_view name;
    // What it is about.
    bool about_task = false; // the current task, which in the session's own handlers is sonde itself. Unset for cpu()
                             // and the like, which scripts ask in timers on purpose
    bool names_task = false; // says which argument of the event is the task that the handler is about
    bool per_thread = false; // threads that run at once have different values
    bool of_kernel = false;  // the kernel's memory or stack; of those that exist for both halves
    bool of_user = false;    // a symbol of the user's only
    // What it does.
    bool sends = false;   // the runtime a record to show, in its order with what is printed
    bool changes = false; // something, although it has a result
    bool appends = false; // to the value that it changes
    plan::Decision decides = plan::Decision::None;
    Trust trust = Trust::Anybody;
    // What it needs.
    bool reads_registers = false; // all of them
    bool reads_result = false;    // of the function that returns
    bool needs_stacks = false;    // room for stacks
    bool needs_groups = false;    // of the last regular expression
    bool needs_counter = false;   // of events
    bool needs_tokens = false;    // where the last text was cut
    // What it gives.
    bool is_unsigned = false;
    bool is_stable = false;   // the same as long as the handler runs
    bool gives_stack = false; // addresses as text
    bool in_table = false;    // one of the names in its first argument
    PointText text = PointText::None;
    uint8_t bits = 64;    // a number that is never negative has only so many; 64: any number
    uint16_t longest = 0; // bytes of a text at most; 0: any
    // What its emitter works on.
    TaskNumber number = TaskNumber::None;
    Clock clock = Clock::Monotonic;
    plan::GroupKind group = plan::GroupKind::Container; // which name of the task's control group
    uint32_t word = no_word;                            // of SessionWords, its offset
    uint8_t size = 0;                                   // bytes
    uint32_t record = 0;                                // plan::RecordType
};

// Null: there is none of that name.
const Primitive* find_primitive(std::string_view name);

} // namespace sonde::hir
