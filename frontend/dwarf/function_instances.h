// Converts functions of the index to FunctionInstance: addresses, names, declaration and body.
//
// This reads the DIE, its ranges and, for the body, the unit's line table. So each instance is created once and kept
// until forget(); it takes some 300 bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "frontend/dwarf/module_data.h"
#include "frontend/dwarf/unit.h"

namespace sonde {

class DebugFiles;
class LineTables;
class ProgramFile;
class SymbolTables;
class UnitIndex;
struct CodeSymbol;

class FunctionInstances {
  public:
    FunctionInstances(const ProgramFile& file, DebugFiles& debug, SymbolTables& symbols, UnitIndex& units,
                      LineTables& lines)
        : file_(file), debug_(debug), symbols_(symbols), units_(units), lines_(lines) {}

    // Returns null if the reference is empty or the function has no code.
    const FunctionInstance* of(FunctionRef function);
    // Creates the instance of a function that only the symbol table contains.
    FunctionInstance of_symbol(const CodeSymbol& symbol);

    void forget() { made_.clear(); }

  private:
    std::optional<FunctionInstance> make(FunctionRef function);

    const ProgramFile& file_;
    DebugFiles& debug_;
    SymbolTables& symbols_;
    UnitIndex& units_;
    LineTables& lines_;
    std::unordered_map<const Unit*, std::unordered_map<uint32_t, std::optional<FunctionInstance>>> made_;
};

} // namespace sonde
