// Functions that a C++ compiler emits in addition to those in the source. They have the code of another function, or
// they run it, and a call must be counted once in both cases:
//
// * A deleting destructor (D0) runs the destructor and frees the memory. The debug information calls both `~C`. Usually
//   D0 calls the destructor or contains an inlined copy. Then D0 is not counted.
// * A thunk adjusts `this` and jumps to the function, so it is not counted. But gcc may instead give the thunk a second
//   copy of the function's code, for which it writes no debug information. Then the thunk is another place of the
//   function, because a call through the thunk does not reach the function itself.
//
// The machine code shows which case it is. It is read for these functions only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/dwarf/module_data.h"
#include "frontend/dwarf/symbol_tables.h"
#include "frontend/dwarf/unit.h"

namespace sonde {

class ProgramFile;
class UnitIndex;

class EmittedVariants {
  public:
    EmittedVariants(ProgramFile& file, SymbolTables& symbols, UnitIndex& units)
        : file_(file), symbols_(symbols), units_(units) {}

    // Whether the function at `entry` is a variant of a constructor or destructor that runs another variant.
    bool runs_another(Address entry);
    // Whether an inlined copy of a variant contains an inlined copy of another variant.
    bool contains_another(FunctionRef copy);
    // Returns the thunks of a function that contain a copy of its code without debug information. (LLVM describes an
    // inlined copy in the thunk.) `linkage_name` is the function's symbol.
    const std::vector<CodeSymbol>& thunks_with_code(const std::string& linkage_name);

  private:
    bool contains_copy(FunctionRef function);
    // Whether the code goes to one of these functions by a direct call or jump, also through the PLT.
    bool goes_to(const CodeSymbol& from, const std::vector<std::string>& names);
    bool has_name(Address address, const std::vector<std::string>& names);
    bool has_own_code(const CodeSymbol& thunk, const std::string& target);

    ProgramFile& file_;
    SymbolTables& symbols_;
    UnitIndex& units_;
    std::optional<std::map<std::string, std::vector<CodeSymbol>>> thunks_; // those with code, by their functions
};

} // namespace sonde
