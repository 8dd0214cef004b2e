// Line tables by unit, decoded when somebody asks: a row takes 32 bytes, a program's largest units have some 100,000.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/debug/line_rows.h"
#include "frontend/dwarf/unit.h"

namespace sonde {

class LineTables {
  public:
    // Sorted by address.
    const std::vector<LineRow>& rows(Unit& unit);
    using Iterator = std::vector<LineRow>::const_iterator;
    // The first row at an address or after it.
    Iterator first_from(Unit& unit, Address address);
    // The row that covers an address; null: none does.
    const LineRow* row_at(Unit& unit, Address address);

    void forget() { rows_.clear(); }

  private:
    std::unordered_map<const Unit*, std::vector<LineRow>> rows_;
};

// Whether one of the files of a unit's line table matches (file_matches()).
bool has_file(Unit& unit, const std::string& pattern);

} // namespace sonde
