// See thread_block.h. The distance of a program's block follows from its program header PT_TLS. The block's beginning
// is aligned like the segment. It is the first place after the space at the thread pointer (variant I), or the last
// place that lets the block end before the thread pointer (variant II).
#include "frontend/machine/thread_block.h"

#include <algorithm>
#include <utility>

#include <gelf.h>

#include "arch/architecture.h"
#include "base/byte_cursor.h"

namespace sonde {

std::optional<ThreadBlock> find_thread_block(const ElfFile& file) {
    size_t count = 0;
    if (elf_getphdrnum(file.elf(), &count) != 0)
        return std::nullopt;
    bool is_program = !file.is_dynamic();
    std::optional<GElf_Phdr> block;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(file.elf(), static_cast<int>(i), &header))
            continue;
        if (header.p_type == PT_TLS) {
            block = header;
        } else if (header.p_type == PT_DYNAMIC) {
            // A position-independent program has a flag for it. An interpreter alone is not a proof: the C library has
            // one, too.
            Elf_Data* data =
                elf_getdata_rawchunk(file.elf(), static_cast<int64_t>(header.p_offset), header.p_filesz, ELF_T_DYN);
            GElf_Dyn entry;
            for (int n = 0; data && gelf_getdyn(data, n, &entry) && entry.d_tag != DT_NULL; n++)
                if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE))
                    is_program = true;
        }
    }
    if (!block)
        return std::nullopt;
    if (!is_program)
        return ThreadBlock{.distance = std::nullopt, .size = block->p_memsz};
    const Architecture* architecture = architecture_of(file.machine(), file.is_32_bit());
    if (!architecture)
        return std::nullopt;
    uint64_t align = std::max<uint64_t>(block->p_align, 1);
    uint64_t size = block->p_memsz;
    // An alignment that is not a power of two, or a huge block, means that the file is corrupt.
    if ((align & (align - 1)) != 0 || align > (1 << 20) || size > (1 << 30))
        return std::nullopt;
    if (const uint64_t space = architecture->thread_storage().space)
        return ThreadBlock{.distance = static_cast<int64_t>(space + ((block->p_vaddr - space) & (align - 1))),
                           .size = size};
    uint64_t skew = (0 - block->p_vaddr - size) & (align - 1);
    return ThreadBlock{.distance = -static_cast<int64_t>(size + skew), .size = size};
}

namespace {

std::optional<ThreadSlot::Kind> slot_kind(DynamicRelocation relocation) {
    switch (relocation) {
    case DynamicRelocation::ThreadDistance:
        return ThreadSlot::Distance;
    case DynamicRelocation::ThreadModule:
        return ThreadSlot::Module;
    case DynamicRelocation::ThreadDescriptor:
        return ThreadSlot::Descriptor;
    default:
        return std::nullopt;
    }
}

// Whether the library uses a C library other than glibc.
bool has_other_libc(const ElfFile& file) {
    const std::string_view strings = file.section_data(".dynstr");
    if (strings.empty() || strings.back() != '\0')
        return false;
    for (const Elf64_Dyn& entry : values_in<Elf64_Dyn>(file.section_data(".dynamic"))) {
        if (entry.d_tag != DT_NEEDED || entry.d_un.d_val >= strings.size())
            continue;
        const std::string_view name = strings.data() + entry.d_un.d_val;
        if (name.starts_with("libc.") && name != "libc.so.6")
            return true;
    }
    return false;
}

} // namespace

std::optional<ThreadSlot> find_thread_slot(const ElfFile& file) {
    std::optional<ThreadSlot> found;
    const Architecture* architecture = architecture_of(file.machine(), file.is_32_bit());
    if (!architecture)
        return found;
    const bool other_libc = has_other_libc(file);
    std::pair<ThreadSlot::Kind, bool> best; // what `found` is
    for (const ElfSection& section : file.sections()) {
        if (section.type != SHT_RELA)
            continue;
        Elf_Scn* at = elf_getscn(file.elf(), static_cast<size_t>(&section - file.sections().data()));
        Elf_Data* data = at ? elf_getdata(at, nullptr) : nullptr;
        GElf_Shdr header;
        if (!data || !gelf_getshdr(at, &header))
            continue;
        Elf_Scn* symbols_at = elf_getscn(file.elf(), header.sh_link);
        Elf_Data* symbols = symbols_at ? elf_getdata(symbols_at, nullptr) : nullptr;
        GElf_Rela entry;
        for (int i = 0; gelf_getrela(data, i, &entry); i++) {
            uint64_t type = GELF_R_TYPE(entry.r_info), index = GELF_R_SYM(entry.r_info);
            const std::optional<ThreadSlot::Kind> kind =
                slot_kind(architecture->dynamic_relocation(static_cast<uint32_t>(type)));
            // A symbol of the library may have another definition in another module.
            const auto rank = std::pair(kind.value_or(ThreadSlot::Descriptor), index != 0);
            if (!kind || (found && best <= rank) || (*kind == ThreadSlot::Module && other_libc))
                continue;
            GElf_Sym symbol{};
            if (index != 0 && (!symbols || !gelf_getsym(symbols, static_cast<int>(index), &symbol) ||
                               symbol.st_shndx == SHN_UNDEF)) // defined in another module
                continue;
            found =
                ThreadSlot{entry.r_offset, *kind, static_cast<int64_t>(symbol.st_value) + entry.r_addend, !other_libc};
            best = rank;
        }
    }
    return found;
}

} // namespace sonde
