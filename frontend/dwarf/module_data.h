// The data that DwarfModule returns: functions, statements, variables and their places, as plain values.
//
// A value remains valid when the debug information is freed. Exceptions are the types in it and the names of DIEs,
// which the module owns.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/registers.h"
#include "frontend/machine/address.h"
#include "frontend/machine/location.h"
#include "frontend/types/type.h"

namespace sonde {

// Offset of a DIE in .debug_info; 0 means none. For its upper bits see DebugFiles::pack().
using DieOffset = uint64_t;

// A function with its own code, or one inlined copy of a function.
struct FunctionInstance {
    std::string name;         // "main"; C++: qualified ("ns::C::f")
    std::string linkage_name; // mangled, empty for C
    std::string part;     // for a part of a coroutine: ".resume" or similar, which is also the end of `name`; else ""
    std::string file;     // DW_AT_decl_file, with its directory
    int line = 0;         // DW_AT_decl_line
    bool inlined = false; // an inlined copy
    bool external = false;
    Address entry = 0; // the low pc, or the entry pc of an inlined copy
    // The first address after the prologue, where parameters can be read; equals `entry` in optimized code and inlined
    // copies.
    Address body = 0;
    bool body_repeats = false;  // the code at `body` may run more than once per call, or not in every call
    Address low = 0, high = 0;  // the smallest range that contains all its code
    DieOffset die = 0;          // the DW_TAG_subprogram or DW_TAG_inlined_subroutine
    bool has_debug_info = true; // false: known from the symbol table only
    bool is_go = false;         // compiled by Go's compiler
    bool is_chosen = false;     // an implementation that the IFUNC resolver of this name can choose
    // Go: `body` is the conditional jump of the stack check. If it is taken, the stack grows and the function starts
    // again. Before the jump only flags have changed, so variables have the same locations as at the entry.
    bool checks_stack = false;
};

// An instruction after which execution may reach a probed instruction again in the same call.
struct Arrival {
    Address from = 0;
    // When it does: if the jump with this condition is taken, or always (jumps_always).
    JumpCondition condition = 16;

    bool operator==(const Arrival&) const = default;
};

// Places that are hit by the calls of a function, or by the executions of an inlined copy: each hits exactly one of the
// places, once.
struct FunctionPlaces {
    struct Place {
        Address address = 0;
        std::vector<Arrival> repeats; // ways to reach the place that are not new calls
    };
    std::vector<Place> places;
    std::string why_none;   // why no place is hit exactly once
    std::string doubt = {}; // why some calls may hit no place; "" if each call hits one
};

// A place in the source: a row of the line table.
struct Statement {
    Address address = 0;
    std::string file;
    int line = 0;
    FunctionInstance function; // the innermost function at the address
};

// Whether an instruction begins at an address.
struct InstructionPlace {
    std::string why;                 // why none begins there, or why that is unknown; "" if one begins there
    bool inside = false;             // the address is inside an instruction
    std::optional<Address> before;   // the nearest beginning of an instruction at or before the address
    std::optional<Address> function; // the beginning of the code around the address
};

// A label in the source, such as `again:`.
struct Label {
    std::string name;
    Address address = 0;
    std::string file;
    int line = 0;
};

// A jump that is a tail call.
struct TailJump {
    Address address = 0;
    std::optional<JumpCondition> condition; // of a conditional jump: it calls only if it is taken

    auto operator<=>(const TailJump&) const = default;
};

// A call of another function in the same module.
struct CallSite {
    Address return_address = 0;   // the address after the call; 0 for an inlined copy or a jump
    std::optional<TailJump> jump; // for a tail call: the jump to the callee's beginning
    FunctionInstance callee;
};

// An instruction that leaves a function, while the stack and the return address are as at the entry.
struct FunctionExit {
    Address address = 0;
    bool is_jump = false; // a tail call: a jump to another function, which returns instead of this one
    std::optional<JumpCondition> condition; // of a conditional jump
};

// How to find the caller's frame at an instruction. The canonical frame address (CFA, the stack pointer before the
// call) is a register plus an offset. The register is the stack or frame pointer, by its DWARF number.
struct FrameRule {
    int cfa_register = -1;
    int64_t cfa_offset = 0;
    // Offsets of the caller's frame pointer and of the return address from the CFA; nullopt if the register still has
    // this value.
    std::optional<int64_t> saved_frame_pointer, saved_return_address;

    bool operator==(const FrameRule&) const = default;
};

// A variable, parameter or result of the traced program.
struct Variable {
    std::string name; // without `$`
    const Type* type = nullptr;
    bool is_parameter = false;
    bool is_result = false; // a result of a Go function; Go declares results like parameters
    bool is_global = false; // a global or static variable at file scope
    DieOffset die = 0;
    int line = 0;
    std::string file;      // only from globals(): the file that defines it
    bool external = false; // only from globals(): visible in other files
};

// A range of addresses in a function with the location of a variable there.
struct LocationRange {
    Address low = 0, high = 0;
    Location place;    // the location at `low`; may be Unavailable
    std::string lines; // the function's own lines in the range, "41-44, 47"; may be ""
};

} // namespace sonde
