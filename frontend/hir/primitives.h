// Primitives: functions of the script language that the compiler implements itself. stdlib/prelude.stp declares them,
// and primitives.def has one row for each. Sema and codegen look up facts in the row; they never compare names.
//
// For example, the row of execname() has three facts. `about_task` makes a call in a timer a warning, because the
// current task is sonde there. `is_stable` means that two calls in one handler give the same value. `longest = 15`
// limits the size of array keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "options/group_name.h"
#include "runtime/plan/traits.h"

namespace sonde::hir {

// Kinds of text that depend on the probe point alone.
enum class PointText : uint8_t {
    None,
    Resolved, // the probe point as resolved: pp()
    Written,  // the probe point as written in the script: pn()
    // The name of the probed function.
    Function,
    Type, // the type of the probe kind, which all points of a handler share
};

// The least privilege that a user needs to run a script that calls the primitive. Each level includes the ones above.
enum class Trust : uint8_t {
    Anybody,
    OwnProcess, // reads memory, registers or stacks of a process
    Kernel,     // reads memory, registers or stacks of the kernel
    Guru,       // changes the traced program; requires -g
};

// Numbers of the current task, its processor or the session (runtime/plan/task_numbers.def).
enum class TaskNumber : uint8_t {
    None,
#define TASK_NUMBER(id, ...) id,
#include "runtime/plan/task_numbers.def"
#undef TASK_NUMBER
};
enum class NumberOrigin : uint8_t { Task, Processor, Clock, Event, Session };
struct TaskNumberTraits {
    const char* name; // the end of its routines' names: "pid"
    NumberOrigin origin;
    uint32_t helper; // number of the BPF helper; 0: none
};
const TaskNumberTraits& traits(TaskNumber number);

// The clocks that code can read. Steady is the real time at the session's start plus the monotonic time since then, in
// ns. Records carry Steady, so that differences stay right when somebody sets the clock.
enum class Clock : uint8_t { Monotonic, RealTime, Cycles, Steady };

// Facts about a primitive. Each default means "nothing special".
struct Primitive {
    static constexpr uint32_t no_word = UINT32_MAX;

    std::string_view name;
    // The subject.

    // The current task. A host handler that calls the primitive gets a warning, because its current task is sonde
    // itself. Not set for cpu() and the like: timers call these on purpose.
    bool about_task = false;
    bool names_task = false; // tells which argument of the event is the task that the handler is about
    bool per_thread = false; // threads that run at once have different values
    bool of_kernel = false;  // the kernel's memory or stack, for primitives that exist for user and kernel
    bool of_user = false;    // user-space symbols only
    bool of_python = false;  // Python's stack alone
    // Effects.
    bool sends = false;   // sends a record to the session, to be shown in order with the printed output
    bool changes = false; // has a side effect, although it returns a value
    bool appends = false; // the side effect adds to the value that it changes
    plan::Decision decides = plan::Decision::None;
    Trust trust = Trust::Anybody;
    // Requirements.
    bool reads_registers = false; // all registers
    bool reads_result = false;    // the result of the returning function
    bool needs_stacks = false;    // room for stacks
    bool needs_groups = false;    // the groups of the last match of a regular expression
    bool needs_counter = false;   // an event counter
    bool needs_tokens = false;    // the state of tokenize()
    bool needs_frame = false;     // memory in the handler's frame, although it may return a number
    // Results.
    bool is_unsigned = false;
    bool is_stable = false;   // returns the same value as long as the handler runs
    bool gives_stack = false; // returns a list of addresses as text
    bool in_table = false;    // returns an entry of the table in its first argument
    bool call_names = false;  // is a constant: SystemCalls::names
    bool python_fact = false; // is a constant: build_python_fact()
    PointText text = PointText::None;
    uint8_t bits = 64;    // number of significant bits if the result is never negative; 64: any number
    uint16_t longest = 0; // maximum length of the string in bytes; 0: unlimited
    // A call that sema creates with an unknown type gets the type that its context needs: the value of a variable of
    // Python, which is a number or a text.
    bool by_context = false;
    // Recordings. In a script over a recording, a primitive that asks for the task, its memory, its registers or this
    // machine is an error (is_live()), unless `is_recorded` or its `recorded_stack` is in the recording.
    bool is_live = false;              // the facts above do not show that it asks for this machine
    bool is_recorded = false;          // recordings have the answer
    bool needs_recorded_task = false;  // the answer belongs to the event's task, which events of the session lack
    bool needs_recorded_stack = false; // recordings have the answer if a handler has printed the stack
    bool reads_recorded = false;       // reads the recorded value that its argument names
    // Parameters of the emitter.
    TaskNumber number = TaskNumber::None;
    Clock clock = Clock::Monotonic;
    plan::GroupKind group = plan::GroupKind::Container; // which name of the task's control group
    uint32_t word = no_word;                            // offset in SessionWords, in bytes
    uint8_t size = 0;                                   // in bytes
    uint32_t record = 0;                                // a plan::RecordType
};

// Whether the answer depends on the running system, so that a script over a recording cannot have it.
bool is_live(const Primitive& primitive);

// Returns null if no primitive has this name.
const Primitive* find_primitive(std::string_view name);

} // namespace sonde::hir
