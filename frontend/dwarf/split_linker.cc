// The input comes from any file. All reads go through a ByteCursor, which checks them, and a table, unit or string that
// does not fit its section ends the work. The size of the result is limited, because a small index can name the same
// bytes many times.
#include "frontend/dwarf/split_linker.h"

#include <cstring>
#include <optional>

#include <dwarf.h>

#include "base/byte_cursor.h"
#include "frontend/dwarf/forms.h"

namespace sonde {
namespace {

constexpr uint64_t most_bytes = 1 << 30;                // of one section of the result
constexpr uint32_t long_format = 0xfffffff0;            // lengths from here on announce the 64-bit format
constexpr uint32_t string_header = 8, list_header = 12; // in DWARF 5
constexpr uint32_t offset_size = 4;

uint32_t size_of(const std::string& bytes) { return static_cast<uint32_t>(bytes.size()); }

template <typename T> void append(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_uleb(std::string& out, uint64_t value) {
    do {
        const auto low = static_cast<char>(value & 0x7f);
        value >>= 7;
        out.push_back(value ? static_cast<char>(low | '\x80') : low);
    } while (value);
}

void append_sleb(std::string& out, int64_t value) {
    for (;;) {
        const auto low = static_cast<char>(value & 0x7f);
        value >>= 7;
        const bool is_last = (value == 0 && !(low & 0x40)) || (value == -1 && (low & 0x40));
        out.push_back(is_last ? low : static_cast<char>(low | '\x80'));
        if (is_last)
            return;
    }
}

template <typename T> T number_at(const std::string& bytes, size_t at) {
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

void set_number(std::string& bytes, size_t at, uint32_t value) { std::memcpy(bytes.data() + at, &value, sizeof value); }

bool is_unit(uint32_t tag) {
    return tag == DW_TAG_compile_unit || tag == DW_TAG_partial_unit || tag == DW_TAG_type_unit;
}

// The version of the first unit; 0 if there is none.
int version_of(const SplitViews& input) {
    ByteCursor cursor(input[SplitSection::Info].empty() ? input[SplitSection::Types] : input[SplitSection::Info]);
    cursor.skip(offset_size);
    return cursor.take<uint16_t>();
}

} // namespace

bool SplitLinker::has_room(const SplitViews& input) const {
    for (size_t i = 0; i < split_section_count; i++)
        if (i != static_cast<size_t>(SplitSection::Str) && input.bytes[i].size() + out_.bytes[i].size() > most_bytes)
            return false;
    return out_[SplitSection::Str].size() <= most_bytes && out_[SplitSection::Abbrev].size() <= most_bytes;
}

// Strings are copied one by one: in a package, all units share one section, which can be large.
std::optional<uint32_t> SplitLinker::new_string(Input& input, uint32_t offset) {
    const auto [known, is_new] = input.strings.try_emplace(offset, size_of(out_[SplitSection::Str]));
    if (!is_new)
        return known->second;
    ByteCursor cursor(input.sections[SplitSection::Str]);
    cursor.seek(offset);
    const std::string_view text = cursor.string();
    if (cursor.failed() || out_[SplitSection::Str].size() + text.size() >= most_bytes)
        return std::nullopt;
    out_[SplitSection::Str].append(text).push_back('\0');
    return known->second;
}

bool SplitLinker::add_strings(Input& input, int version) {
    std::string& out = out_[SplitSection::StrOffsets];
    ByteCursor cursor(input.sections[SplitSection::StrOffsets]);
    if (cursor.empty())
        return true;
    uint64_t rest = cursor.rest();
    if (version >= 5) {
        const auto length = cursor.take<uint32_t>();
        const uint32_t rest_of_header = cursor.take<uint32_t>(); // the version and padding
        if (cursor.failed() || length >= long_format || length < offset_size || length - offset_size > cursor.rest())
            return false;
        rest = length - offset_size;
        append(out, length);
        append(out, rest_of_header);
    }
    input.bases.strings = size_of(out);
    for (; rest >= offset_size; rest -= offset_size) {
        const std::optional<uint32_t> text = new_string(input, cursor.take<uint32_t>());
        if (!text)
            return false;
        append(out, *text);
    }
    return rest == 0;
}

bool SplitLinker::add(const SplitViews& input) {
    if (!has_room(input))
        return false;
    const int version = version_of(input);
    Input added{input, {}, {}, {}};
    Bases& bases = added.bases;
    bases.info = size_of(out_[SplitSection::Info]);
    bases.types = size_of(out_[SplitSection::Types]);
    for (const auto& [section, base] :
         {std::pair(SplitSection::Line, &bases.line), std::pair(SplitSection::Loc, &bases.loc),
          std::pair(SplitSection::LocLists, &bases.loc_lists), std::pair(SplitSection::RngLists, &bases.rng_lists)}) {
        *base = size_of(out_[section]);
        out_[section] += input[section];
    }
    if (!add_strings(added, version))
        return false;
    for (SplitSection section : {SplitSection::Info, SplitSection::Types}) {
        ByteCursor cursor(input[section]);
        while (!cursor.empty()) {
            const size_t begin = cursor.position();
            const auto length = cursor.take<uint32_t>();
            cursor.skip(length);
            if (length >= long_format || cursor.failed() ||
                !add_unit(added, input[section].substr(begin, offset_size + uint64_t{length}), section))
                return false;
        }
    }
    return true;
}

// Bases are added only if they are not the default, the beginning of the section.
std::string SplitLinker::base_attributes(const Input& input, int version) const {
    std::string out;
    const auto add = [&](unsigned name, uint32_t value) {
        append_uleb(out, name);
        append_uleb(out, DW_FORM_implicit_const);
        append_sleb(out, value);
    };
    if (input.bases.strings > (version >= 5 ? string_header : 0))
        add(DW_AT_str_offsets_base, input.bases.strings);
    if (version >= 5 && input.bases.loc_lists > 0)
        add(DW_AT_loclists_base, input.bases.loc_lists + list_header);
    if (version >= 5 && input.bases.rng_lists > 0)
        add(DW_AT_rnglists_base, input.bases.rng_lists + list_header);
    return out;
}

// Copies a table of abbreviations. Returns null if it is damaged.
const SplitLinker::AbbreviationTable* SplitLinker::add_table(Input& input, uint32_t offset, int version) {
    const auto [known, is_new] = input.tables.try_emplace(offset);
    AbbreviationTable& table = known->second;
    if (!is_new)
        return &table;
    std::string& out = out_[SplitSection::Abbrev];
    table.offset = size_of(out);
    const std::string bases = base_attributes(input, version);
    ByteCursor cursor(input.sections[SplitSection::Abbrev]);
    cursor.seek(offset);
    while (!cursor.failed()) {
        const uint64_t code = cursor.uleb();
        append_uleb(out, code);
        if (code == 0)
            return cursor.failed() ? nullptr : &table;
        Abbreviation& one = table.by_code[code];
        one = {};
        one.tag = static_cast<uint32_t>(cursor.uleb());
        append_uleb(out, one.tag);
        out.push_back(cursor.take<char>()); // whether it has children
        if (is_unit(one.tag)) {
            out += bases;
            ByteCursor added(bases);
            while (!added.empty()) {
                const auto name = static_cast<uint32_t>(added.uleb());
                one.attributes.push_back({name, static_cast<uint32_t>(added.uleb())});
                added.sleb();
            }
        }
        for (;;) {
            const auto name = static_cast<uint32_t>(cursor.uleb()), form = static_cast<uint32_t>(cursor.uleb());
            append_uleb(out, name);
            append_uleb(out, form);
            if (form == DW_FORM_implicit_const)
                append_sleb(out, cursor.sleb());
            if (cursor.failed() || out.size() > most_bytes)
                return nullptr;
            if (name == 0 && form == 0)
                break;
            one.attributes.push_back({name, form});
        }
    }
    return nullptr;
}

// Copies a unit. `bytes` begins with its header (DWARF 5, section 7.5.1; DWARF 4, section 7.5.1).
bool SplitLinker::add_unit(Input& input, std::string_view bytes, SplitSection section) {
    ByteCursor cursor(bytes);
    cursor.skip(offset_size);
    const int version = cursor.take<uint16_t>();
    if (version < 2 || version > 5)
        return false;
    uint8_t kind = section == SplitSection::Types ? DW_UT_split_type : DW_UT_split_compile;
    int address_size = 0;
    if (version >= 5) {
        kind = cursor.take<uint8_t>();
        address_size = cursor.take<uint8_t>();
    }
    const size_t place = cursor.position();
    const auto abbreviations = cursor.take<uint32_t>();
    if (version < 5)
        address_size = cursor.take<uint8_t>();
    if (kind == DW_UT_split_type || kind == DW_UT_type) {
        type_units_.insert(cursor.take<uint64_t>());
        cursor.skip(offset_size); // the type's place in the unit
    } else if (version >= 5 && (kind == DW_UT_split_compile || kind == DW_UT_skeleton)) {
        units_.insert(cursor.take<uint64_t>());
    }
    const AbbreviationTable* table = cursor.failed() ? nullptr : add_table(input, abbreviations, version);
    if (!table)
        return false;
    std::string unit(bytes);
    set_number(unit, place, table->offset);
    if (!change_values(input, *table, version, address_size, unit, cursor.position()))
        return false;
    out_[section] += unit;
    return true;
}

// Changes the references of a unit to other sections. `first`: the place of the unit's first DIE.
bool SplitLinker::change_values(Input& input, const AbbreviationTable& table, int version, int address_size,
                                std::string& unit, size_t first) {
    const FormSizes sizes{version, address_size, offset_size};
    const Bases& bases = input.bases;
    const std::string original = unit; // the cursor reads what the unit was before
    ByteCursor cursor(original);
    cursor.seek(first);
    while (!cursor.empty()) {
        const uint64_t code = cursor.uleb();
        if (code == 0)
            continue;
        const auto found = table.by_code.find(code);
        if (found == table.by_code.end())
            return false;
        for (const auto& [name, form] : found->second.attributes) {
            const size_t at = cursor.position();
            if (!skip_form(cursor, form, sizes) || cursor.failed())
                return false;
            const auto add = [&](uint32_t base) { set_number(unit, at, number_at<uint32_t>(original, at) + base); };
            if (form == DW_FORM_ref_sig8) {
                references_.insert(number_at<uint64_t>(original, at));
            } else if (form == DW_FORM_strp) {
                const std::optional<uint32_t> text = new_string(input, number_at<uint32_t>(original, at));
                if (!text)
                    return false;
                set_number(unit, at, *text);
            } else if (form == DW_FORM_ref_addr && version > 2) {
                add(bases.info);
            } else if (form == DW_FORM_sec_offset) {
                if (name == DW_AT_stmt_list)
                    add(bases.line);
                else if (name == DW_AT_ranges || name == DW_AT_start_scope)
                    add(version >= 5 ? bases.rng_lists : 0); // before DWARF 5, ranges are in the program
                else
                    add(version >= 5 ? bases.loc_lists : bases.loc);
            } else if (name == DW_AT_GNU_dwo_id && form == DW_FORM_data8 && is_unit(found->second.tag)) {
                units_.insert(number_at<uint64_t>(original, at));
            }
        }
    }
    return true;
}

} // namespace sonde
