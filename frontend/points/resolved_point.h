// A resolved probe point: where a handler runs, and where its variables are evaluated. Probe kinds create points
// (frontend/probes), and variables are looked up at points (frontend/variables). The two sides know only this
// structure, not each other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arch/architecture.h"
#include "frontend/dwarf/dwarf_module.h"
#include "frontend/types/kernel_types.h"
#include "languages/python/places.h"
#include "runtime/plan/points.h"
#include "runtime/plan/recorded_points.h"

namespace sonde {

struct VariableSource;

// A system call: one row of the architecture's table (SystemCallRow).
struct Syscall {
    int number; // -1 if only 32-bit programs can make the call
    const char* name;
    const char* parameters; // "int fd, char *buf"
    const char* text;       // "d p": how to print each argument in `argstr` (see the table)
    std::vector<plan::NarrowCall> narrow_calls = {};
};

// A call site in a chain of callers: the function that must have called the probed one, and optionally its own callers.
struct Caller {
    std::vector<Address> return_addresses;
    FrameRule frame;             // how to find the caller's frame at each of these addresses
    std::vector<Caller> callers; // empty: any caller
};

// What a probe kind says about sharing a handler, that is a BPF program, with other points of the same probe.
struct Sharing {
    // Points with different texts cannot share: the program can be at one such place only, or sees other values there.
    std::string only;
    // Points with the same text cannot share either, because the program runs once for a hit, and each point of the
    // script counts. Empty: the script has no such point twice, or its kind tells them apart.
    std::string once;
};

// A function of Python. Its place is in the interpreter's loop, so handlers select the calls that the point means. The
// patterns are as for glob_match().
struct ResolvedPoint;
struct PythonPoint {
    uint32_t layout = 0; // index in ProbeEnvironment::python_layouts
    PythonPlace place;
    enum Event : uint8_t { Call, Return, Exception } event = Call;
    std::string file = {};     // a pattern for the path, or for its end
    std::string function = {}; // a pattern for the qualified name or, without a dot, for the name
    std::string script = {};   // only processes with this word in the command line; empty: all
    // Except for a call: the points of the function's calls, for `@entry`.
    std::shared_ptr<const std::vector<ResolvedPoint>> calls = nullptr;
};

// One place where a handler runs.
struct ResolvedPoint {
    plan::ProbeKind kind{}; // Begin
    bool in_kernel = false;
    plan::Point point; // pp, path, offset ... (sema sets pn and row)
    plan::TimerSpec timer;
    std::string counter; // the name by which @perf() reads this event's counter; empty: it is none
    int64_t order = 0;

    // The source of the handler's `$variables` (frontend/variables/sources.h). Null until the kind's row is consulted;
    // only kinds with several sources set it themselves.
    const VariableSource* variables = nullptr;
    // Where variables are evaluated. A null module means: not in a program.
    DwarfModule* module = nullptr;
    // That of the machine that will run the plan (resolve_point() sets it), and that of the traced code.
    const Architecture* machine = nullptr;
    const Architecture& architecture() const { return module ? module->file().architecture() : *machine; }
    FunctionInstance function;
    Address address = 0;          // the probed instruction, as an address in the module
    std::vector<Arrival> repeats; // from where execution comes to the address without a call (frontend/sema/arrivals.h)
    std::string doubt;            // why the point may miss calls (FunctionPlaces)
    Address entry_address = 0;    // .return: the function's entry, or the end of its prologue if needed
    // An entry of the procedure linkage table, which has no variables; owned by the module.
    const PltEntry* plt = nullptr;
    const UsdtMark* mark = nullptr;  // a static marker (USDT), with arguments instead of variables; owned by the module
    KernelTypes* kernel = nullptr;   // for points in the kernel: the kernel's types
    const Type* prototype = nullptr; // parameters and result of a kernel function or tracepoint; null if unknown
    const Syscall* syscall = nullptr; // the system call, if probed by the tracepoint that all system calls share
    bool is_exit = false;             // the exit of the system call, not its entry
    bool is_unimplemented = false;    // the system call is one that this kernel does not implement
    bool is_among_many = false;       // the same handler serves many system calls
    std::string system;               // the tracepoint's subsystem; empty if unknown
    Sharing sharing;
    bool is_function = false; // a probe of a function, which may be placed at any of its first instructions
    bool is_return = false;
    std::vector<Caller> callers; // if not empty, only calls through one of these count
    // For a tail call of the function, `jump` is the probed jump instruction. There, all registers but the program
    // counter have the values that they will have at `address`.
    std::optional<Address> jump;
    // `address` or `entry_address` is before the prologue, so parameters are where the ABI passes them.
    bool at_call = false;
    bool is_go = false;                 // a function written in Go
    std::string listed;                 // the point's line in a listing, if it was computed when the point was found
    bool at_return_instruction = false; // with is_return: `address` is one of the instructions that leave the function
    // With is_return: `address` is the instruction after a call of the function, which has returned.
    bool after_call = false;
    // The instruction is a jump to another function (a tail call), so the result is not known yet.
    bool leaves_by_jump = false;
    std::optional<JumpCondition> jump_condition; // see FunctionExit::condition and TailJump::condition
    bool reads_registers = false;                // the handler needs the kernel's registers
    std::optional<PythonPoint> python;
    const plan::RecordedPoint* recorded = nullptr; // a point of a recording; owned by ProbeEnvironment::recording
    // For process("P").python.NEXT: the index of the interpreter's layout in ProbeEnvironment::python_layouts.
    std::optional<uint32_t> interpreter;
};

} // namespace sonde
