// A resolved probe point: where a handler runs, and where its variables are evaluated. Probe kinds make them
// (frontend/probes), variables are found in them (frontend/variables); neither of the two knows the other by them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontend/dwarf/dwarf_module.h"
#include "frontend/types/kernel_types.h"
#include "runtime/plan.h"

namespace sonde {

struct VariableSource;

struct Syscall {
    int number; // -1: only 32-bit programs make it
    const char* name;
    const char* parameters; // "int fd, char *buf"
    const char* text;       // "d p": how `argstr` has them (syscalls.def)
    std::vector<plan::NarrowCall> narrow_calls = {};
};

// Where a function calls another one, and by whom it is called itself.
struct Caller {
    std::vector<Address> return_addresses;
    FrameRule frame;             // at each of them
    std::vector<Caller> callers; // empty: any
};

// One place where a handler runs.
struct ResolvedPoint {
    plan::ProbeKind kind = plan::ProbeKind::Begin;
    bool in_kernel = false;
    plan::Point point; // pp, path, offset ... (pn and row are set by sema)
    plan::TimerSpec timer;
    int64_t order = 0;

    // Which `$variables` a handler sees (frontend/variables/sources.h). Null until the kind's row is asked: only points
    // of kinds with several sources say themselves which one is theirs.
    const VariableSource* variables = nullptr;
    // Where variables are evaluated; null module: in no program.
    DwarfModule* module = nullptr;
    FunctionInstance function;
    Address address = 0;              // the probed instruction, in the module
    std::vector<Arrival> repeats;     // arrivals at the probed instruction that are no calls (frontend/sema/arrivals.h)
    Address entry_address = 0;        // .return: the function's entry (after the prologue where needed)
    const PltEntry* plt = nullptr;    // an entry of the table of calls, without variables; owned by the module
    const UsdtMark* mark = nullptr;   // a static mark, with arguments instead of variables; owned by the module
    KernelTypes* kernel = nullptr;    // a point in the kernel: its types
    const Type* prototype = nullptr;  // a kernel function's or tracepoint's parameters and result; null: not known
    const Syscall* syscall = nullptr; // a system call, by the raw tracepoint of all
    bool is_exit = false;             // of a system call
    bool is_among_many = false;       // the same handler is for many system calls
    std::string system;               // a tracepoint's subsystem; empty: not known
    bool alone = false;               // its program can serve no other point
    bool is_function = false;         // a function's probe, which may sit at any of its first instructions
    bool is_return = false;
    std::vector<Caller> callers; // not empty: only calls by one of these count
    // A tail call of the function: what is probed is the jump, where all but the program counter is as at `address`.
    std::optional<Address> jump;
    bool at_call =
        false;          // `address` or `entry_address` is before the prologue: parameters are where the ABI passes them
    bool is_go = false; // a function of Go
    std::string listed; // its line of a listing, where making it was part of finding it
    bool at_return_instruction = false; // with is_return: `address` is one of the instructions that leave the function
    bool after_call = false;            // or it is one behind a call of the function, which has returned
    bool leaves_by_jump = false;        // that one is a jump to another function, so the result is not known yet
    std::optional<uint8_t> jump_condition; // as FunctionExit has it
    bool reads_registers = false;          // of the kernel
};

} // namespace sonde
