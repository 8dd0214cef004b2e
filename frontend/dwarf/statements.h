// Maps files, lines and functions to addresses by the line tables, and addresses to statements.
//
// A row of the line table is a statement if the compiler marked it with is_stmt (DWARF 5, section 6.2.2). If no row of
// a line in a function is marked, as for the closing brace of an optimized function, all its rows count. Optimized code
// has many rows for one line. Each contiguous run of them, in one function or inlined copy, is one place where the
// statement begins.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/dwarf/function_pattern.h"
#include "frontend/dwarf/line_tables.h"
#include "frontend/dwarf/module_data.h"

namespace sonde {

class FileFilter;
class FunctionInstances;
class FunctionSearch;
class ProgramFile;
class SymbolTables;
class UnitIndex;

class Statements {
  public:
    Statements(const ProgramFile& file, SymbolTables& symbols, UnitIndex& units, LineTables& lines,
               FunctionInstances& instances, FunctionSearch& functions)
        : file_(file), symbols_(symbols), units_(units), lines_(lines), instances_(instances), functions_(functions) {}

    // See the functions of DwarfModule.
    std::vector<Statement> find(const FunctionPattern& pattern);
    std::optional<Statement> at(Address address);
    std::optional<Address> start(Address address);
    std::vector<int> lines_of(std::string_view file);
    std::vector<std::string> source_files();

    // Returns the lines of `function` with code in the ranges, such as "41-44, 47"; "" if there are none.
    std::string describe_lines(FunctionRef function, const std::vector<std::pair<Address, Address>>& ranges);

  private:
    // Returns the function to which a row belongs. If optimized code of several functions shares the address, this is
    // the function whose source contains the line.
    FunctionRef function_of(Unit& unit, const LineRow& row);
    // Whether the row continues the current run of statements in the function, although it has another line.
    bool is_capture(const LineRow& row, FunctionRef run);
    // Returns the function around the row that the pattern names: the line's own function, or one into which it was
    // inlined.
    FunctionRef named_around(Unit& unit, const LineRow& row, const FunctionPattern& pattern);
    void add(Unit& unit, const FunctionPattern& pattern, FileFilter& files, std::vector<Statement>& found);

    const ProgramFile& file_;
    SymbolTables& symbols_;
    UnitIndex& units_;
    LineTables& lines_;
    FunctionInstances& instances_;
    FunctionSearch& functions_;
};

} // namespace sonde
