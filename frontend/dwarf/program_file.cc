#include "frontend/dwarf/program_file.h"

#include <elf.h>
#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "base/path.h"

namespace sonde {

// The place of thread-local variables is read now, because it needs the relocations, which are in memory at this time.
Result<ProgramFile> ProgramFile::open(const std::string& path, bool object) {
    const auto describe = [](uint16_t machine, uint32_t type) {
        const Architecture* architecture = architecture_of(machine, false);
        return architecture ? architecture->object_relocation(type) : ObjectRelocation::Unknown;
    };
    Result<ElfFile> file = object ? ElfFile::open_linked(path, describe) : ElfFile::open_any_machine(path);
    if (!file)
        return std::move(file).error();
    if (file->is_32_bit() && file->find_section(".gopclntab"))
        return Error(
            fmt::format("cannot open `{}`: it is a 32-bit program of Go; only 64-bit ones can be probed", path),
            foreign_program);
    const Architecture* architecture = architecture_of(file->machine(), file->is_32_bit());
    if (!architecture)
        return Error(fmt::format("cannot open `{}`: it is built for {}, which sonde does not support", path,
                                 file->machine_name()),
                     foreign_program);
    ProgramFile out(*std::move(file), *architecture);
    out.path_ = without_links(path);
    out.build_id_ = out.elf_.build_id();
    std::optional<ThreadBlock> block = out.is_32_bit() ? std::nullopt : find_thread_block(out.elf_);
    out.thread_block_size_ = block ? block->size : 0;
    if (block && block->distance)
        out.thread_distance_ = block->distance;
    else if (block)
        out.thread_slot_ = find_thread_slot(out.elf_);
    return out;
}

std::optional<uint64_t> ProgramFile::file_offset(Address address) const {
    for (const ElfSegment& segment : elf_.segments())
        if (segment.executable && address >= segment.address && address - segment.address < segment.file_size)
            return address - segment.address + segment.offset;
    return std::nullopt;
}

// Sections without bytes in the file (.bss) do not count.
const ElfSection* ProgramFile::section_at(Address address) const {
    for (const ElfSection& section : elf_.sections())
        if ((section.flags & SHF_ALLOC) && section.type != SHT_NOBITS && address >= section.address &&
            address - section.address < section.size)
            return &section;
    return nullptr;
}

bool ProgramFile::is_in_section(Address address) const {
    return elf_.sections().empty() || std::ranges::any_of(elf_.sections(), [&](const ElfSection& section) {
               return (section.flags & SHF_ALLOC) && !(section.flags & SHF_TLS) && address >= section.address &&
                      address - section.address <= section.size;
           });
}

std::string ProgramFile::code(Address low, Address high) const {
    std::optional<uint64_t> offset = file_offset(low);
    constexpr uint64_t max_bytes = 16 << 20;
    if (!offset || high <= low || high - low > max_bytes)
        return {};
    std::string bytes(high - low, '\0');
    ssize_t got = pread(fd(), bytes.data(), bytes.size(), static_cast<off_t>(*offset));
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return bytes;
}

std::string ProgramFile::data(Address address, size_t size) const {
    std::string bytes(size, '\0');
    const std::optional<uint64_t> offset = elf_.file_offset(address);
    const ssize_t got = offset ? pread(fd(), bytes.data(), size, static_cast<off_t>(*offset)) : 0;
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return bytes;
}

const std::vector<PltEntry>& ProgramFile::plt() {
    if (!plt_)
        plt_ = read_plt(elf_);
    return *plt_;
}

const std::vector<UsdtMark>& ProgramFile::marks() {
    if (!marks_)
        marks_ = read_usdt_marks(elf_);
    return *marks_;
}

} // namespace sonde
