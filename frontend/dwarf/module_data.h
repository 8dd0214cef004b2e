// What DwarfModule answers with: functions, statements, variables and their places, as plain values.
//
// A value outlives what it was read from, but for the types in it and the names of DIEs, which the module keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontend/types/address.h"
#include "frontend/types/location.h"
#include "frontend/types/type.h"

namespace sonde {

// Offset of a DIE in .debug_info; 0 is none.
using DieOffset = uint64_t;

// A place where code of a function starts: the function itself, or one inlined copy of it.
struct FunctionInstance {
    std::string name;         // "main"; C++: qualified ("ns::C::f")
    std::string linkage_name; // mangled, empty for C
    std::string part;         // of a coroutine: ".resume" and the like, with which `name` ends then; empty: no part
    std::string file;         // as in DW_AT_decl_file, with its directory
    int line = 0;             // DW_AT_decl_line
    bool inlined = false;     // an inlined copy
    bool external = false;
    Address entry = 0; // low pc, or the inlined copy's entry pc
    Address body = 0;  // first address after the prologue where parameters are right; == entry for optimised code and
                       // inlined copies
    bool body_repeats = false;  // code at `body` is run more than once a call, or not at every call
    Address low = 0, high = 0;  // covering range (min, max)
    DieOffset die = 0;          // the subprogram or inlined_subroutine
    bool has_debug_info = true; // false: known from the symbol table only
    bool is_go = false;         // made by Go's compiler
    bool is_chosen = false;     // one of those that the resolver of an IFUNC of this name chooses from
    // Go: `body` is the jump that is taken when the stack has to grow, after which the function begins anew. Nothing
    // but flags has changed before it, so both places are the same to variables.
    bool checks_stack = false;
};

// An instruction after which execution may arrive at a probed one again, in the same call.
struct Arrival {
    Address from = 0;
    // When: the jump is taken (0 to 15: the condition by the number in its opcode), or always (jumps_always).
    uint8_t condition = 16;

    bool operator==(const Arrival&) const = default;
};

// Where a function's calls, or passes through an inlined copy, are hit: each at one of these places, once.
struct FunctionPlaces {
    struct Place {
        Address address = 0;
        std::vector<Arrival> repeats; // arrivals that are no new calls
    };
    std::vector<Place> places;
    std::string why_none; // why no place is hit exactly once
};

struct Statement {
    Address address = 0;
    std::string file;
    int line = 0;
    FunctionInstance function; // the innermost one around it
};

// Whether an instruction begins at an address.
struct InstructionPlace {
    std::string why;                 // it does not, or nobody can tell: what is known of the address; empty: it does
    bool inside = false;             // of an instruction
    std::optional<Address> before;   // the nearest instruction's beginning at or before the address
    std::optional<Address> function; // where the code around it begins
};

// A label of the source, `again:`.
struct Label {
    std::string name;
    Address address = 0;
    std::string file;
    int line = 0;
};

// Where a function calls another one of its module.
struct CallSite {
    Address return_address = 0;  // after the call; 0: an inlined copy, which nobody calls, or a jump
    std::optional<Address> jump; // a tail call: the jump to the function's beginning
    FunctionInstance callee;
};

// An instruction that leaves a function, with the return address on top of the stack.
struct FunctionExit {
    Address address = 0;
    bool is_jump = false;             // to another function, which returns in this one's place
    std::optional<uint8_t> condition; // of a jump that may not be taken: as in its opcode (4 is "equal")
};

// How the caller's frame is found at an instruction: the CFA, after the return address, is a register's value and a
// distance. Registers are rbp and rsp, by their DWARF numbers.
struct FrameRule {
    int cfa_register = 7;
    int64_t cfa_offset = 0;
    std::optional<int64_t> saved_rbp; // the place of the caller's rbp, from the CFA; none: rbp still has it

    bool operator==(const FrameRule&) const = default;
};

struct Variable {
    std::string name; // without `$`
    const Type* type = nullptr;
    bool is_parameter = false;
    bool is_result = false; // of a Go function, where results are declared like parameters
    bool is_global = false; // static or extern, at file scope
    DieOffset die = 0;
    int line = 0;
    std::string file;      // globals() only: where it is defined
    bool external = false; // globals() only: other files see it
};

// Some addresses of a function, and where a variable is while it runs there.
struct LocationRange {
    Address low = 0, high = 0;
    Location place;    // as it is at `low`; Unavailable: it has none there
    std::string lines; // the function's own lines there, "41-44, 47"; may be empty
};

} // namespace sonde
