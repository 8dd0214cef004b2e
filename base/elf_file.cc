// open() checks the file system and the header before it calls libelf, whose own messages ("invalid `Elf' handle") do
// not help a user. After open() has succeeded, the header, the segments and the section table are within the file.
//
// The files are not trusted: sonde runs as root, and the program may belong to any user. So each offset and size is
// compared with the file's size before use, in a way that cannot overflow (in_file()). A file that is truncated after
// open() can still end sonde by SIGBUS, because libelf maps it.
//
// A 32-bit header has the same fields as a 64-bit one, at other offsets. check_header() copies the necessary ones from
// the former to the latter. So the rest of the checks exist only once.
#include "base/elf_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/byte_cursor.h"
#include "base/check.h"
#include "base/elf_notes.h"

namespace sonde {
namespace {

#if defined(__x86_64__)
constexpr uint16_t host_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t host_machine = EM_AARCH64;
#elif defined(__riscv)
constexpr uint16_t host_machine = EM_RISCV;
#elif defined(__s390x__)
constexpr uint16_t host_machine = EM_S390;
#elif defined(__powerpc64__)
constexpr uint16_t host_machine = EM_PPC64;
#endif

// The machine whose kernel also runs 32-bit programs that sonde can probe.
constexpr uint16_t two_width_machine = EM_X86_64;

std::string name_of(uint16_t machine) {
    switch (machine) {
    case EM_386:
        return "i386";
    case EM_X86_64:
        return "x86-64";
    case EM_ARM:
        return "arm";
    case EM_AARCH64:
        return "arm64";
    case EM_RISCV:
        return "riscv";
    case EM_S390:
        return "s390";
    case EM_PPC:
        return "powerpc";
    case EM_PPC64:
        return "powerpc64";
    case EM_MIPS:
        return "mips";
    case EM_LOONGARCH:
        return "loongarch";
    case EM_BPF:
        return "BPF";
    default:
        return fmt::format("machine {}", machine);
    }
}

// `wanted`: the machine that will run the file.
Error foreign_machine(uint16_t machine, uint16_t wanted) {
    return Error(fmt::format("it is built for {}, but {} {}", name_of(machine),
                             wanted == host_machine ? "this machine is" : "the script is translated for",
                             name_of(wanted)),
                 foreign_program);
}

// Whether [offset, offset + size) is within the file. Cannot overflow.
bool in_file(uint64_t offset, uint64_t size, uint64_t file_size) {
    return offset <= file_size && size <= file_size - offset;
}

// A string in a string table that ends with a NUL.
std::string_view string_at(const Elf_Data& strings, uint64_t offset) {
    if (offset >= strings.d_size)
        return {};
    const char* begin = static_cast<const char*>(strings.d_buf) + offset;
    return {begin, strnlen(begin, strings.d_size - offset)};
}

// The notes of a section or segment, with their numbers in this machine's byte order.
std::string_view build_id_of(const Elf_Data* data) {
    if (!data || !data->d_buf)
        return {};
    return find_build_id({static_cast<const char*>(data->d_buf), data->d_size}, data->d_type == ELF_T_NHDR8 ? 8 : 4);
}

Error truncated_error(const std::string& what) { return Error("the file is truncated: " + what, ENOEXEC); }

} // namespace

void ElfFile::ElfCloser::operator()(Elf* elf) const { elf_end(elf); }

ElfFile::ElfFile(ElfFile&&) noexcept = default;
ElfFile::~ElfFile() = default;

ElfFile& ElfFile::operator=(ElfFile&& other) noexcept {
    if (this == &other)
        return *this;
    // The order of the members would close the old descriptor while the old Elf still maps it. libelf does not mind,
    // but the destructor does it in this order, too.
    elf_ = std::move(other.elf_);
    fd_ = std::move(other.fd_);
    path_ = std::move(other.path_);
    segments_ = std::move(other.segments_);
    sections_ = std::move(other.sections_);
    dynamic_ = other.dynamic_;
    debug_only_ = other.debug_only_;
    entry_ = other.entry_;
    machine_ = other.machine_;
    narrow_ = other.narrow_;
    return *this;
}

Result<ElfFile> ElfFile::open(const std::string& path, Accepted accepted) {
    const std::string context = fmt::format("cannot open `{}`", path);
    // Check the type first, because opening a pipe would block.
    struct stat status{};
    if (stat(path.c_str(), &status) != 0)
        return errno_error(context, errno);
    if (S_ISDIR(status.st_mode))
        return Error(context + ": it is a directory", EISDIR);
    if (!S_ISREG(status.st_mode))
        return Error(context + ": it is not a regular file", EINVAL);
    Result<Fd> fd = open_file(path, O_RDONLY);
    if (!fd)
        return std::move(fd).error();

    // The file may have been replaced in between. From here on, only the descriptor is used.
    return read(*std::move(fd), path, accepted);
}

Result<ElfFile> ElfFile::open_in_memory(Fd file, const std::string& name) {
    return read(std::move(file), name, {.narrow = true, .object = true, .foreign = true});
}

Result<ElfFile> ElfFile::read(Fd fd, const std::string& path, Accepted accepted) {
    CHECK(elf_version(EV_CURRENT) != EV_NONE);
    const std::string context = fmt::format("cannot open `{}`", path);
    ElfFile file;
    file.path_ = path;
    file.fd_ = std::move(fd);
    struct stat status{};
    if (fstat(file.fd_.get(), &status) != 0)
        return errno_error(context, errno);
    auto size = static_cast<uint64_t>(status.st_size);
    if (Result<void> header = file.check_header(size, accepted); !header)
        return std::move(header).error().in(context);
    // The file has a complete header of an ELF program for this machine.
    file.elf_.reset(elf_begin(file.fd_.get(), ELF_C_READ_MMAP, nullptr));
    if (!file.elf_ || elf_kind(file.elf_.get()) != ELF_K_ELF)
        return Error(fmt::format("{}: {}", context, elf_errmsg(-1)), ENOEXEC);
    if (Result<void> sections = file.read_sections(size); !sections)
        return std::move(sections).error().in(context);
    if (Result<void> segments = file.read_segments(size); !segments)
        return std::move(segments).error().in(context);
    return file;
}

Result<ElfFile> ElfFile::open_linked(const std::string& path, const DescribeRelocation& describe) {
    Result<Fd> linked = link_object(path, describe);
    if (!linked)
        return std::move(linked).error();
    return open_in_memory(*std::move(linked), path);
}

Result<void> ElfFile::check_header(uint64_t file_size, Accepted accepted) {
    const uint16_t wanted = accepted.machine ? accepted.machine : host_machine;
    Elf64_Ehdr header{};
    ssize_t got = pread(fd_.get(), &header, sizeof header, 0);
    if (got < 0)
        return errno_error("", errno);
    if (got == 0)
        return Error("it is empty, not an ELF file", ENOEXEC);
    if (got < SELFMAG || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        if (got > 2 && std::memcmp(header.e_ident, "#!", 2) == 0)
            return Error("it is a script, not an ELF file; probe its interpreter", ENOEXEC);
        return Error("it is not an ELF file", ENOEXEC);
    }
    if (got < EI_NIDENT)
        return truncated_error("it ends in the ELF header");
    narrow_ = header.e_ident[EI_CLASS] == ELFCLASS32;
    if (narrow_) {
        Elf32_Ehdr narrow{};
        std::memcpy(&narrow, &header, sizeof narrow);
        const bool runs = accepted.foreign || wanted == two_width_machine;
        if (!accepted.narrow || !runs || narrow.e_machine != EM_386)
            return Error("it is a 32-bit ELF file; only 64-bit programs can be probed", foreign_program);
        if (got < static_cast<ssize_t>(sizeof narrow))
            return truncated_error("it ends in the ELF header");
        got = sizeof header;
        header.e_type = narrow.e_type;
        header.e_machine = wanted;
        header.e_entry = narrow.e_entry;
        header.e_phoff = narrow.e_phoff, header.e_phnum = narrow.e_phnum;
        header.e_shoff = narrow.e_shoff, header.e_shnum = narrow.e_shnum;
    }
    if (got < static_cast<ssize_t>(sizeof header))
        return truncated_error("it ends in the ELF header");
    constexpr unsigned char host_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    if ((header.e_ident[EI_CLASS] != ELFCLASS64 && !narrow_) || header.e_ident[EI_VERSION] != EV_CURRENT)
        return Error("its ELF header is corrupt", ENOEXEC);
    if (header.e_ident[EI_DATA] != host_order)
        return Error("its byte order is not this machine's", foreign_program);
    if (header.e_machine != wanted && !accepted.foreign)
        return foreign_machine(header.e_machine, wanted);
    switch (header.e_type) {
    case ET_EXEC:
    case ET_DYN:
        break;
    case ET_REL:
        if (accepted.object)
            break;
        return Error("it is an object file, not a linked program or library", ENOEXEC);
    case ET_CORE:
        return Error("it is a core file, not a program or library", ENOEXEC);
    default:
        return Error(fmt::format("it is neither a program nor a library (ELF type {})", header.e_type), ENOEXEC);
    }
    if (header.e_phnum > 0 && header.e_phnum != PN_XNUM &&
        !in_file(header.e_phoff, uint64_t{header.e_phnum} * (narrow_ ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr)),
                 file_size))
        return truncated_error("the program headers lie past its end");
    // The section table is usually at the end of a file, so this detects nearly every truncated file.
    if (header.e_shnum > 0 &&
        !in_file(header.e_shoff, uint64_t{header.e_shnum} * (narrow_ ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr)),
                 file_size))
        return truncated_error("the section headers lie past its end");
    dynamic_ = header.e_type == ET_DYN;
    entry_ = header.e_entry;
    machine_ = narrow_ ? EM_386 : header.e_machine;
    return {};
}

std::string ElfFile::machine_name() const { return name_of(machine_); }

Result<void> ElfFile::runs_on(uint16_t machine) const {
    if (machine_ == machine || (narrow_ && machine == two_width_machine))
        return {};
    return foreign_machine(machine_, machine).in(fmt::format("cannot open `{}`", path_));
}

Result<void> ElfFile::read_sections(uint64_t file_size) {
    size_t count = 0, names = 0;
    if (elf_getshdrnum(elf_.get(), &count) != 0)
        return Error(fmt::format("cannot read the section headers: {}", elf_errmsg(-1)), ENOEXEC);
    if (count == 0)
        return {};
    Elf_Data* strings = nullptr;
    if (elf_getshdrstrndx(elf_.get(), &names) == 0 && names != SHN_UNDEF)
        if (Elf_Scn* section = elf_getscn(elf_.get(), names))
            strings = elf_rawdata(section, nullptr);
    sections_.reserve(count);
    for (size_t i = 0; i < count; i++) {
        GElf_Shdr header;
        Elf_Scn* scn = elf_getscn(elf_.get(), i);
        if (!scn || !gelf_getshdr(scn, &header))
            return Error(fmt::format("cannot read section header {}: {}", i, elf_errmsg(-1)), ENOEXEC);
        ElfSection section;
        section.name = strings && strings->d_buf ? string_at(*strings, header.sh_name) : std::string_view();
        section.address = header.sh_addr;
        section.offset = header.sh_offset;
        section.size = header.sh_size;
        section.flags = header.sh_flags;
        section.type = header.sh_type;
        if (section.type == SHT_NOBITS && (section.flags & SHF_EXECINSTR))
            debug_only_ = true;
        if (section.type != SHT_NOBITS && section.type != SHT_NULL && !in_file(section.offset, section.size, file_size))
            return truncated_error(fmt::format("section `{}` ends past its end", section.name));
        sections_.push_back(section);
    }
    return {};
}

Result<void> ElfFile::read_segments(uint64_t file_size) {
    size_t count = 0;
    if (elf_getphdrnum(elf_.get(), &count) != 0)
        return Error(fmt::format("cannot read the program headers: {}", elf_errmsg(-1)), ENOEXEC);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf_.get(), static_cast<int>(i), &header))
            return Error(fmt::format("cannot read program header {}: {}", i, elf_errmsg(-1)), ENOEXEC);
        if (header.p_type != PT_LOAD)
            continue;
        // A debug file has the program's headers, which refer to bytes that it lacks.
        if (!debug_only_ && !in_file(header.p_offset, header.p_filesz, file_size))
            return truncated_error(fmt::format("the segment at {:#x} ends past its end", header.p_vaddr));
        segments_.push_back({header.p_vaddr, header.p_offset, header.p_filesz, header.p_memsz,
                             (header.p_flags & PF_R) != 0, (header.p_flags & PF_W) != 0, (header.p_flags & PF_X) != 0});
    }
    return {};
}

std::string ElfFile::build_id() const {
    // Search sections first: in a debug file, the note section has its bytes, but the segments do not.
    for (size_t i = 1; i < sections_.size(); i++) {
        if (sections_[i].type != SHT_NOTE)
            continue;
        Elf_Scn* scn = elf_getscn(elf_.get(), i);
        if (std::string_view id = build_id_of(elf_getdata(scn, nullptr)); !id.empty())
            return to_hex(id);
    }
    if (debug_only_ || !sections_.empty())
        return "";
    // Search segments: the program has no section table.
    size_t count = 0;
    elf_getphdrnum(elf_.get(), &count);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf_.get(), static_cast<int>(i), &header) || header.p_type != PT_NOTE)
            continue;
        Elf_Data* data = elf_getdata_rawchunk(elf_.get(), static_cast<int64_t>(header.p_offset), header.p_filesz,
                                              header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
        if (std::string_view id = build_id_of(data); !id.empty())
            return to_hex(id);
    }
    return "";
}

std::optional<uint64_t> ElfFile::file_offset(uint64_t address) const {
    for (const ElfSegment& segment : segments_)
        if (address >= segment.address && address - segment.address < segment.file_size)
            return segment.offset + (address - segment.address);
    return std::nullopt;
}

bool ElfFile::same_segment(uint64_t one, uint64_t other) const {
    for (const ElfSegment& segment : segments_)
        if (one >= segment.address && one - segment.address < segment.memory_size)
            return other >= segment.address && other - segment.address < segment.memory_size;
    return false;
}

std::optional<uint64_t> ElfFile::address_of_offset(uint64_t offset) const {
    std::optional<uint64_t> found;
    for (const ElfSegment& segment : segments_) {
        if (offset < segment.offset || offset - segment.offset >= segment.file_size)
            continue;
        if (segment.executable)
            return segment.address + (offset - segment.offset);
        if (!found)
            found = segment.address + (offset - segment.offset);
    }
    return found;
}

const ElfSection* ElfFile::find_section(std::string_view name) const {
    for (const ElfSection& section : sections_)
        if (section.name == name && section.type != SHT_NULL)
            return &section;
    return nullptr;
}

std::string_view ElfFile::section_data(std::string_view name) const {
    const ElfSection* section = find_section(name);
    if (!section || section->type == SHT_NOBITS)
        return {};
    Elf_Data* data = elf_rawdata(elf_getscn(elf_.get(), static_cast<size_t>(section - sections_.data())), nullptr);
    if (!data || !data->d_buf)
        return {};
    return {static_cast<const char*>(data->d_buf), data->d_size};
}

std::optional<DebugLink> ElfFile::debuglink() const {
    // A file name with a NUL, padding to four bytes, and the checksum.
    std::string_view data = section_data(".gnu_debuglink");
    size_t length = data.find('\0');
    if (length == std::string_view::npos || length == 0)
        return std::nullopt;
    size_t at = (length + 1 + 3) & ~size_t{3};
    const std::optional<uint32_t> crc = value_at<uint32_t>(data, at);
    if (!crc)
        return std::nullopt;
    return DebugLink{std::string(data.substr(0, length)), *crc};
}

void ElfFile::for_each_symbol(const std::function<bool(const ElfSymbol&)>& visit) const {
    for (uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
        for (size_t i = 1; i < sections_.size(); i++) {
            GElf_Shdr header;
            Elf_Scn* scn = sections_[i].type == type ? elf_getscn(elf_.get(), i) : nullptr;
            if (!scn || !gelf_getshdr(scn, &header) || header.sh_link >= sections_.size())
                continue;
            Elf_Data* symbols = elf_getdata(scn, nullptr);
            Elf_Data* strings = elf_getdata(elf_getscn(elf_.get(), header.sh_link), nullptr);
            if (!symbols || !symbols->d_buf || !strings || !strings->d_buf)
                continue;
            size_t count = symbols->d_size / (narrow_ ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym));
            for (size_t n = 1; n < count; n++) {
                GElf_Sym entry;
                if (!gelf_getsym(symbols, static_cast<int>(n), &entry))
                    break;
                ElfSymbol symbol;
                symbol.name = string_at(*strings, entry.st_name);
                if (symbol.name.empty())
                    continue;
                symbol.address = entry.st_value;
                symbol.size = entry.st_size;
                symbol.type = GELF_ST_TYPE(entry.st_info);
                symbol.binding = GELF_ST_BIND(entry.st_info);
                symbol.section = entry.st_shndx;
                symbol.dynamic = type == SHT_DYNSYM;
                if (!visit(symbol))
                    return;
            }
        }
    }
}

uint32_t elf_crc32(std::string_view data, uint32_t crc) {
    return static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(data.data()), data.size()));
}

} // namespace sonde
