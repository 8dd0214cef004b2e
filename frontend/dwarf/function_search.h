// Functions by the pattern that a script writes: concrete ones, inlined copies, and those that only the symbol table
// knows (all of them in a stripped program, those of other compilers and of assembly in one with debug information).
//
// A function is found once, whatever names its address has. Units that cannot have the name are left unread
// (name_filter.h). Nothing is kept here.
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
                   Variables& variables, FunctionInstances& instances, Ifuncs& ifuncs)
        : file_(file), debug_(debug), symbols_(symbols), units_(units), variables_(variables), instances_(instances),
          ifuncs_(ifuncs) {}

    // As DwarfModule::functions().
    std::vector<FunctionInstance> find(const FunctionPattern& pattern);
    // The same unit by unit, in no order and maybe more than once. After each unit `after_unit` gets its size in
    // .debug_info and may make everything that was read be forgotten.
    void visit(const FunctionPattern& pattern, const std::function<void(const FunctionInstance&)>& visit,
               const std::function<void(uint64_t bytes)>& after_unit);
    // Sorted, unique.
    std::vector<std::string> names();

    // By name and parameters.
    bool matches(FunctionRef function, const FunctionPattern& pattern);

  private:
    bool name_matches(FunctionRef function, const std::string& pattern);
    void add_functions(Unit& unit, const FunctionPattern& pattern, std::vector<FunctionInstance>& found);

    bool is_part(const FunctionInstance& function); // split off a function that begins elsewhere
    bool symbol_has_name(const CodeSymbol& symbol, const FunctionPattern& pattern);
    void add_symbol(const CodeSymbol& symbol, const FunctionPattern& pattern, std::vector<FunctionInstance>& found);
    // Those that match and begin at none of `entries`, where functions with debug information have matched.
    void add_symbols(const FunctionPattern& pattern, const std::set<Address>& entries,
                     std::vector<FunctionInstance>& found);
    // `f@V1`, where V1 is a version of the symbol and no file.
    void add_versions(const FunctionPattern& pattern, std::vector<FunctionInstance>& found);
    // What IFUNCs that match may lead to, but for functions that have matched themselves.
    void add_chosen(const FunctionPattern& pattern, const std::set<Address>& entries,
                    std::vector<FunctionInstance>& found);

    const ProgramFile& file_;
    DebugFiles& debug_;
    SymbolTables& symbols_;
    UnitIndex& units_;
    Variables& variables_;
    FunctionInstances& instances_;
    Ifuncs& ifuncs_;
};

} // namespace sonde
