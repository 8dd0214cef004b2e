#include "runtime/symbols/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/debug_file.h"

namespace sonde {
namespace {

struct EndDwarf {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};

void add_unit(Dwarf_Die* unit, LineTable& out, std::unordered_map<std::string, uint32_t>& files) {
    Dwarf_Lines* lines = nullptr;
    size_t count = 0;
    if (dwarf_getsrclines(unit, &lines, &count) != 0)
        return;
    const char* last_path = nullptr;
    uint32_t file = 0;
    for (size_t i = 0; i < count; i++) {
        Dwarf_Line* line = dwarf_onesrcline(lines, i);
        Dwarf_Addr address = 0;
        int number = 0;
        bool end = false;
        if (!line || dwarf_lineaddr(line, &address) != 0 || dwarf_lineendsequence(line, &end) != 0)
            continue;
        const char* path = dwarf_linesrc(line, nullptr, nullptr);
        if (end || !path || dwarf_lineno(line, &number) != 0 || number < 0)
            number = 0;
        if (path && path != last_path) {
            auto [entry, fresh] = files.try_emplace(path, static_cast<uint32_t>(out.files.size()));
            if (fresh)
                out.files.emplace_back(path);
            file = entry->second;
            last_path = path;
        }
        out.rows.push_back({address, static_cast<uint32_t>(number), file});
    }
}

} // namespace

LineTable read_lines(const ElfFile& file) {
    LineTable out;
    std::optional<ElfFile> beside;
    if (!has_dwarf(file))
        beside = find_debug_file(file);
    if (!beside && !has_dwarf(file))
        return out;
    std::unique_ptr<Dwarf, EndDwarf> dwarf(dwarf_begin_elf(beside ? beside->elf() : file.elf(), DWARF_C_READ, nullptr));
    std::unordered_map<std::string, uint32_t> files;
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    uint8_t type = 0;
    while (dwarf && dwarf_get_units(dwarf.get(), unit, &unit, nullptr, &type, &die, nullptr) == 0)
        if (type == DW_UT_compile || type == DW_UT_skeleton)
            add_unit(&die, out, files);
    // Where one unit's lines end another's begin: the one that says something counts. Of several rows for an address
    // the last one does, as a debugger has it.
    std::stable_sort(out.rows.begin(), out.rows.end(), [](const LineRow& a, const LineRow& b) {
        return a.address != b.address ? a.address < b.address : (a.line != 0) < (b.line != 0);
    });
    std::vector<LineRow> rows;
    for (const LineRow& row : out.rows) {
        if (!rows.empty() && rows.back().address == row.address)
            rows.back() = row;
        else if (rows.empty() || rows.back().line != row.line || rows.back().file != row.file)
            rows.push_back(row);
    }
    out.rows = std::move(rows);
    return out;
}

} // namespace sonde
