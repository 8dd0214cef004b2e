// Each answer needs some units only, and a large program has thousands of them. The work is therefore split into three
// steps, each done once and only when needed:
//
// 1. list() reads the headers of all units (one DIE each). 2. unit_at() collects the address ranges of all units, from
// their own DIEs. 3. scan() reads all DIEs of one unit (unit.h), and spans() turns the unit's functions into
// non-overlapping ranges.
//
// An offset identifies a DIE only together with its file and section: split units (.dwo) and type units (.debug_types
// before DWARF 5) have offsets of their own, which begin at 0. unit_of() therefore first finds the section. Two units
// from different sections can contain the same offset.
//
// Pointers to units stay valid until forget(), because a deque does not move its elements.
#include "frontend/dwarf/unit_index.h"

#include <algorithm>
#include <map>
#include <set>

#include <dwarf.h>

#include "base/debug/die.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/program_file.h"

namespace sonde {

// Lists all units, without scanning their DIEs.
//
// A unit can be split (-gsplit-dwarf): the program then has a skeleton with addresses and the line table, and a .dwo
// file has the DIEs. `unit_die` is the skeleton and `die` the split unit; for other units they are the same. Type units
// in .dwo files are found only through the file, not through a skeleton.
void UnitIndex::list() {
    if (listed_)
        return;
    listed_ = true;
    if (!debug_.dwarf())
        return;
    std::set<Dwarf*> split_files;
    auto add = [&](Dwarf_Die& unit_die, uint8_t unit_type) {
        int tag = unit_die.addr ? dwarf_tag(&unit_die) : DW_TAG_invalid;
        Dwarf_Half version = 0;
        bool of_type = tag == DW_TAG_type_unit && (unit_type == DW_UT_type || unit_type == DW_UT_split_type);
        if (tag != DW_TAG_compile_unit && tag != DW_TAG_partial_unit && tag != DW_TAG_skeleton_unit && !of_type)
            return;
        Dwarf_Die split_die = {};
        if (!debug_.may_open_unit(unit_die))
            return;
        if (dwarf_cu_info(unit_die.cu, &version, nullptr, nullptr, &split_die, nullptr, nullptr, nullptr) != 0)
            return;
        Unit unit;
        unit.unit_die = unit_die;
        bool split = unit_type == DW_UT_skeleton && split_die.addr && dwarf_tag(&split_die) == DW_TAG_compile_unit;
        if (unit_type == DW_UT_skeleton && !split)
            debug_.note_missing_unit(unit_die);
        unit.die = split ? split_die : unit_die;
        unit.dwarf = dwarf_cu_getdwarf(unit.die.cu);
        unit.version = version;
        unit.begin = dwarf_dieoffset(&unit.die) - dwarf_cuoffset(&unit.die);
        // Type units (-fdebug-types-section) are in .debug_info since DWARF 5; before, they are in .debug_types.
        unit.in_types_section = of_type && version < 5;
        size_t header_size = 0;
        uint64_t signature = 0; // if requested, the function reads .debug_types
        if (!unit.dwarf || dwarf_next_unit(unit.dwarf, unit.begin, &unit.end, &header_size, nullptr, nullptr, nullptr,
                                           nullptr, unit.in_types_section ? &signature : nullptr, nullptr) != 0)
            return;
        if (split)
            split_files.insert(unit.dwarf);
        (of_type ? type_units_ : units_).push_back(std::move(unit));
    };
    for_each_unit(debug_.dwarf(), add);
    for (Dwarf* file : split_files)
        for_each_unit(file, [&](Dwarf_Die& unit_die, uint8_t unit_type) {
            if (unit_die.addr && dwarf_tag(&unit_die) == DW_TAG_type_unit)
                add(unit_die, unit_type);
        });
    for (std::deque<Unit>* units : {&units_, &type_units_})
        for (Unit& unit : *units)
            by_section_[{unit.dwarf, unit.in_types_section}].push_back(&unit);
    for (auto& [section, units] : by_section_)
        std::ranges::sort(units, {}, &Unit::begin);
}

std::deque<Unit>& UnitIndex::all() {
    list();
    return units_;
}

std::deque<Unit>& UnitIndex::type_units() {
    list();
    return type_units_;
}

Unit* UnitIndex::unit_of(Dwarf_Die& die) {
    list();
    Dwarf_Off offset = dwarf_dieoffset(&die);
    Dwarf_Half version = 0;
    uint8_t unit_type = 0;
    bool in_types_section =
        dwarf_cu_info(die.cu, &version, &unit_type, nullptr, nullptr, nullptr, nullptr, nullptr) == 0 && version < 5 &&
        (unit_type == DW_UT_type || unit_type == DW_UT_split_type);
    auto section = by_section_.find({dwarf_cu_getdwarf(die.cu), in_types_section});
    if (section == by_section_.end())
        return nullptr;
    auto after = std::ranges::upper_bound(section->second, offset, {}, &Unit::begin);
    bool inside = after != section->second.begin() && offset < (*std::prev(after))->end;
    return inside ? *std::prev(after) : nullptr;
}

Unit* UnitIndex::unit_of(DieOffset packed) {
    Dwarf_Die die;
    return debug_.unpack(packed, &die) ? unit_of(die) : nullptr;
}

RangeList UnitIndex::ranges(Dwarf_Die& die) const {
    constexpr size_t max_ranges = 1 << 20;
    RangeList list;
    bool first = true;
    for_each_range(die, [&](Address low, Address high) {
        if (first) {
            Dwarf_Addr low_pc;
            list.base = dwarf_lowpc(&die, &low_pc) == 0 ? low_pc : low;
            first = false;
        }
        // For discarded code, linkers leave ranges at 0 or near the end of the address space.
        if (low < high && file_.is_executable(low))
            list.ranges.push_back({low, high});
        return list.ranges.size() < max_ranges;
    });
    return list;
}

// Finds the unit by the units' address ranges. If the ranges of several units overlap, as in some linked objects, the
// binary search can miss the right unit, so then each unit is asked.
Unit* UnitIndex::unit_at(Address address) {
    if (!spans_built_) {
        spans_built_ = true;
        for (Unit& unit : all())
            for (auto [low, high] : ranges(unit.unit_die).ranges)
                spans_.push_back({{low, high, no_index}, &unit});
        std::stable_sort(spans_.begin(), spans_.end(),
                         [](const auto& a, const auto& b) { return a.first.low < b.first.low; });
        for (size_t i = 1; i < spans_.size(); i++)
            spans_overlap_ = spans_overlap_ || spans_[i].first.low < spans_[i - 1].first.high;
    }
    auto after = std::upper_bound(spans_.begin(), spans_.end(), address,
                                  [](Address value, const auto& entry) { return value < entry.first.low; });
    if (after != spans_.begin() && address < std::prev(after)->first.high)
        return std::prev(after)->second;
    if (!spans_overlap_)
        return nullptr;
    for (Unit& unit : all()) {
        if (dwarf_haspc(&unit.unit_die, address) == 1)
            return &unit;
    }
    return nullptr;
}

const std::vector<Span>& UnitIndex::spans(Unit& unit) {
    if (unit.spans_built)
        return unit.spans;
    unit.spans_built = true;
    scan(unit);
    // Cut the addresses of the unit into ranges, each with its innermost function. `owner` maps the beginning of each
    // range to the function; a range ends where the next one begins. Example: f has 10 to 50, and a copy of g inside
    // has 20 to 30:
    //
    //     after f: 0 none, 10 f, 50 none
    //     after g: 0 none, 10 f, 20 g, 30 f, 50 none
    std::map<Address, uint32_t> owner;
    owner[0] = no_index;
    // Cuts the range that contains an address, unless a range begins there. Both parts keep the function.
    auto split = [&](Address at) {
        auto entry = owner.lower_bound(at);
        if (entry != owner.end() && entry->first == at)
            return entry;
        return owner.emplace_hint(entry, at, std::prev(entry)->second);
    };
    // Functions are in the order of the file, so each comes after the function that contains it.
    for (uint32_t i = 0; i < unit.functions.size(); i++) {
        Dwarf_Die die;
        if (!unit.functions[i].has_code || !die_of({&unit, i}, &die))
            continue;
        Dwarf_Addr entry = 0;
        if (unit.functions[i].inlined && dwarf_entrypc(&die, &entry) == 0)
            unit.copy_entries.emplace(entry, i);
        for (auto [low, high] : ranges(die).ranges) {
            auto first = split(low);
            auto last = split(high);
            first->second = i;
            owner.erase(std::next(first), last);
        }
    }
    for (auto entry = owner.begin(); entry != owner.end() && std::next(entry) != owner.end(); ++entry)
        if (entry->second != no_index)
            unit.spans.push_back({entry->first, std::next(entry)->first, entry->second});
    return unit.spans;
}

FunctionRef UnitIndex::function_at(Unit& unit, Address address) {
    const std::vector<Span>& all = spans(unit);
    auto after = std::upper_bound(all.begin(), all.end(), address,
                                  [](Address value, const Span& span) { return value < span.low; });
    if (after == all.begin() || address >= std::prev(after)->high)
        return {};
    return {&unit, std::prev(after)->function};
}

FunctionRef UnitIndex::function_at(Address address) {
    Unit* unit = unit_at(address);
    return unit ? function_at(*unit, address) : FunctionRef{};
}

// Functions of a unit are sorted by offset, because scan() reads the DIEs in the order of the file.
FunctionRef UnitIndex::find_function(DieOffset packed) {
    Dwarf_Die die;
    if (!debug_.unpack(packed, &die))
        return {};
    Dwarf_Off offset = dwarf_dieoffset(&die);
    Unit* unit = unit_of(die);
    if (!unit)
        return {};
    scan(*unit);
    auto found = std::lower_bound(unit->functions.begin(), unit->functions.end(), offset,
                                  [](const FunctionEntry& entry, Dwarf_Off value) { return entry.offset < value; });
    if (found == unit->functions.end() || found->offset != offset)
        return {};
    return {unit, static_cast<uint32_t>(found - unit->functions.begin())};
}

// The name of an inlined copy is in its abstract function, and the name of a member function's definition in its
// declaration. The reference can lead to another unit (link-time optimization).
FunctionRef UnitIndex::naming_entry(FunctionRef function) {
    for (int depth = 0; function && !function->name && function->origin && depth < 16; depth++) {
        Dwarf_Attribute origin = {DW_AT_abstract_origin, function->origin_form,
                                  const_cast<unsigned char*>(function->origin), function.unit->die.cu};
        Dwarf_Die die;
        if (!dwarf_formref_die(&origin, &die))
            return function;
        Dwarf_Off offset = dwarf_dieoffset(&die);
        Unit* unit = function.unit;
        if (dwarf_cu_getdwarf(die.cu) != unit->dwarf || offset < unit->begin || offset >= unit->end)
            unit = unit_of(die);
        if (!unit)
            return function; // the DIE is in dwz's common file
        scan(*unit);
        auto found = std::lower_bound(unit->functions.begin(), unit->functions.end(), offset,
                                      [](const FunctionEntry& entry, Dwarf_Off value) { return entry.offset < value; });
        if (found == unit->functions.end() || found->offset != offset)
            return function;
        function = {unit, static_cast<uint32_t>(found - unit->functions.begin())};
    }
    return function;
}

const char* UnitIndex::bare_name(FunctionRef function) {
    FunctionRef naming = naming_entry(function);
    if (naming->name)
        return naming->name;
    Dwarf_Die die;
    return naming->origin && die_of(naming, &die) ? dwarf_diename(&die) : nullptr;
}

std::string UnitIndex::qualified_name(FunctionRef function) {
    FunctionRef naming = naming_entry(function);
    const char* name = bare_name(naming);
    return name ? scope_prefix(*naming.unit, naming->scope) + name : "";
}

void UnitIndex::forget() {
    spans_.clear();
    spans_built_ = spans_overlap_ = false;
    units_.clear();
    type_units_.clear();
    by_section_.clear();
    listed_ = false;
}

} // namespace sonde
