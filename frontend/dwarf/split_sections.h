// The sections of split debug information (-gsplit-dwarf): those of a .dwo file, of one unit in a package, and of a
// file that sonde writes for libdw.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/elf_file.h"

namespace sonde {

enum class SplitSection : uint8_t { Info, Types, Abbrev, Line, Loc, LocLists, RngLists, StrOffsets, Str };
constexpr size_t split_section_count = 9;

// The contents of each section, as views or as strings. Empty: the section does not exist.
template <typename Bytes> struct SplitContents {
    std::array<Bytes, split_section_count> bytes;

    Bytes& operator[](SplitSection section) { return bytes[static_cast<size_t>(section)]; }
    const Bytes& operator[](SplitSection section) const { return bytes[static_cast<size_t>(section)]; }
};
using SplitViews = SplitContents<std::string_view>;
using SplitBytes = SplitContents<std::string>;

SplitViews views_of(const SplitBytes& bytes);

// How the sections of an object file are arranged.
struct SplitLayout {
    bool has_units = false; // it has split units
    // libdw reads only one section of each kind. It misses a part if gcc has put each type unit into a section of its
    // own (-fdebug-types-section), or if the object file also has the program's sections (-gsplit-dwarf=single).
    bool is_partly_read = false;
};
SplitLayout split_layout(const ElfFile& file);

// Returns the sections of a .dwo file or of an object file. Sections with the same name are put together. Uncompresses
// them, so check the size before (why_not_unpack()).
SplitBytes read_split_sections(const ElfFile& file);
// The same without a copy, for a file that has each section once and uncompressed; nullopt for other files. Valid as
// long as the file.
std::optional<SplitViews> view_split_sections(const ElfFile& file);
// The contents of one section, uncompressed.
std::string read_debug_section(const ElfFile& file, std::string_view name);

// Returns an object file with these sections.
std::string write_split_file(const SplitBytes& sections, uint16_t machine);

} // namespace sonde
