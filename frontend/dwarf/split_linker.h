// Puts split units from several files, or from several places in a package, into one file that libdw can read.
//
// libdw expects one unit with its sections in each .dwo file. In a package (.dwp), the units share sections, and an
// index says which part of each section belongs to which unit. References in a unit are relative to these parts. When
// several parts are put after one another, the references must be changed:
//
// * The header's offset in .debug_abbrev, and values of the form DW_FORM_sec_offset, are numbers of fixed size in the
//   unit. They are overwritten.
// * Strings and lists are named by an index, relative to a base. A split unit has no attribute for the base, because it
//   is the beginning of the section. So the attribute is added to the unit's abbreviation, with the form
//   DW_FORM_implicit_const: its value is in the abbreviation, so that no DIE changes its size.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontend/dwarf/split_sections.h"

namespace sonde {

class SplitLinker {
  public:
    // Adds all units of the input: a .dwo file, or the part of a package that belongs to one unit. Returns false if the
    // input is damaged or has an unknown form. Then the result is unusable.
    bool add(const SplitViews& input);

    // Ids of the compilation units (DW_AT_dwo_id), and signatures of the type units.
    const std::set<uint64_t>& units() const { return units_; }
    const std::set<uint64_t>& type_units() const { return type_units_; }
    // Signatures of the types that the units refer to.
    const std::set<uint64_t>& references() const { return references_; }

    const SplitBytes& sections() const { return out_; }

  private:
    struct Attribute {
        uint32_t name, form;
    };
    struct Abbreviation {
        uint32_t tag = 0;
        std::vector<Attribute> attributes;
    };
    // A table of abbreviations, and its offset in the result.
    struct AbbreviationTable {
        uint32_t offset = 0;
        std::map<uint64_t, Abbreviation> by_code;
    };
    // Places in the result where the input's sections begin.
    struct Bases {
        uint32_t info = 0, types = 0, line = 0, loc = 0, loc_lists = 0, rng_lists = 0;
        uint32_t strings = 0; // of the first entry
    };
    struct Input {
        const SplitViews& sections;
        Bases bases;
        std::map<uint32_t, AbbreviationTable> tables;
        std::map<uint32_t, uint32_t> strings; // old and new offsets
    };

    bool has_room(const SplitViews& input) const;
    bool add_strings(Input& input, int version);
    bool add_unit(Input& input, std::string_view bytes, SplitSection section);
    const AbbreviationTable* add_table(Input& input, uint32_t offset, int version);
    std::string base_attributes(const Input& input, int version) const;
    bool change_values(Input& input, const AbbreviationTable& table, int version, int address_size, std::string& unit,
                       size_t first);
    std::optional<uint32_t> new_string(Input& input, uint32_t offset);

    SplitBytes out_;
    std::set<uint64_t> units_, type_units_, references_;
};

} // namespace sonde
