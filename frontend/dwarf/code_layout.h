// Determines which addresses are the beginning of an instruction, and which code belongs to one function. sonde must
// know both before it places a breakpoint.
//
// The bounds of functions come from unwind entries, debug information and symbols, in this order. Line tables and
// symbols give the beginnings of some instructions; the others are found by decoding (machine/code_map.h). Nothing is
// cached: each query reads the code of one function again.
#pragma once

#include <optional>
#include <vector>

#include "frontend/dwarf/module_data.h"

namespace sonde {

class LineTables;
class ProgramFile;
class SymbolTables;
class UnitIndex;
class UnwindTable;

// The code around an address, and known beginnings of instructions in it. `whole` is false if the end of the function
// is unknown.
struct Stretch {
    Address low = 0, high = 0;
    bool whole = false;
    std::vector<Address> starts;
};

class CodeLayout {
  public:
    CodeLayout(const ProgramFile& file, SymbolTables& symbols, UnitIndex& units, LineTables& lines, UnwindTable& unwind)
        : file_(file), symbols_(symbols), units_(units), lines_(lines), unwind_(unwind) {}

    // Returns nullopt if nothing is known about the address, or if there is too much code to read.
    std::optional<Stretch> stretch_at(Address address);
    // See DwarfModule::instruction_at().
    InstructionPlace instruction_at(Address address);

  private:
    const ProgramFile& file_;
    SymbolTables& symbols_;
    UnitIndex& units_;
    LineTables& lines_;
    UnwindTable& unwind_;
};

// See DwarfModule::cheap_entry().
std::optional<Address> cheap_entry(const ProgramFile& file, const FunctionInstance& function);

} // namespace sonde
