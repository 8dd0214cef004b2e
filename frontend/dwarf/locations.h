// Where variables are: at one address, over a function's addresses, or as globals at a fixed one.
//
// A location list says where it holds; for a gap in it the lines are named at which the variable is available. Nothing
// is kept.
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

    // As DwarfModule has them.
    Location locate(const Variable& variable, Address address);
    // The same at a function's first instruction, `entry`, or behind its `endbr64`, `address`. A parameter that is
    // changed without an instruction has two places there, of which the caller's value is in the first one.
    Location at_entry(const Variable& variable, Address entry, Address address);
    std::vector<LocationRange> ranges(const Variable& variable, const FunctionInstance& function);
    std::optional<Address> global_address(const Variable& variable);
    Location return_address(Address address);

  private:
    DebugFiles& debug_;
    UnitIndex& units_;
    Statements& statements_;
    ExpressionContext context_;
};

} // namespace sonde
