// Which addresses are instructions, and which code belongs together: what has to be known before anything is written
// there.
//
// Unwinding entries, debug information and symbols say where functions are, in this order; line tables and symbols
// where some of their instructions begin. The rest is decoded (types/code_map.h). Nothing is kept: each question reads
// the code of one function again.
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

// Code that belongs together, and addresses that instructions begin at. Not `whole`: where it ends is not known.
struct Stretch {
    Address low = 0, high = 0;
    bool whole = false;
    std::vector<Address> starts;
};

class CodeLayout {
  public:
    CodeLayout(const ProgramFile& file, SymbolTables& symbols, UnitIndex& units, LineTables& lines, UnwindTable& unwind)
        : file_(file), symbols_(symbols), units_(units), lines_(lines), unwind_(unwind) {}

    // Nullopt: nothing knows what is there, or it is too much to read.
    std::optional<Stretch> stretch_at(Address address);
    // As DwarfModule has it.
    InstructionPlace instruction_at(Address address);

  private:
    const ProgramFile& file_;
    SymbolTables& symbols_;
    UnitIndex& units_;
    LineTables& lines_;
    UnwindTable& unwind_;
};

// As DwarfModule has it.
std::optional<Address> cheap_entry(const ProgramFile& file, const FunctionInstance& function);

} // namespace sonde
