// Finds variables: at one address, over all addresses of a function, or at a fixed address for globals.
//
// If the address is in a gap of a location list, the reason names the lines at which the variable is available. Nothing
// is cached.
#pragma once

#include <optional>
#include <vector>

#include "frontend/dwarf/location_expression.h"
#include "frontend/dwarf/module_data.h"

namespace sonde {

class Statements;
class UnitIndex;

class Locations {
  public:
    Locations(const ProgramFile& file, DebugFiles& debug, UnitIndex& units, FunctionInstances& instances,
              Statements& statements)
        : debug_(debug), units_(units), statements_(statements), context_{file, debug, instances} {}

    // See the functions of DwarfModule.
    Location locate(const Variable& variable, Address address);
    // The same at a function's first instruction (`entry`), or after its `endbr64` (`address`). If a parameter changes
    // without an instruction, it has two locations there; the first one has the caller's value.
    Location at_entry(const Variable& variable, Address entry, Address address);
    std::vector<LocationRange> ranges(const Variable& variable, const FunctionInstance& function);
    std::optional<Address> global_address(const Variable& variable);
    // Returns the location of the return address, from the call frame information.
    Location return_address(Address address);

  private:
    DebugFiles& debug_;
    UnitIndex& units_;
    Statements& statements_;
    ExpressionContext context_;
};

} // namespace sonde
