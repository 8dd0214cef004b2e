// Finds variables: at one address, over all addresses of a function, or at a fixed address for globals.
//
// If the address is in a gap of a location list, the reason names the lines at which the variable is available. Nothing
// is cached.
#pragma once

#include <optional>
#include <vector>

#include "frontend/dwarf/location_expression.h"
#include "frontend/dwarf/module_data.h"
#include "frontend/dwarf/thread_symbols.h"

namespace sonde {

class Statements;
class UnitIndex;

class Locations {
  public:
    Locations(const ProgramFile& file, DebugFiles& debug, UnitIndex& units, FunctionInstances& instances,
              Statements& statements)
        : debug_(debug), units_(units), statements_(statements), thread_symbols_(file, debug),
          context_{file, debug, instances} {}

    // See the functions of DwarfModule.
    Location locate(const Variable& variable, Address address);
    // The same at a function's first instruction (`entry`), or after its `endbr64` (`address`). If a parameter changes
    // without an instruction, it has two locations there; the first one has the caller's value.
    Location at_entry(const Variable& variable, Address entry, Address address);
    std::vector<LocationRange> ranges(const Variable& variable, const FunctionInstance& function);
    std::optional<Address> global_address(const Variable& variable);
    // Returns the stack pointer at the function's entry, as an address: by the call frame information at `address`.
    Location entry_stack_pointer(Address address);

    void accept_entry_values() { context_.accepts_entry_values = true; }
    // Translates an expression of a call site, which is evaluated in the caller.
    Location of_call(Address address, Dwarf_Attribute& attribute);

  private:
    Location undescribed(const Variable& variable, Dwarf_Die& die, Address address);

    DebugFiles& debug_;
    UnitIndex& units_;
    Statements& statements_;
    ThreadSymbols thread_symbols_;
    ExpressionContext context_;
};

} // namespace sonde
