// The probe points of a recording, and the values of their events. A script over a recording is translated against
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sonde::plan {

// In questions about values: the stacks of an event. An expression cannot have such a name.
constexpr const char *user_stack_value = "the user stack", *kernel_stack_value = "the kernel stack";

// A value that handlers at a point have printed.
struct RecordedValue {
    std::string name;       // the expression, as the recording's script writes it: "$order->quantity"
    std::string short_name; // "quantity"; empty: the expression has no such name (short_name_of())
    bool is_text = false;   // some event has it as a text, else all have it as a number
    bool is_mixed = false;  // the events have it as texts and as numbers
    bool has_twin = false;  // another value of the point has the same short name
};

// A point with at least one handler. Points with the same pp() are one.
struct RecordedPoint {
    std::string pp;         // pp() in the session
    std::string name;       // probefunc() there; pp() if the point is not a function
    std::string function;   // probefunc() there
    bool is_return = false; // the point is the end of a call, so it is written record("NAME").return
    std::vector<RecordedValue> values;
    uint64_t events = 0;
    bool has_twin = false;                                 // another point has the same name
    bool has_task = false;                                 // its events have a process, a thread and a task name
    bool has_user_stack = false, has_kernel_stack = false; // handlers there have printed this stack
};

struct RecordedPoints {
    std::string file;                  // the recording
    std::vector<RecordedPoint> points; // in the order of the script
};

// Returns the name of a value in a script over the recording, without `$`: the last name of a variable or a member, the
// name of a function without arguments, and the short name of a function's only argument. Empty: there is none.
//
//     $order->quantity        quantity
//     user_string($name)      name
//     execname()              execname
//     $a + $b                 (none)
std::string short_name_of(const std::string& expression);

} // namespace sonde::plan
