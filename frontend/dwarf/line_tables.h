// Line tables by unit, decoded when first needed. A row takes 32 bytes; the largest units of a program have some
// 100,000 rows.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/debug/line_rows.h"
#include "frontend/dwarf/unit.h"

namespace sonde {

class LineTables {
  public:
    // Returns the rows, sorted by address.
    const std::vector<LineRow>& rows(Unit& unit);
    using Iterator = std::vector<LineRow>::const_iterator;
    // Returns the first row at or after an address.
    Iterator first_from(Unit& unit, Address address);
    // Returns the row that covers an address, or null.
    const LineRow* row_at(Unit& unit, Address address);

    void forget() { rows_.clear(); }

  private:
    std::unordered_map<const Unit*, std::vector<LineRow>> rows_;
};

// Whether one of the files in a unit's line table matches (file_matches()).
bool has_file(Unit& unit, const std::string& pattern);

} // namespace sonde
