// References between the sections of a .dwo file are offsets in a section, and units are relative to their own
// beginning. So sections with the same name can be put together in any order, if no other section is repeated.
#include "frontend/dwarf/split_sections.h"

#include <cstring>
#include <vector>

#include <elf.h>
#include <gelf.h>
#include <libelf.h>

namespace sonde {
namespace {

constexpr std::array<std::string_view, split_section_count> names = {
    ".debug_info.dwo",     ".debug_types.dwo",    ".debug_abbrev.dwo",      ".debug_line.dwo", ".debug_loc.dwo",
    ".debug_loclists.dwo", ".debug_rnglists.dwo", ".debug_str_offsets.dwo", ".debug_str.dwo",
};

// Returns the section's bytes, uncompressed; empty if it is damaged.
std::string contents(const ElfFile& file, size_t number) {
    Elf_Scn* section = elf_getscn(file.elf(), number);
    if (!section)
        return "";
    if ((file.sections()[number].flags & SHF_COMPRESSED) && elf_compress(section, 0, 0) < 0)
        return "";
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (!data || !data->d_buf)
        return "";
    return {static_cast<const char*>(data->d_buf), data->d_size};
}

template <typename T> void append(std::string& out, const T& value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

} // namespace

SplitViews views_of(const SplitBytes& bytes) {
    SplitViews out;
    for (size_t i = 0; i < split_section_count; i++)
        out.bytes[i] = bytes.bytes[i];
    return out;
}

SplitLayout split_layout(const ElfFile& file) {
    int infos = 0, types = 0;
    bool has_own = false;
    for (const ElfSection& section : file.sections()) {
        infos += section.name == ".debug_info.dwo";
        types += section.name == ".debug_types.dwo";
        has_own = has_own || section.name == ".debug_info";
    }
    return {.has_units = infos + types > 0, .is_partly_read = infos > 0 && (infos > 1 || types > 1 || has_own)};
}

SplitBytes read_split_sections(const ElfFile& file) {
    SplitBytes out;
    for (size_t number = 0; number < file.sections().size(); number++)
        for (size_t i = 0; i < split_section_count; i++)
            if (file.sections()[number].name == names[i] && file.sections()[number].type != SHT_NOBITS)
                out.bytes[i] += contents(file, number);
    return out;
}

std::optional<SplitViews> view_split_sections(const ElfFile& file) {
    SplitViews out;
    for (const ElfSection& section : file.sections())
        for (size_t i = 0; i < split_section_count; i++) {
            if (section.name != names[i])
                continue;
            if ((section.flags & SHF_COMPRESSED) || file.find_section(names[i]) != &section)
                return std::nullopt;
            out.bytes[i] = file.section_data(names[i]);
        }
    return out;
}

std::string read_debug_section(const ElfFile& file, std::string_view name) {
    const ElfSection* section = file.find_section(name);
    if (!section || section->type == SHT_NOBITS)
        return "";
    return contents(file, static_cast<size_t>(section - file.sections().data()));
}

std::string write_split_file(const SplitBytes& sections, uint16_t machine) {
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = machine;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    std::string out(sizeof header, '\0'), strings(1, '\0');
    std::vector<Elf64_Shdr> table(1);
    const auto add = [&](std::string_view name, uint32_t type, std::string_view bytes) {
        Elf64_Shdr section = {};
        section.sh_name = static_cast<Elf64_Word>(strings.size());
        strings.append(name).push_back('\0');
        section.sh_type = type;
        section.sh_offset = out.size();
        section.sh_addralign = 1;
        if (type == SHT_STRTAB)
            bytes = strings; // with its own name
        section.sh_size = bytes.size();
        out += bytes;
        table.push_back(section);
    };
    for (size_t i = 0; i < split_section_count; i++)
        if (!sections.bytes[i].empty())
            add(names[i], SHT_PROGBITS, sections.bytes[i]);
    add(".shstrtab", SHT_STRTAB, "");
    out.resize((out.size() + 7) & ~size_t{7});
    header.e_shoff = out.size();
    header.e_shnum = static_cast<Elf64_Half>(table.size());
    header.e_shstrndx = static_cast<Elf64_Half>(table.size() - 1);
    for (const Elf64_Shdr& section : table)
        append(out, section);
    std::memcpy(out.data(), &header, sizeof header);
    return out;
}

} // namespace sonde
