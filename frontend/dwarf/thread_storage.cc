// Thread-local variables: where a module's block is in a thread.
//
// A program's own block lies at a fixed distance from the thread pointer (Drepper, ELF Handling for Thread-Local
// Storage, section 3.4.6: x86-64 is "variant II"). A library's block is known at run time only. What the loader has
// written into the library's global offset table tells: a TPOFF64 slot the distance of one of its variables from the
// thread pointer, a DTPMOD64 slot the library's index in each thread's table of blocks (section 3, "dtv"; glibc: the
// pointer behind the thread pointer's own word, two words an entry).
#include <algorithm>

#include <fmt/format.h>

#include "frontend/dwarf/reader.h"
#include "frontend/types/thread_block.h"

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
            // A position independent program says so; a shared library with an interpreter (libc) does not.
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
        return ThreadBlock{};
    // The program's block ends at the thread pointer, aligned.
    uint64_t align = std::max<uint64_t>(block->p_align, 1);
    uint64_t size = block->p_memsz;
    if ((align & (align - 1)) != 0 || align > (1 << 20) || size > (1 << 30))
        return std::nullopt;
    uint64_t skew = (0 - block->p_vaddr - size) & (align - 1);
    return ThreadBlock{-static_cast<int64_t>(size + skew)};
}

void DwarfReader::find_thread_local_bias() {
    std::optional<ThreadBlock> block = find_thread_block(*main_);
    if (block && block->distance)
        thread_local_bias_ = block->distance;
    else if (block)
        find_thread_local_slot();
}

void DwarfReader::find_thread_local_slot() {
    for (const ElfSection& section : main_->sections()) {
        if (section.type != SHT_RELA)
            continue;
        Elf_Scn* at = elf_getscn(main_->elf(), static_cast<size_t>(&section - main_->sections().data()));
        Elf_Data* data = at ? elf_getdata(at, nullptr) : nullptr;
        GElf_Shdr header;
        if (!data || !gelf_getshdr(at, &header))
            continue;
        Elf_Scn* symbols_at = elf_getscn(main_->elf(), header.sh_link);
        Elf_Data* symbols = symbols_at ? elf_getdata(symbols_at, nullptr) : nullptr;
        GElf_Rela entry;
        for (int i = 0; gelf_getrela(data, i, &entry); i++) {
            uint64_t type = GELF_R_TYPE(entry.r_info), index = GELF_R_SYM(entry.r_info);
            if (type != R_X86_64_TPOFF64 && type != R_X86_64_DTPMOD64)
                continue;
            GElf_Sym symbol{};
            if (index != 0 && (!symbols || !gelf_getsym(symbols, static_cast<int>(index), &symbol) ||
                               symbol.st_shndx == SHN_UNDEF)) // another module's
                continue;
            bool distance = type == R_X86_64_TPOFF64;
            if (!thread_local_slot_ || (distance && !thread_local_slot_->distance))
                thread_local_slot_ =
                    ThreadLocalSlot{entry.r_offset, distance, static_cast<int64_t>(symbol.st_value) + entry.r_addend};
        }
    }
}

} // namespace sonde
