// Functions of the index as places in the program: an entry with its addresses, names, declaration and body.
//
// Making one reads its DIE, its ranges and, for the body, the unit's line table, so it is made once and kept until
// forget(): some 300 bytes a function.
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

    // Null: no function, or one that has no code after all.
    const FunctionInstance* of(FunctionRef function);
    // Of a function that only the symbol table knows.
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
