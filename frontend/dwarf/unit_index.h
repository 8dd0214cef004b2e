// The units of a program's debug information. Maps an address or a DIE to its function.
//
// Units are listed when first needed, and each is scanned when it may matter (unit.h). For an address, only the unit
// that covers the address is scanned. Its functions are then converted to spans, so that each address has an innermost
// function. forget() drops everything.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "frontend/dwarf/module_data.h"
#include "frontend/dwarf/unit.h"

namespace sonde {

class DebugFiles;
class ProgramFile;

// The ranges of a DIE.
struct RangeList {
    std::vector<std::pair<Address, Address>> ranges;
    Address base = 0; // the base for a constant DW_AT_entry_pc
};

class UnitIndex {
  public:
    UnitIndex(const ProgramFile& file, DebugFiles& debug) : file_(file), debug_(debug) {}

    // Returns the units in the order of the file; empty without debug information. Type units are not included.
    std::deque<Unit>& all();
    // Returns the type units (-fdebug-types-section), including those in split files.
    std::deque<Unit>& type_units();
    // Calls `visit(unit)` for each unit that can have types.
    template <typename Visit> void for_each_with_types(Visit visit) {
        for (Unit& unit : all())
            visit(unit);
        for (Unit& unit : type_units())
            visit(unit);
    }
    // These return null if no unit contains the address or DIE.
    Unit* unit_at(Address address);
    Unit* unit_of(Dwarf_Die& die);
    Unit* unit_of(DieOffset die);

    // Returns the innermost function or inlined copy with code at `address`.
    FunctionRef function_at(Address address);
    FunctionRef function_at(Unit& unit, Address address);
    // Returns the entry of a function's DIE, or nothing if the DIE is not in the index.
    FunctionRef find_function(DieOffset die);

    // Returns the entry with the function's name: follows abstract origins and specifications. Its name is null if the
    // function has none.
    FunctionRef naming_entry(FunctionRef function);
    // The name without scopes; null if there is none.
    const char* bare_name(FunctionRef function);
    // The name with namespaces and classes: "ns::C::f"; "" if there is none.
    std::string qualified_name(FunctionRef function);

    // Returns the addresses of a DIE that are code. Linkers also leave ranges of discarded code.
    RangeList ranges(Dwarf_Die& die) const;

    void forget();

  private:
    void list();
    // Returns the unit's addresses by innermost function, computed from the index.
    const std::vector<Span>& spans(Unit& unit);

    const ProgramFile& file_;
    DebugFiles& debug_;
    bool listed_ = false;
    std::deque<Unit> units_;
    std::deque<Unit> type_units_;
    // Units by file and section (.debug_types or not), each list sorted by offset.
    std::map<std::pair<Dwarf*, bool>, std::vector<Unit*>> by_section_;
    bool spans_built_ = false;
    std::vector<std::pair<Span, Unit*>> spans_; // of whole units
    bool spans_overlap_ = false;
};

} // namespace sonde
