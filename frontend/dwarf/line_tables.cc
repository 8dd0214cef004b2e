#include "frontend/dwarf/line_tables.h"

#include <algorithm>

#include "frontend/dwarf/function_pattern.h"

namespace sonde {

const std::vector<LineRow>& LineTables::rows(Unit& unit) {
    auto [entry, added] = rows_.try_emplace(&unit);
    std::vector<LineRow>& all = entry->second;
    if (!added)
        return all;
    for_each_line_row(unit.unit_die, [&](const LineRow& row) { all.push_back(row); });
    // libdw sorts the rows. Sort again if the table is corrupt, because the binary searches rely on the order.
    auto before = [](const LineRow& a, const LineRow& b) { return a.address < b.address; };
    if (!std::is_sorted(all.begin(), all.end(), before))
        std::stable_sort(all.begin(), all.end(), before);
    all.shrink_to_fit();
    return all;
}

LineTables::Iterator LineTables::first_from(Unit& unit, Address address) {
    const std::vector<LineRow>& all = rows(unit);
    return std::lower_bound(all.begin(), all.end(), address,
                            [](const LineRow& row, Address wanted) { return row.address < wanted; });
}

const LineRow* LineTables::row_at(Unit& unit, Address address) {
    const std::vector<LineRow>& all = rows(unit);
    auto after = std::upper_bound(all.begin(), all.end(), address,
                                  [](Address value, const LineRow& row) { return value < row.address; });
    if (after == all.begin())
        return nullptr;
    const LineRow* row = &*std::prev(after);
    return row->end_sequence ? nullptr : row;
}

bool has_file(Unit& unit, const std::string& pattern) {
    bool found = false;
    for_each_source_file(unit.unit_die, [&](const char* path) {
        found = file_matches(pattern, path);
        return !found;
    });
    return found;
}

} // namespace sonde
