// Maps addresses to source lines with libdw.
//
// The same data is needed in two forms. The runtime looks up single addresses, and reads only the units that contain
// these (LineFinder). Handlers need all lines of a file as a sorted table (read_lines()).
//
// A line table consists of sequences. Each is sorted, and ends with a row that has no line (DWARF 5, section 6.2.5).
// Sequences of different units can touch:
//
//     unit a    1000 line 5, 1010 end
//     unit b    1010 line 7, 1020 end
//
// At 1010, the row with a line must win over the end. But an end in the middle of another unit's code must not hide
// that unit's line. add_unit() and the sort in read_all() deal with these cases.
#include "runtime/symbols/lines.h"

#include <dwarf.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/debug/die.h"
#include "base/debug/line_rows.h"
#include "runtime/symbols/debug_info.h"

namespace sonde {
namespace {

// Adds the rows of a unit. `files` maps paths to their indexes in LineTable::files.
void add_unit(Dwarf_Die& unit, LineTable& out, std::unordered_map<std::string, uint32_t>& files) {
    const char* last_path = nullptr;
    uint32_t file = 0;
    uint64_t last_end = 0;
    for_each_line_row(unit, [&](const LineRow& row) {
        if (row.file && row.file != last_path) {
            auto [entry, fresh] = files.try_emplace(row.file, static_cast<uint32_t>(out.files.size()));
            if (fresh)
                out.files.emplace_back(row.file);
            file = entry->second;
            last_path = row.file;
        }
        // libdw sorts the end of a sequence before other rows of the same address. An empty row after the end must not
        // extend into code of another unit that follows.
        if (!row.end_sequence && row.address == last_end && dwarf_haspc(&unit, row.address) != 1)
            return;
        last_end = row.end_sequence ? row.address : last_end;
        const bool has_line = !row.end_sequence && row.file && row.line > 0;
        out.rows.push_back({row.address, has_line ? static_cast<uint32_t>(row.line) : 0, file});
    });
}

} // namespace

struct LineFinder::Debug : DebugInfo {
    std::optional<LineTable> all; // filled if the file has no .debug_aranges

    static std::unique_ptr<Debug> open(const ElfFile& file, std::vector<std::string>& problems) {
        auto out = std::make_unique<Debug>();
        return out->DebugInfo::open(file, problems) ? std::move(out) : nullptr;
    }
    LineTable read_all();
};

LineTable read_lines(const ElfFile& file, std::vector<std::string>& problems) {
    std::unique_ptr<LineFinder::Debug> debug = LineFinder::Debug::open(file, problems);
    return debug ? debug->read_all() : LineTable();
}

LineTable LineFinder::Debug::read_all() {
    LineTable out;
    std::unordered_map<std::string, uint32_t> files;
    for_each_unit(dwarf(), [&](Dwarf_Die& unit, uint8_t type) {
        if (type == DW_UT_compile || type == DW_UT_skeleton)
            add_unit(unit, out, files);
    });
    // One unit's lines may end at the address where those of another begin: the row with a line wins. Of several rows
    // with a line, the last one wins, as in debuggers.
    std::stable_sort(out.rows.begin(), out.rows.end(), [](const SourceRow& a, const SourceRow& b) {
        return a.address != b.address ? a.address < b.address : (a.line != 0) < (b.line != 0);
    });
    std::vector<SourceRow> rows;
    for (const SourceRow& row : out.rows) {
        if (!rows.empty() && rows.back().address == row.address)
            rows.back() = row;
        else if (rows.empty() || rows.back().line != row.line || rows.back().file != row.file)
            rows.push_back(row);
    }
    out.rows = std::move(rows);
    return out;
}

LineFinder::LineFinder(const ElfFile& file, std::vector<std::string>& problems) : debug_(Debug::open(file, problems)) {}
LineFinder::~LineFinder() = default;
LineFinder::LineFinder(LineFinder&&) noexcept = default;

// libdw finds the unit of an address by .debug_aranges. Without this section, the line tables of all units are read
// once.
std::optional<LineFinder::Line> LineFinder::find(uint64_t address) {
    if (!debug_)
        return std::nullopt;
    Dwarf_Die unit;
    if (dwarf_addrdie(debug_->dwarf(), address, &unit)) {
        Dwarf_Line* line = dwarf_getsrc_die(&unit, address);
        const char* path = line ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
        int number = 0;
        if (!path || dwarf_lineno(line, &number) != 0 || number <= 0)
            return std::nullopt;
        return Line{path, static_cast<uint32_t>(number)};
    }
    if (!debug_->all)
        debug_->all = debug_->read_all();
    const std::vector<SourceRow>& rows = debug_->all->rows;
    auto next = std::upper_bound(rows.begin(), rows.end(), address,
                                 [](uint64_t wanted, const SourceRow& row) { return wanted < row.address; });
    if (next == rows.begin() || (next - 1)->line == 0)
        return std::nullopt;
    return Line{debug_->all->files[(next - 1)->file], (next - 1)->line};
}

} // namespace sonde
