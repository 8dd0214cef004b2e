// Opens an object file as if it had been linked.
//
// A kernel module is an object file. Its sections have no addresses yet, and its debug information refers to code by
// relocations:
//
//     .debug_info      DW_AT_low_pc at offset 0x40: zeros
//     .rela.debug_info offset 0x40, symbol .text, addend 0x120
//
// Linker gives each loaded section an address, one after the other. With .text at 0x1000, it writes 0x1120 at the
// offset 0x40, and adds a program header for .text. Then readers of programs can read the file.
//
// Symbols are relative to their section in an object file, so their values are increased, too (move_symbols()).
//
// A jump that is not relocated seems to lead to the next instruction: in modules of x86-64, each `ret` is such a jump
// to the kernel's return thunk. So jumps are relocated, too.
//
// What would break this: a relocation that is skipped. Debug information with a zero in place of an address is still
// readable, but describes wrong code. So an unknown type of relocation is an error.
#include "base/linked_object.h"

#include <elf.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace sonde {
namespace {

constexpr uint64_t first_address = 0x1000; // not 0, which usually means "unknown"

uint64_t align_up(uint64_t value, uint64_t alignment) {
    return alignment > 1 ? (value + alignment - 1) / alignment * alignment : value;
}

class Linker {
  public:
    Linker(std::string bytes, const DescribeRelocation& describe) : bytes_(std::move(bytes)), describe_(describe) {}

    Result<std::string> link() {
        if (Result<void> read = read_headers(); !read)
            return std::move(read).error();
        place_sections();
        for (const Elf64_Shdr& section : sections_)
            if (section.sh_type == SHT_SYMTAB)
                if (Result<void> moved = move_symbols(section); !moved)
                    return std::move(moved).error();
        for (const Elf64_Shdr& section : sections_)
            if (section.sh_type == SHT_RELA)
                if (Result<void> done = relocate(section); !done)
                    return std::move(done).error();
        write_headers();
        return std::move(bytes_);
    }

  private:
    bool has(uint64_t offset, uint64_t size) const { return offset <= bytes_.size() && size <= bytes_.size() - offset; }
    template <typename T> T get(uint64_t offset) const {
        T out;
        std::memcpy(&out, bytes_.data() + offset, sizeof out);
        return out;
    }
    template <typename T> void put(uint64_t offset, const T& value) {
        std::memcpy(bytes_.data() + offset, &value, sizeof value);
    }

    // After this has succeeded, the section table and the sections' bytes are within the file.
    Result<void> read_headers() {
        if (!has(0, sizeof header_) || std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0)
            return Error("it is not an ELF file");
        header_ = get<Elf64_Ehdr>(0);
        if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_type != ET_REL)
            return Error("it is not a 64-bit object file");
        if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shnum == 0)
            return Error("its section headers cannot be read");
        if (!has(header_.e_shoff, uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr)))
            return Error("the file is truncated: the section headers lie past its end");
        for (size_t i = 0; i < header_.e_shnum; i++) {
            auto section = get<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr));
            if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
                !has(section.sh_offset, section.sh_size))
                return Error(fmt::format("the file is truncated: section {} ends past its end", i));
            sections_.push_back(section);
        }
        return {};
    }

    // Including the tables for unwinding.
    bool is_debug_information(const Elf64_Shdr& section) const {
        if (header_.e_shstrndx >= sections_.size())
            return false;
        uint64_t at = sections_[header_.e_shstrndx].sh_offset + section.sh_name;
        std::string_view name = at < bytes_.size() ? std::string_view(bytes_).substr(at) : std::string_view();
        return name.starts_with(".debug_") || name.starts_with(std::string_view(".eh_frame\0", 10));
    }

    void place_sections() {
        uint64_t at = first_address;
        for (Elf64_Shdr& section : sections_) {
            section.sh_addr = 0;
            // Skip sections larger than any module can have in memory.
            if (!(section.sh_flags & SHF_ALLOC) || section.sh_size > UINT32_MAX || section.sh_addralign > UINT16_MAX)
                continue;
            section.sh_addr = align_up(at, section.sh_addralign);
            at = section.sh_addr + section.sh_size;
        }
        outside_ = align_up(at, 16) + 16;
    }

    Result<void> move_symbols(const Elf64_Shdr& table) {
        for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); i++) {
            auto symbol = get<Elf64_Sym>(table.sh_offset + i * sizeof(Elf64_Sym));
            if (symbol.st_shndx == SHN_UNDEF && symbol.st_name != 0)
                symbol.st_value = outside_ + 16 * i;
            else if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < sections_.size())
                symbol.st_value += sections_[symbol.st_shndx].sh_addr;
            else
                continue;
            put(table.sh_offset + i * sizeof(Elf64_Sym), symbol);
        }
        return {};
    }

    Result<void> relocate(const Elf64_Shdr& table) {
        if (table.sh_info >= sections_.size() || table.sh_link >= sections_.size())
            return Error("its relocations belong to no section");
        const Elf64_Shdr &target = sections_[table.sh_info], &symbols = sections_[table.sh_link];
        const bool is_code = (target.sh_flags & SHF_EXECINSTR) && target.sh_addr != 0;
        if (target.sh_type == SHT_NOBITS || (!is_code && !is_debug_information(target)))
            return {};
        if (target.sh_flags & SHF_COMPRESSED)
            return Error("its debug information is compressed, which cannot be read in object files");
        for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Rela); i++) {
            auto entry = get<Elf64_Rela>(table.sh_offset + i * sizeof(Elf64_Rela));
            uint64_t symbol_at = ELF64_R_SYM(entry.r_info) * sizeof(Elf64_Sym);
            if (symbol_at + sizeof(Elf64_Sym) > symbols.sh_size)
                return Error("its relocations name symbols that it does not have");
            auto symbol = get<Elf64_Sym>(symbols.sh_offset + symbol_at);
            if (is_code) {
                const ObjectRelocation kind = described(entry);
                if (kind == ObjectRelocation::Relative32 || kind == ObjectRelocation::Jump26)
                    write(target, entry, symbol.st_value + addend(entry));
            } else if (!write(target, entry, symbol.st_value + addend(entry)))
                return Error(fmt::format("its debug information has a relocation of the unknown type {} at {:#x}",
                                         ELF64_R_TYPE(entry.r_info), entry.r_offset));
        }
        return {};
    }

    static uint64_t addend(const Elf64_Rela& entry) { return static_cast<uint64_t>(entry.r_addend); }
    ObjectRelocation described(const Elf64_Rela& entry) const {
        return describe_(header_.e_machine, static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info)));
    }

    // Returns whether the type of relocation is known and the place is in the section.
    bool write(const Elf64_Shdr& target, const Elf64_Rela& entry, uint64_t value) {
        using enum ObjectRelocation;
        const ObjectRelocation kind = described(entry);
        if (kind == Unknown || kind == Nothing)
            return kind == Nothing;
        if (kind == Relative32 || kind == Relative64 || kind == Jump26)
            value -= target.sh_addr + entry.r_offset;
        const size_t size = kind == Absolute64 || kind == Relative64 ? 8 : 4;
        if (entry.r_offset > target.sh_size || size > target.sh_size - entry.r_offset)
            return false;
        const uint64_t at = target.sh_offset + entry.r_offset;
        if (kind == Jump26) {
            constexpr uint32_t distance = (1U << 26) - 1;
            value = (get<uint32_t>(at) & ~distance) | (static_cast<uint32_t>(value >> 2) & distance);
        }
        std::memcpy(bytes_.data() + at, &value, size);
        return true;
    }

    void write_headers() {
        std::vector<Elf64_Phdr> segments;
        for (size_t i = 0; i < sections_.size(); i++) {
            const Elf64_Shdr& section = sections_[i];
            put(header_.e_shoff + i * sizeof(Elf64_Shdr), section);
            if (section.sh_addr == 0 || section.sh_size == 0)
                continue;
            Elf64_Phdr segment{};
            segment.p_type = PT_LOAD;
            segment.p_flags =
                PF_R | (section.sh_flags & SHF_WRITE ? PF_W : 0U) | (section.sh_flags & SHF_EXECINSTR ? PF_X : 0U);
            segment.p_offset = section.sh_offset;
            segment.p_vaddr = segment.p_paddr = section.sh_addr;
            // In a debug file, code has only a header, but its addresses are valid.
            bool is_code = section.sh_flags & SHF_EXECINSTR;
            segment.p_memsz = section.sh_size;
            segment.p_filesz = section.sh_type != SHT_NOBITS || is_code ? section.sh_size : 0;
            segments.push_back(segment);
        }
        bytes_.resize(align_up(bytes_.size(), alignof(Elf64_Phdr)));
        header_.e_type = ET_DYN;
        header_.e_phoff = bytes_.size();
        header_.e_phentsize = sizeof(Elf64_Phdr);
        header_.e_phnum = static_cast<uint16_t>(segments.size());
        put(0, header_);
        bytes_.append(reinterpret_cast<const char*>(segments.data()), segments.size() * sizeof(Elf64_Phdr));
    }

    std::string bytes_;
    const DescribeRelocation& describe_;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Shdr> sections_;
    uint64_t outside_ = 0; // symbols of other files have addresses from here on
};

} // namespace

Result<Fd> link_object(const std::string& path, const DescribeRelocation& describe) {
    std::string context = fmt::format("cannot open `{}`", path);
    Result<std::string> bytes = read_file(path);
    if (!bytes)
        return std::move(bytes).error();
    Result<std::string> linked = Linker(*std::move(bytes), describe).link();
    if (!linked)
        return std::move(linked).error().in(context);
    Fd out(memfd_create("linked", MFD_CLOEXEC));
    if (!out)
        return errno_error(context, errno);
    if (Result<void> written = write_all(out.get(), *linked, path); !written)
        return std::move(written).error();
    return out;
}

} // namespace sonde
