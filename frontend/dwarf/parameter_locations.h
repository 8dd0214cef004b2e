// Where a parameter is when its function begins.
//
// There are two witnesses. Debug information may give one place for the whole function, which the function's first
// instructions have yet to fill: the frame, or a register that callees keep. The calling convention knows what the
// caller did, unless the compiler gave the function another signature (clones, removed arguments). Each is checked
// with the other: where the debug information can be true at the entry, both must agree; where it cannot, the
// convention decides, if it agrees for all parameters before. Anything else is a doubt, and so Unavailable.
#pragma once

#include <optional>
#include <vector>

#include "frontend/dwarf/module_data.h"

namespace sonde {

class CallingConvention;
class DebugFiles;
class Locations;
class ProgramFile;
class SymbolTables;
struct PrologueState;
class Variables;

class ParameterLocations {
  public:
    ParameterLocations(const ProgramFile& file, DebugFiles& debug, SymbolTables& symbols, Variables& variables,
                       Locations& locations, CallingConvention& calling)
        : file_(file), debug_(debug), symbols_(symbols), variables_(variables), locations_(locations),
          calling_(calling) {}

    // At the first instruction of a function that is no inlined copy, or after its `endbr64`: `address`.
    Location at_entry(const FunctionInstance& function, const Variable& parameter, Address address);

    // The first address of the function's first block at which the parameter's own location holds: the entry if it
    // says so for that; nullopt: nowhere in that block, as far as its code is understood.
    std::optional<Address> holds_from(const FunctionInstance& function, const Variable& parameter);

    // At an address behind the entry: its own location, but for optimised code that has not filled it yet.
    Location inside(const FunctionInstance& function, const Variable& parameter, Address address);

    // Whether the compiler optimised the function. If it did not, parameters are in place after the prologue.
    bool is_optimized(const FunctionInstance& function);

  private:
    // How what the debug information says of the entry compares to what the calling convention says.
    enum class Agreement {
        Same,
        Missing,   // the debug information has no place
        TooEarly,  // its place is not filled yet
        Different, // it has another place that an argument may be passed in
    };
    struct Compared {
        Agreement agreement = Agreement::Missing;
        Location described, passed;
    };
    Compared compare(const FunctionInstance& function, const Variable& parameter, Address address);
    bool is_convention_certain(const FunctionInstance& function);
    bool is_clone(const FunctionInstance& function);
    Location described_at_entry(const FunctionInstance& function, const Variable& parameter, Address address);
    // The states in the function's first block; at least the one at the entry.
    std::vector<PrologueState> first_block(const FunctionInstance& function);
    bool counts_from_lowered_stack(const Variable& parameter, const std::vector<PrologueState>& block);
    // One for the whole function, and no list of places.
    bool has_single_place(const Variable& parameter);
    bool lacks_variable_tracking(const FunctionInstance& function);
    bool may_decide(const FunctionInstance& function, const Variable& parameter, Address address);

    const ProgramFile& file_;
    DebugFiles& debug_;
    SymbolTables& symbols_;
    Variables& variables_;
    Locations& locations_;
    CallingConvention& calling_;
};

} // namespace sonde
