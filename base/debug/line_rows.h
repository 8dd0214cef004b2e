// The decoded rows of a unit's line table (DWARF 5, section 6.2.2).
//
// libdw decodes a unit's table once, sorts it by address, and caches it.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>

namespace sonde {

// A decoded row. Its line is valid up to the next row's address.
struct LineRow {
    uint64_t address = 0;
    const char* file = nullptr; // one pointer per file in a unit; null if the table lacks the file
    int line = 0;               // 0: code that belongs to no line
    uint16_t column = 0;        // 0: unknown
    bool is_statement : 1 = false;
    bool end_sequence : 1 = false; // the first address after a sequence; belongs to no line
    bool prologue_end : 1 = false;
};

// Calls `visit(row)` for each row of the unit's table. For a split unit, pass the skeleton.
template <typename Visit> void for_each_line_row(Dwarf_Die& unit, Visit visit) {
    Dwarf_Lines* lines = nullptr;
    size_t count = 0;
    if (dwarf_getsrclines(&unit, &lines, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        Dwarf_Line* line = dwarf_onesrcline(lines, i);
        LineRow row;
        if (!line || dwarf_lineaddr(line, &row.address) != 0 || dwarf_lineno(line, &row.line) != 0)
            continue;
        row.file = dwarf_linesrc(line, nullptr, nullptr);
        bool is_statement = false, end_sequence = false, prologue_end = false;
        int column = 0;
        dwarf_linebeginstatement(line, &is_statement);
        dwarf_lineendsequence(line, &end_sequence);
        dwarf_lineprologueend(line, &prologue_end);
        dwarf_linecol(line, &column);
        row.column = column < 0 || column > UINT16_MAX ? 0 : static_cast<uint16_t>(column);
        row.is_statement = is_statement;
        row.end_sequence = end_sequence;
        row.prologue_end = prologue_end;
        visit(row);
    }
}

// Calls `visit(path)` for each file of the table until it returns false. libdw adds a file "???" at the beginning if
// the table has no file with index 0.
template <typename Visit> void for_each_source_file(Dwarf_Die& unit, Visit visit) {
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    if (dwarf_getsrcfiles(&unit, &files, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (const char* path = dwarf_filesrc(files, i, nullptr, nullptr); path && !visit(path))
            return;
}

} // namespace sonde
