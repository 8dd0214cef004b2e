// Finds a parameter at the beginning of its function. This is harder than it looks, because both sources can be wrong
// there.
//
// The debug information may give one location for the whole function, for example -0x14(%rbp) or rbx. But the prologue
// has yet to store the parameter there; at the entry, the place contains garbage.
//
// The calling convention tells where the caller has put the parameter, for example in edi. But the compiler may have
// given the function another signature: clones have other parameters, and unused ones are removed. Then edi contains
// something else.
//
// So each source is checked with the other:
//
// 1. If the location in the debug information can be valid at the entry, both sources must agree.
// 2. If it cannot be valid yet, the calling convention decides, provided that it agrees with the debug information for
//    all parameters before this one.
// 3. Otherwise the location is Unavailable. A script then gets an error instead of a wrong value.
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

    // Returns the location at the first instruction of a function (not an inlined copy), or after its `endbr64`;
    // `address` is one of the two.
    Location at_entry(const FunctionInstance& function, const Variable& parameter, Address address);

    // Returns the first address in the function's first basic block at which the parameter's own location is valid.
    // This is the entry if the debug information says so. Returns nullopt if the code of the block does not show such
    // an address.
    std::optional<Address> holds_from(const FunctionInstance& function, const Variable& parameter);

    // Whether an instruction between the function's entry and this address has changed the parameter, which is in a
    // register. False if the code does not show it.
    bool has_changed(const FunctionInstance& function, const Variable& parameter, Address address);

    // Returns the location at an entry of an inlined copy. Like a function's first instruction, it can have two
    // locations.
    Location at_copy_entry(const Variable& parameter, Address entry);

    // Returns the location at an address after the entry. This is the parameter's own location, unless it is in
    // optimized code that has not stored the parameter yet.
    Location inside(const FunctionInstance& function, const Variable& parameter, Address address);

    // Returns the operations that compute, at an address in the function's first basic block, the value that a register
    // (its DWARF number) had at the entry. Returns nothing if the value is not known there.
    std::vector<LocationOp> value_of_entry(const FunctionInstance& function, int reg, Address address);

    // Whether the compiler has optimized the function. In unoptimized code, parameters are in their places after the
    // prologue.
    bool is_optimized(const FunctionInstance& function);

  private:
    // How the location in the debug information compares with the calling convention, at the entry.
    enum class Agreement {
        Same,
        Missing,   // the debug information has no location
        TooEarly,  // the location is not filled yet
        Different, // another location, in which an argument may also be passed
    };
    struct Compared {
        Agreement agreement = Agreement::Missing;
        Location described, passed;
    };
    Compared compare(const FunctionInstance& function, const Variable& parameter, Address address);
    bool is_convention_certain(const FunctionInstance& function);
    bool is_clone(const FunctionInstance& function);
    Location described_at_entry(const FunctionInstance& function, const Variable& parameter, Address address);
    // Whether the function (not a copy) that contains the address calls others. False if its symbol is missing.
    bool makes_calls(Address address);
    // Returns the states in the function's first basic block; at least the state at the entry.
    std::vector<PrologueState> first_block(const FunctionInstance& function);
    bool counts_from_lowered_stack(const Variable& parameter, const std::vector<PrologueState>& block);
    // Whether the parameter has one location for the whole function, not a list.
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
