// Builds the index of a unit: its functions, inlined copies, globals and type definitions.
//
// To find inlined copies, one must visit every DIE, and a large program has millions. With libdw, each visit costs a
// lookup of the abbreviation and an iteration over the attributes. Here, each abbreviation is converted once to a list
// of what to skip and what to keep (DWARF 5, sections 7.5.2 and 7.5.3). An uninteresting DIE then costs little more
// than reading its bytes. Strings and references of the interesting ones are still decoded by libdw.
//
// The input may be corrupt. The cursor never reads past the end of the unit, and an unknown form ends the scan, because
// nothing after it can be decoded.
#include <algorithm>
#include <cstring>

#include <dwarf.h>
#include <gelf.h>

#include "base/byte_cursor.h"
#include "frontend/dwarf/forms.h"
#include "frontend/dwarf/language.h"
#include "frontend/dwarf/unit.h"

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
    bool wanted = false; // the index keeps DIEs with this tag
    int fixed_size = -1; // total size of all attributes in bytes; -1: depends on the values
    std::vector<AbbrevAttribute> attributes;
};

// The context that an open DIE gives to the DIEs inside.
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

// A position in the bytes of a unit, which libdw has in memory.
class UnitCursor : public ByteCursor {
  public:
    UnitCursor(unsigned char* first, unsigned char* end)
        : ByteCursor(std::string_view(reinterpret_cast<char*>(first), static_cast<size_t>(end - first))),
          first_(first) {}
    unsigned char* at() const { return first_ + position(); }

  private:
    unsigned char* first_;
};

// The abbreviations of one unit, by code.
class AbbrevTable {
  public:
    AbbrevTable(Dwarf_Die& unit, const FormSizes& sizes) {
        size_t length = 0;
        Dwarf_Off offset = 0;
        // In practice codes are dense. A table with other codes is corrupt or needs too much memory.
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
            // dwarf_getattrcnt() in elfutils 0.188 mistakes the value of a DW_FORM_implicit_const for the next
            // attribute's name, and a value of 0 for the end.
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

// Returns the end of the section that contains `address`. A unit whose header has a wrong length is cut there.
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

// The attributes of a DIE that the index needs.
struct DieValues {
    const char* name = nullptr;
    const unsigned char* origin = nullptr;
    uint16_t origin_form = 0;
    const unsigned char* signature = nullptr; // for a type with a separate type unit, which has its name
    uint16_t signature_form = 0;
    uint64_t sibling = 0; // offset from the unit's header
    bool has_code = false;
    bool declaration = false;
    bool exports = false; // an inline namespace
};

DieValues read_values(UnitCursor& cursor, const Abbrev& abbrev, const FormSizes& sizes, Dwarf_CU* cu, bool& valid) {
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
        case DW_AT_signature:
            values.signature = at;
            values.signature_form = attribute.form;
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

// Returns the name of a class that contains others. It may be only in the class's type unit. Returns null if the class
// is anonymous.
const char* name_of_scope(const Unit& unit, const DieValues& values) {
    if (values.name || !values.signature)
        return values.name;
    Dwarf_Attribute signature = {DW_AT_signature, values.signature_form, const_cast<unsigned char*>(values.signature),
                                 unit.die.cu};
    Dwarf_Die definition;
    return dwarf_formref_die(&signature, &definition) ? dwarf_diename(&definition) : nullptr;
}

// Returns the type in the same unit whose definition the DIE is (DW_AT_specification); null if it was not declared
// before.
const NamedEntry* declared_type(const Unit& unit, const DieValues& values) {
    if (!values.origin)
        return nullptr;
    Dwarf_Attribute specification = {DW_AT_specification, values.origin_form, const_cast<unsigned char*>(values.origin),
                                     unit.die.cu};
    Dwarf_Die declaration;
    if (!dwarf_formref_die(&specification, &declaration) || declaration.cu != unit.die.cu)
        return nullptr;
    Dwarf_Off offset = dwarf_dieoffset(&declaration);
    auto found = std::lower_bound(unit.types.begin(), unit.types.end(), offset,
                                  [](const NamedEntry& one, Dwarf_Off value) { return one.offset < value; });
    return found != unit.types.end() && found->offset == offset ? &*found : nullptr;
}

} // namespace

// Walks over all DIEs of the unit in the order of the file. `levels` is the path from the unit's DIE to the current
// one; a DIE with the abbreviation code 0 ends the children of its parent.
//
// An error in the data ends the scan. The entries found so far remain, so a damaged unit loses functions, but sonde
// does not crash.
void scan(Unit& unit) {
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
    UnitCursor cursor(first, end);
    while (!cursor.empty()) {
        unsigned char* die = cursor.at();
        uint64_t code = cursor.uleb();
        if (code == 0) {
            if (levels.size() <= 1)
                break; // the end of the unit; padding follows
            levels.pop_back();
            continue;
        }
        const Abbrev* abbrev = abbrevs.find(code);
        if (!abbrev)
            break;
        Level level = levels.empty() ? Level{} : levels.back();
        // The most frequent case: an uninteresting DIE of constant size.
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
                // A definition outside of the class or namespace of its declaration belongs there nevertheless.
                if (const NamedEntry* declared = declared_type(unit, values)) {
                    level.scope = declared->scope;
                    level.function = declared->local ? level.function : no_index;
                }
                if (is_type_definition(tag) && values.name)
                    unit.types.push_back(
                        {offset, values.name, tag, values.declaration, level.scope, level.function != no_index});
                if (is_scope(tag)) {
                    unit.scopes.push_back(
                        {name_of_scope(unit, values), level.scope, tag == DW_TAG_namespace, values.exports, offset});
                    level.scope = static_cast<uint32_t>(unit.scopes.size() - 1);
                }
                // In C, types contain nothing of interest. If the compiler stores references to siblings, skip the
                // children.
                if (c_language && abbrev->children && values.sibling && tag != DW_TAG_namespace) {
                    unsigned char* sibling = header + values.sibling;
                    if (values.sibling <= static_cast<uint64_t>(end - header) && sibling > cursor.at()) {
                        cursor.seek(static_cast<uint64_t>(sibling - first));
                        continue;
                    }
                }
            }
        }
        if (abbrev->children) {
            // A corrupt unit can nest DIEs without end.
            if (levels.size() >= 100000)
                break;
            levels.push_back(level);
        } else if (levels.empty()) {
            break; // a unit without children
        }
    }
}

} // namespace sonde
