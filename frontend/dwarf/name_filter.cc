// Searches raw bytes for a name. In .debug_info, the name of a function is one of the following: the text itself
// (DW_FORM_string), an offset in .debug_str (DW_FORM_strp), or an index in .debug_str_offsets (DW_FORM_strx). In all
// cases, the unit or its part of .debug_str_offsets contains the text or its offset. So the filter finds the offsets of
// the name in .debug_str once, and then searches each unit for these 4-byte values.
#include "frontend/dwarf/name_filter.h"

#include <cstring>

#include <dwarf.h>
#include <gelf.h>

#include "base/byte_cursor.h"
#include "base/glob.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sonde {
namespace {

constexpr size_t most_needles = 8; // searching for more of them takes as long as reading the units

// Like std::string_view::find(), for a needle of at least two bytes.
size_t find_bytes(std::string_view bytes, std::string_view needle, size_t at = 0) {
#ifdef __SSE2__
    // Compare the needle's first two bytes at 16 positions at once. In an offset, these are its low bytes, which differ
    // most.
    const __m128i first = _mm_set1_epi8(needle[0]), second = _mm_set1_epi8(needle[1]);
    for (; at + 17 <= bytes.size(); at += 16) {
        const auto* here = reinterpret_cast<const __m128i*>(bytes.data() + at);
        const auto* next = reinterpret_cast<const __m128i*>(bytes.data() + at + 1);
        auto both = static_cast<unsigned>(_mm_movemask_epi8(_mm_and_si128(
            _mm_cmpeq_epi8(_mm_loadu_si128(here), first), _mm_cmpeq_epi8(_mm_loadu_si128(next), second))));
        for (; both; both &= both - 1)
            if (bytes.substr(at + static_cast<size_t>(__builtin_ctz(both))).starts_with(needle))
                return at + static_cast<size_t>(__builtin_ctz(both));
    }
#endif
    return bytes.find(needle, at);
}

std::string_view section(Elf* elf, std::string_view wanted) {
    size_t names = 0;
    if (!elf || elf_getshdrstrndx(elf, &names) != 0)
        return {};
    for (Elf_Scn* at = nullptr; (at = elf_nextscn(elf, at));) {
        GElf_Shdr header;
        const char* name = gelf_getshdr(at, &header) ? elf_strptr(elf, names, header.sh_name) : nullptr;
        if (!name || name != wanted || header.sh_type == SHT_NOBITS || (header.sh_flags & SHF_COMPRESSED))
            continue;
        Elf_Data* data = elf_getdata(at, nullptr);
        return data && data->d_buf ? std::string_view(static_cast<char*>(data->d_buf), data->d_size)
                                   : std::string_view();
    }
    return {};
}

bool names_function(unsigned attribute) {
    return attribute == DW_AT_name || attribute == DW_AT_linkage_name || attribute == DW_AT_MIPS_linkage_name ||
           attribute == DW_AT_abstract_origin || attribute == DW_AT_specification;
}

// Whether a value with that form is a string, an offset in .debug_str or an index of such offsets, or refers to one
// within the unit.
bool is_plain(unsigned form) {
    switch (form) {
    case DW_FORM_string:
    case DW_FORM_strp:
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        return true;
    default:
        return false;
    }
}

// Whether the unit's own bytes contain all names that its functions can have.
bool has_plain_names(Dwarf_Die unit) {
    size_t length = 0;
    for (Dwarf_Off offset = 0;; offset += length) {
        Dwarf_Abbrev* abbrev = dwarf_getabbrev(&unit, offset, &length);
        if (!abbrev)
            return false;
        if (abbrev == DWARF_END_ABBREV || length == 0)
            return true;
        unsigned tag = dwarf_getabbrevtag(abbrev);
        if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
            continue;
        unsigned name = 0, form = 0;
        Dwarf_Sword data = 0;
        for (size_t i = 0; dwarf_getabbrevattr_data(abbrev, i, &name, &form, &data, nullptr) == 0 && name; i++)
            if (names_function(name) && !is_plain(form))
                return false;
    }
}

} // namespace

// Prepares the byte sequences to search for. If they would not be reliable, the filter lets all units pass (decides_ is
// false).
NameFilter::NameFilter(Dwarf* dwarf, const std::string& pattern) : dwarf_(dwarf) {
    Elf* elf = dwarf ? dwarf_getelf(dwarf) : nullptr;
    GElf_Ehdr header;
    // In an object file that is not linked, offsets are stored in relocations.
    if (!elf || !gelf_getehdr(elf, &header) || header.e_type == ET_REL)
        return;
    if (pattern.empty() || has_wildcard(pattern) || pattern.find_first_of("<({ ") != std::string::npos)
        return;
    size_t scope = pattern.rfind("::");
    qualified_ = scope != std::string::npos;
    std::string name = qualified_ ? pattern.substr(scope + 2) : pattern;
    std::string_view strings = section(elf, ".debug_str");
    info_ = section(elf, ".debug_info");
    offsets_ = section(elf, ".debug_str_offsets");
    if (name.empty() || name.starts_with("operator") || strings.empty() || info_.empty())
        return;
    // The names of a template's functions contain the arguments.
    for (const char* end : {"", "<"}) {
        std::string text = name + end;
        text += std::string(*end ? 0 : 1, '\0');
        needles_.push_back(text);
        find_offsets(strings, text);
    }
    decides_ = needles_.size() <= most_needles;
}

// Search all positions, because a string can be the end of another one.
void NameFilter::find_offsets(std::string_view strings, const std::string& text) {
    for (size_t at = 0; needles_.size() <= most_needles; at++) {
        at = find_bytes(strings, text, at);
        if (at == std::string_view::npos || at > UINT32_MAX)
            return;
        auto offset = static_cast<uint32_t>(at);
        std::string bytes(sizeof offset, '\0');
        memcpy(bytes.data(), &offset, sizeof offset);
        needles_.push_back(std::move(bytes));
    }
}

// Returns the unit's part of .debug_str_offsets (DWARF 5, section 7.26): length, version and padding, then offsets.
std::string_view NameFilter::indexed_strings(Dwarf_Die unit) const {
    Dwarf_Attribute attribute;
    Dwarf_Word base = 0;
    if (!dwarf_attr(&unit, DW_AT_str_offsets_base, &attribute) || dwarf_formudata(&attribute, &base) != 0)
        // For 64-bit DWARF or a wrong base, search the whole section.
        return {};
    if (base < 8 || base > offsets_.size())
        return offsets_;
    const uint32_t length = value_at<uint32_t>(offsets_, base - 8).value_or(0);
    return length < 4 || length == UINT32_MAX ? offsets_ : offsets_.substr(base, length - 4);
}

bool NameFilter::may_have(const Unit& unit) const {
    if (!decides_ || unit.scanned || unit.dwarf != dwarf_ || unit.end > info_.size() || unit.begin > unit.end)
        return true;
    Dwarf_Die die = unit.die;
    const std::string_view bytes = info_.substr(unit.begin, unit.end - unit.begin), indexed = indexed_strings(die);
    for (const std::string& needle : needles_)
        if (find_bytes(bytes, needle) != std::string_view::npos ||
            find_bytes(indexed, needle) != std::string_view::npos)
            return true;
    int language = dwarf_srclang(&die);
    // Go's names include the package. For Rust, a scope may be only in the mangled name.
    return language == DW_LANG_Go || (language == DW_LANG_Rust && qualified_) || !has_plain_names(die);
}

} // namespace sonde
