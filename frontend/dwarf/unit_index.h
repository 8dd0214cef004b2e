// Units of a program's debug information, and the way from an address or a DIE to the function that has it.
//
// Units are listed when somebody asks, and scanned one by one as they come into question (unit.h). For an address, only
// the unit that covers it is scanned; its functions are then laid out as spans, each address with its innermost
// function. forget() drops all of it.
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

struct RangeList {
    std::vector<std::pair<Address, Address>> ranges;
    Address base = 0; // what DW_AT_entry_pc as a constant counts from
};

class UnitIndex {
  public:
    UnitIndex(const ProgramFile& file, DebugFiles& debug) : file_(file), debug_(debug) {}

    // In the order of the file; empty without debug information. None of a single type.
    std::deque<Unit>& all();
    // Those of a type each (-fdebug-types-section), of split files too.
    std::deque<Unit>& type_units();
    // Calls `visit(unit)` for each unit that may have types.
    template <typename Visit> void for_each_with_types(Visit visit) {
        for (Unit& unit : all())
            visit(unit);
        for (Unit& unit : type_units())
            visit(unit);
    }
    // Null: no unit has it.
    Unit* unit_at(Address address);
    Unit* unit_of(Dwarf_Die& die);
    Unit* unit_of(DieOffset die);

    // The innermost function or inlined copy with code at `address`.
    FunctionRef function_at(Address address);
    FunctionRef function_at(Unit& unit, Address address);
    FunctionRef find_function(DieOffset die);

    // The entry that carries the name: follows abstract origins and specifications. Its name is null if there is none.
    FunctionRef naming_entry(FunctionRef function);
    const char* bare_name(FunctionRef function);
    std::string qualified_name(FunctionRef function);

    // The DIE's addresses that are code; linkers leave ranges of discarded code.
    RangeList ranges(Dwarf_Die& die) const;

    void forget();

  private:
    void list();
    // By innermost function, made of the unit's index.
    const std::vector<Span>& spans(Unit& unit);

    const ProgramFile& file_;
    DebugFiles& debug_;
    bool listed_ = false;
    std::deque<Unit> units_;
    std::deque<Unit> type_units_;
    // By the file and whether it is .debug_types that their offsets are of, each in order.
    std::map<std::pair<Dwarf*, bool>, std::vector<Unit*>> by_section_;
    bool spans_built_ = false;
    std::vector<std::pair<Span, Unit*>> spans_; // of whole units
    bool spans_overlap_ = false;
};

} // namespace sonde
