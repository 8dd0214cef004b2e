// Finds the functions of a frame, which is at an address behind a call, and the values that registers had when the
// function was called (DWARF 5, section 3.4, "Call Site Entries").
//
// A called function need not keep its arguments. But the caller's debug information can say what it passed, in terms of
// registers and memory that still have their values while the function runs.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/dwarf/location_expression.h"
#include "frontend/dwarf/module_data.h"

namespace sonde {

class DebugFiles;
class FunctionInstances;
class Locations;
class UnitIndex;

// The value of a register (a number of Architecture::registers()) at a call.
struct CallValue {
    int reg = -1;
    Location value;
};

class Frames {
  public:
    Frames(DebugFiles& debug, UnitIndex& units, FunctionInstances& instances, Locations& locations)
        : debug_(debug), units_(units), instances_(instances), locations_(locations) {}

    // Returns the functions at an address: first those that are inlined there, innermost first, then the one that
    // contains the address. Empty without debug information about the address.
    std::vector<FunctionInstance> functions_at(Address address);

    // From now on, a location can use the values that registers had when the function was entered
    // (first_entry_register). Otherwise such a location is unavailable.
    void accept_entry_values();
    // Returns the values that registers had when the call before a return address began, as locations in the caller.
    // Empty if the debug information does not show that the call goes to `callee`. `is_here`: `callee` is in this
    // module.
    std::vector<CallValue> values_at_call(Address return_address, const FunctionInstance& callee, bool is_here);
    // Whether the function cannot have been entered by a jump from itself, directly or through other functions. Then
    // the values at a call are those at the function's entry.
    bool is_only_called(const FunctionInstance& function);

  private:
    DebugFiles& debug_;
    UnitIndex& units_;
    FunctionInstances& instances_;
    Locations& locations_;
};

} // namespace sonde
