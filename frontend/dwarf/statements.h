// Statements: line tables by file, line and function, and the other way round.
//
// A row counts as a statement if the compiler marked it is_stmt (DWARF 5, section 6.2.2), or if no row of its line in
// that function is marked, as with the closing brace of an optimised one. Optimised code has many rows of one line;
// each contiguous run of them, inside one function or inlined copy, is one place where the statement begins.
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

    // As DwarfModule has them.
    std::vector<Statement> find(const FunctionPattern& pattern);
    std::optional<Statement> at(Address address);
    std::optional<Address> start(Address address);
    std::vector<int> lines_of(std::string_view file);
    std::vector<std::string> source_files();

    // "41-44, 47": lines of `function` with code inside the ranges; empty if there are none.
    std::string describe_lines(FunctionRef function, const std::vector<std::pair<Address, Address>>& ranges);

  private:
    // The function that a line table's row belongs to. Where optimised code of several functions shares an address,
    // that is the one whose source the line is in.
    FunctionRef function_of(Unit& unit, const LineRow& row);
    // Whether the row goes on with the run of statements in the function, though it has another line.
    bool is_capture(const LineRow& row, FunctionRef run);
    // The function around the row that the pattern names: the line's own, or one that has an inlined copy of it.
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
