// Finds functions by the pattern in a script: functions with their own code, inlined copies, and functions that only
// the symbol table contains. The latter are all functions in a stripped program, and those of assembly code and other
// compilers in any program.
//
// Each function is found once, even if its address has several names. Units that cannot contain the name are not read
// (name_filter.h). Nothing is cached here.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "frontend/dwarf/function_pattern.h"
#include "frontend/dwarf/module_data.h"
#include "frontend/dwarf/unit.h"

namespace sonde {

class DebugFiles;
class EmittedVariants;
class FunctionInstances;
class Ifuncs;
class ProgramFile;
class SymbolTables;
class UnitIndex;
class Variables;
struct CodeSymbol;

class FunctionSearch {
  public:
    FunctionSearch(const ProgramFile& file, DebugFiles& debug, SymbolTables& symbols, UnitIndex& units,
                   Variables& variables, FunctionInstances& instances, Ifuncs& ifuncs, EmittedVariants& variants)
        : file_(file), debug_(debug), symbols_(symbols), units_(units), variables_(variables), instances_(instances),
          ifuncs_(ifuncs), variants_(variants) {}

    // See DwarfModule::functions().
    std::vector<FunctionInstance> find(const FunctionPattern& pattern);
    // The same unit by unit, in no particular order and possibly with duplicates. After each unit, calls `after_unit`
    // with the unit's size in .debug_info; the callee may then free all debug information.
    void visit(const FunctionPattern& pattern, const std::function<void(const FunctionInstance&)>& visit,
               const std::function<void(uint64_t bytes)>& after_unit);
    // Returns the names of all functions, sorted without duplicates.
    std::vector<std::string> names();

    // Whether the name and the parameters match.
    bool matches(FunctionRef function, const FunctionPattern& pattern);

  private:
    bool name_matches(FunctionRef function, const std::string& pattern);
    void add_functions(Unit& unit, const FunctionPattern& pattern, std::vector<FunctionInstance>& found);

    bool is_part(const FunctionInstance& function); // was split off from a function that begins elsewhere
    bool symbol_has_name(const CodeSymbol& symbol, const FunctionPattern& pattern);
    // Adds thunks that contain the function's code, under the function's name.
    void add_thunks(const FunctionInstance& function, std::vector<FunctionInstance>& found);
    void add_symbol(const CodeSymbol& symbol, const FunctionPattern& pattern, std::vector<FunctionInstance>& found);
    // Adds symbols that match, except those at `entries`, the addresses of functions with debug information that
    // matched.
    void add_symbols(const FunctionPattern& pattern, const std::set<Address>& entries,
                     std::vector<FunctionInstance>& found);
    // Adds the functions for `f@V1`, where V1 is a version of the symbol and not a file.
    void add_versions(const FunctionPattern& pattern, std::vector<FunctionInstance>& found);
    // Adds the implementations of IFUNCs that match, except those at `entries`.
    void add_chosen(const FunctionPattern& pattern, const std::set<Address>& entries,
                    std::vector<FunctionInstance>& found);

    const ProgramFile& file_;
    DebugFiles& debug_;
    SymbolTables& symbols_;
    UnitIndex& units_;
    Variables& variables_;
    FunctionInstances& instances_;
    Ifuncs& ifuncs_;
    EmittedVariants& variants_;
};

} // namespace sonde
