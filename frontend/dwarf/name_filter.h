// Decides from the raw bytes of a unit whether it can contain a function with a given name.
//
// A probe of one function should not read all debug information of a large program. Linkers store each string once. So
// if a unit contains the name, its bytes contain the string's offset in .debug_str, or the string itself. Searching the
// bytes for a few such values is many times faster than reading DIEs.
//
// The filter may let a unit pass that does not have the name, because the same bytes can mean something else. It must
// never drop a unit that has the name, or a probe would miss functions silently.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <elfutils/libdw.h>

#include "frontend/dwarf/unit.h"

namespace sonde {

class NameFilter {
  public:
    // `pattern` is the pattern for functions in the script. With wildcards, or if names are not stored literally, every
    // unit passes.
    NameFilter(Dwarf* dwarf, const std::string& pattern);

    // Returns false if no function or inlined copy in the unit has the name.
    bool may_have(const Unit& unit) const;

  private:
    std::string_view indexed_strings(Dwarf_Die unit) const;
    void find_offsets(std::string_view strings, const std::string& text);

    Dwarf* dwarf_;
    bool decides_ = false;
    bool qualified_ = false;
    std::string_view info_, offsets_;  // the sections .debug_info and .debug_str_offsets
    std::vector<std::string> needles_; // a unit with the name contains one of these byte sequences
};

} // namespace sonde
