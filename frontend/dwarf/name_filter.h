// Which units can have a function of a given name, from their bytes alone.
//
// Looking for one function must not mean to read all debug information. Linkers keep each string once, so a unit with
// the name has the string's offset somewhere in its bytes, or the string itself; going through bytes for a few of them
// costs a fraction of what going through DIEs does. That there are such bytes says nothing, that there are none says
// that there is no such function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <elfutils/libdw.h>

#include "frontend/dwarf/unit.h"

namespace sonde {

class NameFilter {
  public:
    // `pattern` is what a script writes for a function. With wildcards, and where a name is not written down as it is,
    // every unit can have it.
    NameFilter(Dwarf* dwarf, const std::string& pattern);

    // False: no function of the unit has the name, nor has an inlined copy.
    bool may_have(const Unit& unit) const;

  private:
    std::string_view indexed_strings(Dwarf_Die unit) const;
    void find_offsets(std::string_view strings, const std::string& text);

    Dwarf* dwarf_;
    bool decides_ = false;
    bool qualified_ = false;
    std::string_view info_, offsets_;  // the sections .debug_info and .debug_str_offsets
    std::vector<std::string> needles_; // bytes of which a unit with the name has one
};

} // namespace sonde
