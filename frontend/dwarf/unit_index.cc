// The index of a unit: its functions, inlined copies, globals and type definitions, from one linear pass over its DIEs.
//
// Looking for inlined copies means looking at every DIE. Through libdw that costs an abbreviation lookup and an
// attribute walk for each; here an abbreviation is prepared once as the list of what to skip and what to keep (DWARF 5,
// sections 7.5.2 and 7.5.3), so that an uninteresting DIE costs little more than its bytes. Strings and references of
// interesting ones are still decoded by libdw.
#include <algorithm>
#include <cstring>

#include <dwarf.h>
#include <fmt/format.h>

#include "frontend/dwarf/reader.h"

namespace sonde {

namespace {

struct AbbrevAttribute {
    uint16_t name;
    uint16_t form;
};

struct Abbrev {
    uint16_t tag = 0;
    bool known = false;
    bool children = false;
    bool wanted = false; // a tag that the index keeps
    int fixed_size = -1; // bytes of all attributes together; -1: depends on the values
    std::vector<AbbrevAttribute> attributes;
};

// What the innermost open DIE means for the ones inside it.
struct Level {
    uint32_t scope = no_index;
    uint32_t function = no_index;
};

bool is_scope(int tag) {
    return tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
           tag == DW_TAG_union_type;
}

bool is_type_definition(int tag) {
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
           tag == DW_TAG_enumeration_type || tag == DW_TAG_typedef || tag == DW_TAG_base_type;
}

bool is_wanted(int tag) {
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_variable || is_scope(tag) ||
           is_type_definition(tag);
}

// A position in a unit's bytes that cannot run past the end: once it would, it is at the end and failed() is true.
class Cursor {
  public:
    Cursor(unsigned char* at, unsigned char* end) : at_(at), end_(end) {}

    bool more() const { return at_ < end_ && !failed_; }
    bool failed() const { return failed_; }
    unsigned char* at() const { return at_; }

    void skip(uint64_t count) {
        if (count > static_cast<uint64_t>(end_ - at_)) {
            failed_ = true;
            at_ = end_;
            return;
        }
        at_ += count;
    }
    void seek(unsigned char* to) {
        if (to < at_ || to > end_)
            failed_ = true;
        else
            at_ = to;
    }
    uint64_t leb128() {
        uint64_t value = 0;
        for (int shift = 0; at_ < end_; shift += 7) {
            unsigned char byte = *at_++;
            if (shift < 64)
                value |= uint64_t{byte & 0x7fu} << shift;
            if (!(byte & 0x80))
                return value;
        }
        failed_ = true;
        return 0;
    }
    uint64_t number(int bytes) {
        unsigned char* from = at_;
        skip(static_cast<uint64_t>(bytes));
        uint64_t value = 0;
        if (!failed_)
            memcpy(&value, from, static_cast<size_t>(bytes)); // little endian, as checked at open
        return value;
    }
    void skip_string() {
        void* zero = memchr(at_, 0, static_cast<size_t>(end_ - at_));
        if (!zero)
            failed_ = true;
        else
            at_ = static_cast<unsigned char*>(zero) + 1;
    }

  private:
    unsigned char* at_;
    unsigned char* end_;
    bool failed_ = false;
};

struct FormSizes {
    int version;
    int address;
    int offset;
};

// Bytes of a form's value; -1 if that depends on the value.
int fixed_form_size(unsigned form, const FormSizes& sizes) {
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_addr:
        return sizes.address;
    case DW_FORM_ref_addr:
        return sizes.version == 2 ? sizes.address : sizes.offset;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return sizes.offset;
    default:
        return -1;
    }
}

// Moves behind a value; false for a form that is not known, where nothing behind it can be read.
bool skip_form(Cursor& cursor, unsigned form, const FormSizes& sizes) {
    int size = fixed_form_size(form, sizes);
    if (size >= 0) {
        cursor.skip(static_cast<uint64_t>(size));
        return true;
    }
    switch (form) {
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        cursor.leb128();
        return true;
    case DW_FORM_string:
        cursor.skip_string();
        return true;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        cursor.skip(cursor.leb128());
        return true;
    case DW_FORM_block1:
        cursor.skip(cursor.number(1));
        return true;
    case DW_FORM_block2:
        cursor.skip(cursor.number(2));
        return true;
    case DW_FORM_block4:
        cursor.skip(cursor.number(4));
        return true;
    case DW_FORM_indirect: {
        uint64_t inner = cursor.leb128();
        return inner != DW_FORM_indirect && inner != DW_FORM_implicit_const && inner <= UINT16_MAX &&
               skip_form(cursor, static_cast<unsigned>(inner), sizes);
    }
    default:
        return false;
    }
}

// The abbreviations of one unit, by code.
class AbbrevTable {
  public:
    AbbrevTable(Dwarf_Die& unit, const FormSizes& sizes) {
        size_t length = 0;
        Dwarf_Off offset = 0;
        // Codes are dense in practice; a table with others is corrupt or not worth the memory.
        constexpr unsigned max_code = 1 << 20;
        constexpr size_t max_attributes = 4096;
        for (;;) {
            Dwarf_Abbrev* abbrev = dwarf_getabbrev(&unit, offset, &length);
            if (!abbrev || abbrev == DWARF_END_ABBREV || length == 0)
                return;
            offset += length;
            unsigned code = dwarf_getabbrevcode(abbrev);
            if (code == 0 || code > max_code)
                continue;
            if (code >= table_.size())
                table_.resize(code + 1);
            Abbrev& entry = table_[code];
            entry = {};
            entry.known = true;
            entry.tag = static_cast<uint16_t>(dwarf_getabbrevtag(abbrev));
            entry.children = dwarf_abbrevhaschildren(abbrev) != 0;
            entry.wanted = is_wanted(entry.tag);
            entry.fixed_size = 0;
            // dwarf_getattrcnt() of elfutils 0.188 takes the value of a DW_FORM_implicit_const for the next name, and a
            // value of 0 for the end.
            for (size_t i = 0; i < max_attributes; i++) {
                unsigned name = 0, form = 0;
                Dwarf_Sword data = 0;
                if (dwarf_getabbrevattr_data(abbrev, i, &name, &form, &data, nullptr) != 0 || name == 0 || form == 0)
                    break;
                entry.attributes.push_back({static_cast<uint16_t>(name), static_cast<uint16_t>(form)});
                int size = fixed_form_size(form, sizes);
                entry.fixed_size = size < 0 || entry.fixed_size < 0 ? -1 : entry.fixed_size + size;
            }
        }
    }

    const Abbrev* find(uint64_t code) const {
        return code < table_.size() && table_[code].known ? &table_[code] : nullptr;
    }

  private:
    std::vector<Abbrev> table_;
};

// The bytes of the section that contains `address`, so that a unit whose header lies about its length is cut there.
unsigned char* section_end(Dwarf* dwarf, const unsigned char* address) {
    Elf* elf = dwarf_getelf(dwarf);
    for (Elf_Scn* section = nullptr; elf && (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS || (header.sh_flags & SHF_ALLOC))
            continue;
        Elf_Data* data = elf_getdata(section, nullptr);
        unsigned char* begin = data ? static_cast<unsigned char*>(data->d_buf) : nullptr;
        if (begin && address >= begin && address < begin + data->d_size)
            return begin + data->d_size;
    }
    return nullptr;
}

// What the index wants from one DIE.
struct DieValues {
    const char* name = nullptr;
    const unsigned char* origin = nullptr;
    uint16_t origin_form = 0;
    uint64_t sibling = 0; // offset from the unit's header
    bool has_code = false;
    bool declaration = false;
    bool exports = false; // an inline namespace
};

DieValues read_values(Cursor& cursor, const Abbrev& abbrev, const FormSizes& sizes, Dwarf_CU* cu, bool& valid) {
    DieValues values;
    for (const AbbrevAttribute& attribute : abbrev.attributes) {
        unsigned char* at = cursor.at();
        if (!skip_form(cursor, attribute.form, sizes) || cursor.failed()) {
            valid = false;
            return values;
        }
        switch (attribute.name) {
        case DW_AT_name: {
            Dwarf_Attribute value = {attribute.name, attribute.form, at, cu};
            values.name = dwarf_formstring(&value);
            break;
        }
        case DW_AT_abstract_origin:
        case DW_AT_specification:
            values.origin = at;
            values.origin_form = attribute.form;
            break;
        case DW_AT_low_pc:
        case DW_AT_ranges:
        case DW_AT_entry_pc:
            values.has_code = true;
            break;
        case DW_AT_declaration:
            values.declaration = attribute.form != DW_FORM_flag || *at != 0;
            break;
        case DW_AT_export_symbols:
            values.exports = attribute.form != DW_FORM_flag || *at != 0;
            break;
        case DW_AT_sibling:
            if (attribute.form == DW_FORM_ref4)
                memcpy(&values.sibling, at, 4);
            else if (attribute.form == DW_FORM_ref2)
                memcpy(&values.sibling, at, 2);
            break;
        default:
            break;
        }
    }
    return values;
}

} // namespace

std::deque<Unit>& DwarfReader::units() {
    if (units_listed_)
        return units_;
    units_listed_ = true;
    if (!debug_.dwarf())
        return units_;
    Dwarf_CU* cu = nullptr;
    Dwarf_CU* next = nullptr;
    Dwarf_Half version = 0;
    uint8_t unit_type = 0;
    Dwarf_Die unit_die, split_die;
    while (dwarf_get_units(debug_.dwarf(), cu, &next, &version, &unit_type, &unit_die, &split_die) == 0 && next != cu) {
        cu = next;
        int tag = unit_die.addr ? dwarf_tag(&unit_die) : DW_TAG_invalid;
        if (tag != DW_TAG_compile_unit && tag != DW_TAG_partial_unit && tag != DW_TAG_skeleton_unit)
            continue;
        Unit unit;
        unit.unit_die = unit_die;
        bool split = unit_type == DW_UT_skeleton && split_die.addr && dwarf_tag(&split_die) == DW_TAG_compile_unit;
        unit.die = split ? split_die : unit_die;
        unit.dwarf = dwarf_cu_getdwarf(unit.die.cu);
        unit.version = version;
        unit.begin = dwarf_dieoffset(&unit.die) - dwarf_cuoffset(&unit.die);
        size_t header_size = 0;
        if (!unit.dwarf || dwarf_next_unit(unit.dwarf, unit.begin, &unit.end, &header_size, nullptr, nullptr, nullptr,
                                           nullptr, nullptr, nullptr) != 0)
            continue;
        units_.push_back(std::move(unit));
    }
    return units_;
}

void DwarfReader::scan(Unit& unit) {
    if (unit.scanned)
        return;
    unit.scanned = true;
    unit.language = dwarf_srclang(&unit.die);
    unsigned char* first = static_cast<unsigned char*>(unit.die.addr);
    Dwarf_Off first_offset = dwarf_dieoffset(&unit.die);
    unsigned char* limit = section_end(unit.dwarf, first);
    if (!limit || unit.end <= first_offset)
        return;
    unsigned char* end = first + std::min<uint64_t>(unit.end - first_offset, static_cast<uint64_t>(limit - first));

    FormSizes sizes{unit.version, 8, 4};
    uint8_t address_size = 8, offset_size = 4;
    Dwarf_Die unit_die;
    if (dwarf_diecu(&unit.die, &unit_die, &address_size, &offset_size)) {
        sizes.address = address_size;
        sizes.offset = offset_size;
    }
    AbbrevTable abbrevs(unit.die, sizes);
    bool c_language = is_c_language(unit.language);
    unsigned char* header = first - dwarf_cuoffset(&unit.die);

    std::vector<Level> levels;
    Cursor cursor(first, end);
    while (cursor.more()) {
        unsigned char* die = cursor.at();
        uint64_t code = cursor.leb128();
        if (code == 0) {
            if (levels.size() <= 1)
                break; // the unit's own end; what follows is padding
            levels.pop_back();
            continue;
        }
        const Abbrev* abbrev = abbrevs.find(code);
        if (!abbrev)
            break;
        Level level = levels.empty() ? Level{} : levels.back();
        if (!abbrev->wanted && abbrev->fixed_size >= 0) {
            cursor.skip(static_cast<uint64_t>(abbrev->fixed_size));
        } else if (!abbrev->wanted) {
            bool valid = true;
            for (const AbbrevAttribute& attribute : abbrev->attributes)
                valid = valid && skip_form(cursor, attribute.form, sizes);
            if (!valid)
                break;
        } else {
            bool valid = true;
            DieValues values = read_values(cursor, *abbrev, sizes, unit.die.cu, valid);
            if (!valid)
                break;
            Dwarf_Off offset = first_offset + static_cast<uint64_t>(die - first);
            int tag = abbrev->tag;
            if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
                FunctionEntry entry;
                entry.offset = offset;
                entry.name = values.name;
                entry.origin = values.origin;
                entry.origin_form = values.origin_form;
                entry.inlined = tag == DW_TAG_inlined_subroutine;
                entry.has_code = values.has_code;
                entry.declaration = values.declaration;
                entry.scope = level.scope;
                entry.parent = level.function;
                level.function = static_cast<uint32_t>(unit.functions.size());
                unit.functions.push_back(entry);
            } else if (tag == DW_TAG_variable) {
                if (level.function == no_index)
                    unit.variables.push_back({offset, values.name, tag, values.declaration, level.scope});
            } else {
                if (is_type_definition(tag) && values.name)
                    unit.types.push_back(
                        {offset, values.name, tag, values.declaration, level.scope, level.function != no_index});
                if (is_scope(tag)) {
                    unit.scopes.push_back({values.name, level.scope, tag == DW_TAG_namespace, values.exports});
                    level.scope = static_cast<uint32_t>(unit.scopes.size() - 1);
                }
                // In C nothing inside a type is of interest; a compiler that gives siblings lets us jump.
                if (c_language && abbrev->children && values.sibling && tag != DW_TAG_namespace) {
                    unsigned char* sibling = header + values.sibling;
                    if (values.sibling <= static_cast<uint64_t>(end - header) && sibling > cursor.at()) {
                        cursor.seek(sibling);
                        continue;
                    }
                }
            }
        }
        if (abbrev->children) {
            if (levels.size() >= 100000)
                break;
            levels.push_back(level);
        } else if (levels.empty()) {
            break; // a unit without children
        }
    }
}

Unit* DwarfReader::unit_of_offset(Dwarf* dwarf, Dwarf_Off offset) {
    // Units of the module itself are in order of offset; split ones are few per file and found by walking.
    if (dwarf == debug_.dwarf()) {
        auto after = std::upper_bound(units().begin(), units().end(), offset,
                                      [&](Dwarf_Off value, const Unit& unit) { return value < unit.begin; });
        // Split units carry offsets of another section: step over them.
        while (after != units().begin()) {
            --after;
            if (after->dwarf == dwarf)
                return offset < after->end ? &*after : nullptr;
        }
        return nullptr;
    }
    for (Unit& unit : units())
        if (unit.dwarf == dwarf && offset >= unit.begin && offset < unit.end)
            return &unit;
    return nullptr;
}

RangeList DwarfReader::ranges(Dwarf_Die& die) {
    constexpr size_t max_ranges = 1 << 20;
    RangeList list;
    Dwarf_Addr base = 0, low = 0, high = 0;
    ptrdiff_t offset = 0;
    bool first = true;
    while ((offset = dwarf_ranges(&die, offset, &base, &low, &high)) > 0 && list.ranges.size() < max_ranges) {
        if (first) {
            Dwarf_Addr low_pc;
            list.base = dwarf_lowpc(&die, &low_pc) == 0 ? low_pc : low;
            first = false;
        }
        // Linkers leave ranges of discarded code behind at 0 or near the end of the address space.
        if (low < high && file_.is_executable(low))
            list.ranges.push_back({low, high});
    }
    return list;
}

Unit* DwarfReader::unit_at(Address address) {
    if (!unit_spans_built_) {
        unit_spans_built_ = true;
        for (Unit& unit : units())
            for (auto [low, high] : ranges(unit.unit_die).ranges)
                unit_spans_.push_back({{low, high, no_index}, &unit});
        std::stable_sort(unit_spans_.begin(), unit_spans_.end(),
                         [](const auto& a, const auto& b) { return a.first.low < b.first.low; });
        for (size_t i = 1; i < unit_spans_.size(); i++)
            unit_spans_overlap_ = unit_spans_overlap_ || unit_spans_[i].first.low < unit_spans_[i - 1].first.high;
    }
    auto after = std::upper_bound(unit_spans_.begin(), unit_spans_.end(), address,
                                  [](Address value, const auto& entry) { return value < entry.first.low; });
    if (after != unit_spans_.begin() && address < std::prev(after)->first.high)
        return std::prev(after)->second;
    if (!unit_spans_overlap_)
        return nullptr;
    for (Unit& unit : units()) {
        if (dwarf_haspc(&unit.unit_die, address) == 1)
            return &unit;
    }
    return nullptr;
}

const std::vector<Span>& DwarfReader::spans(Unit& unit) {
    if (unit.spans_built)
        return unit.spans;
    unit.spans_built = true;
    scan(unit);
    // Inner functions come behind the outer ones and take their addresses over: `owner` maps the start of each stretch
    // to the function that owns it up to the next start.
    std::map<Address, uint32_t> owner;
    owner[0] = no_index;
    auto split = [&](Address at) {
        auto entry = owner.lower_bound(at);
        if (entry != owner.end() && entry->first == at)
            return entry;
        return owner.emplace_hint(entry, at, std::prev(entry)->second);
    };
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

FunctionRef DwarfReader::function_at(Unit& unit, Address address) {
    const std::vector<Span>& all = spans(unit);
    auto after = std::upper_bound(all.begin(), all.end(), address,
                                  [](Address value, const Span& span) { return value < span.low; });
    if (after == all.begin() || address >= std::prev(after)->high)
        return {};
    return {&unit, std::prev(after)->function};
}

FunctionRef DwarfReader::function_at(Address address) {
    Unit* unit = unit_at(address);
    return unit ? function_at(*unit, address) : FunctionRef{};
}

FunctionRef DwarfReader::enclosing_subprogram(FunctionRef function) const {
    // `parent` is always a smaller index, so this ends.
    while (function && function->inlined) {
        if (function->parent == no_index)
            return {};
        function.index = function->parent;
    }
    return function;
}

FunctionRef DwarfReader::find_function(DieOffset packed) {
    Dwarf_Die die;
    if (!debug_.unpack(packed, &die))
        return {};
    Dwarf_Off offset = dwarf_dieoffset(&die);
    Unit* unit = unit_of_offset(dwarf_cu_getdwarf(die.cu), offset);
    if (!unit)
        return {};
    scan(*unit);
    auto found = std::lower_bound(unit->functions.begin(), unit->functions.end(), offset,
                                  [](const FunctionEntry& entry, Dwarf_Off value) { return entry.offset < value; });
    if (found == unit->functions.end() || found->offset != offset)
        return {};
    return {unit, static_cast<uint32_t>(found - unit->functions.begin())};
}

FunctionRef DwarfReader::naming_entry(FunctionRef function) {
    for (int depth = 0; function && !function->name && function->origin && depth < 16; depth++) {
        Dwarf_Attribute origin = {DW_AT_abstract_origin, function->origin_form,
                                  const_cast<unsigned char*>(function->origin), function.unit->die.cu};
        Dwarf_Die die;
        if (!dwarf_formref_die(&origin, &die))
            return function;
        Dwarf_Off offset = dwarf_dieoffset(&die);
        Unit* unit = function.unit;
        if (dwarf_cu_getdwarf(die.cu) != unit->dwarf || offset < unit->begin || offset >= unit->end)
            unit = unit_of_offset(dwarf_cu_getdwarf(die.cu), offset);
        if (!unit)
            return function; // in dwz's common file
        scan(*unit);
        auto found = std::lower_bound(unit->functions.begin(), unit->functions.end(), offset,
                                      [](const FunctionEntry& entry, Dwarf_Off value) { return entry.offset < value; });
        if (found == unit->functions.end() || found->offset != offset)
            return function;
        function = {unit, static_cast<uint32_t>(found - unit->functions.begin())};
    }
    return function;
}

const char* DwarfReader::bare_name(FunctionRef function) {
    FunctionRef naming = naming_entry(function);
    if (naming->name)
        return naming->name;
    Dwarf_Die die;
    return naming->origin && die_of(naming, &die) ? dwarf_diename(&die) : nullptr;
}

const char* scope_name(const ScopeEntry& scope) {
    return scope.name ? scope.name : scope.is_namespace ? "(anonymous namespace)" : "(anonymous)";
}

std::string DwarfReader::scope_prefix(const Unit& unit, uint32_t scope) const {
    std::string prefix;
    for (; scope != no_index; scope = unit.scopes[scope].parent) { // a parent is always a smaller index
        prefix = fmt::format("{}::{}", scope_name(unit.scopes[scope]), prefix);
    }
    return prefix;
}

std::string DwarfReader::qualified_name(FunctionRef function) {
    FunctionRef naming = naming_entry(function);
    const char* name = bare_name(naming);
    return name ? scope_prefix(*naming.unit, naming->scope) + name : "";
}

bool DwarfReader::die_of(FunctionRef function, Dwarf_Die* die) {
    return function && dwarf_offdie(function.unit->dwarf, function->offset, die) != nullptr;
}

} // namespace sonde
