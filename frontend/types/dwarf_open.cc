// Opening a module: ELF headers, symbols, and where its debug information is.
//
// Debug information is looked for inside the file, then by build-id in the system's debug folder, then by the name and
// checksum in .gnu_debuglink, as GDB documents it ("Debugging Information in Separate Files"). A candidate counts only if
// it is for the very same build. dwz's common file (.gnu_debugaltlink) is found by libdw itself.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>
#include <fmt/format.h>

#include "frontend/types/dwarf_impl.h"

namespace sonde {
namespace {

constexpr const char* debug_root = "/usr/lib/debug";

Error system_error(const std::string& path, int err) {
    return Error(fmt::format("cannot open `{}`: {}", path, strerror(err)), err);
}

// Every table that the ELF header names must lie inside the file; libelf would find out much later, one by one.
Result<void> check_headers(Elf* elf, const std::string& path, uint64_t size) {
    GElf_Ehdr header;
    if (!gelf_getehdr(elf, &header))
        return Error(fmt::format("`{}` has a corrupt ELF header", path));
    if (header.e_machine != EM_X86_64 || gelf_getclass(elf) != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
        const char* machine = dwelf_elf_e_machine_string(header.e_machine);
        return Error(fmt::format("`{}` is for another machine ({})", path, machine ? machine : "unknown"));
    }
    auto inside = [&](uint64_t offset, uint64_t length) { return offset <= size && length <= size - offset; };
    if (!inside(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)) ||
        !inside(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)))
        return Error(fmt::format("`{}` is truncated", path));
    return {};
}

// The checksum of .gnu_debuglink: CRC-32 as in gzip.
std::optional<uint32_t> file_crc(int fd) {
    static const std::array<uint32_t, 256> table = [] {
        std::array<uint32_t, 256> entries{};
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t value = i;
            for (int bit = 0; bit < 8; bit++)
                value = value & 1 ? 0xedb88320 ^ value >> 1 : value >> 1;
            entries[i] = value;
        }
        return entries;
    }();
    uint32_t crc = ~uint32_t{0};
    std::vector<unsigned char> buffer(1 << 16);
    for (off_t offset = 0;;) {
        ssize_t got = pread(fd, buffer.data(), buffer.size(), offset);
        if (got < 0)
            return std::nullopt;
        if (got == 0)
            return ~crc;
        for (ssize_t i = 0; i < got; i++)
            crc = table[(crc ^ buffer[i]) & 0xff] ^ crc >> 8;
        offset += got;
    }
}

bool has_dwarf(const ElfImage& image) { return image.section(".debug_info") || image.section(".zdebug_info"); }

} // namespace

ElfImage& ElfImage::operator=(ElfImage&& other) noexcept {
    std::swap(path, other.path);
    std::swap(fd, other.fd);
    std::swap(elf, other.elf);
    return *this;
}

ElfImage::~ElfImage() {
    if (elf)
        elf_end(elf);
    if (fd >= 0)
        close(fd);
}

Result<ElfImage> ElfImage::open(const std::string& path) {
    elf_version(EV_CURRENT);
    ElfImage image;
    image.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (image.fd < 0)
        return system_error(path, errno);
    struct stat status;
    if (fstat(image.fd, &status) != 0)
        return system_error(path, errno);
    if (!S_ISREG(status.st_mode))
        return Error(fmt::format("`{}` is not a regular file", path));
    std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), free);
    image.path = real ? real.get() : path;
    image.elf = elf_begin(image.fd, ELF_C_READ_MMAP_PRIVATE, nullptr);
    if (!image.elf || elf_kind(image.elf) != ELF_K_ELF)
        return Error(fmt::format("`{}` is not an ELF file", path));
    Result<void> headers = check_headers(image.elf, path, static_cast<uint64_t>(status.st_size));
    if (!headers)
        return std::move(headers).error();
    return image;
}

std::string ElfImage::build_id() const {
    const void* bytes = nullptr;
    ssize_t size = elf ? dwelf_elf_gnu_build_id(elf, &bytes) : 0;
    std::string hex;
    for (ssize_t i = 0; i < size; i++)
        hex += fmt::format("{:02x}", static_cast<const unsigned char*>(bytes)[i]);
    return hex;
}

Elf_Scn* ElfImage::section(const char* name) const {
    size_t strings;
    if (!elf || elf_getshdrstrndx(elf, &strings) != 0)
        return nullptr;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
            continue;
        const char* found = elf_strptr(elf, strings, header.sh_name);
        if (found && strcmp(found, name) == 0)
            return section;
    }
    return nullptr;
}

DwarfReader::~DwarfReader() {
    if (eh_frame_)
        dwarf_cfi_end(eh_frame_);
    if (dwarf_)
        dwarf_end(dwarf_);
}

Result<void> DwarfReader::open(const std::string& path) {
    Result<ElfImage> image = ElfImage::open(path);
    if (!image)
        return std::move(image).error();
    main_ = *std::move(image);
    build_id_ = main_.build_id();
    GElf_Ehdr header;
    if (!gelf_getehdr(main_.elf, &header))
        return Error(fmt::format("`{}` has a corrupt ELF header", path));
    type_ = header.e_type;
    load_segments();
    struct stat status;
    if (fstat(main_.fd, &status) != 0)
        return system_error(path, errno);
    uint64_t size = static_cast<uint64_t>(status.st_size);
    for (const Segment& segment : segments_)
        if (segment.file_offset > size || segment.file_size > size - segment.file_offset)
            return Error(fmt::format("`{}` is truncated", path));
    return {};
}

void DwarfReader::load_segments() {
    size_t count = 0;
    if (elf_getphdrnum(main_.elf, &count) != 0)
        return;
    bool is_program = type_ == ET_EXEC;
    std::optional<GElf_Phdr> thread_local_segment;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(main_.elf, static_cast<int>(i), &header))
            continue;
        if (header.p_type == PT_LOAD)
            segments_.push_back({header.p_vaddr, header.p_memsz, header.p_filesz, header.p_offset,
                                 (header.p_flags & PF_X) != 0});
        else if (header.p_type == PT_TLS)
            thread_local_segment = header;
        else if (header.p_type == PT_DYNAMIC) {
            // A position independent program says so; a shared library with an interpreter (libc) does not.
            Elf_Data* data = elf_getdata_rawchunk(main_.elf, static_cast<int64_t>(header.p_offset), header.p_filesz,
                                                  ELF_T_DYN);
            GElf_Dyn entry;
            for (int n = 0; data && gelf_getdyn(data, n, &entry) && entry.d_tag != DT_NULL; n++)
                if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE))
                    is_program = true;
        }
    }
    if (is_program && thread_local_segment) {
        // x86-64 is "variant II" (Drepper, ELF Handling for Thread-Local Storage, section 3.4.6): the program's block
        // ends at the thread pointer, aligned.
        uint64_t align = std::max<uint64_t>(thread_local_segment->p_align, 1);
        uint64_t size = thread_local_segment->p_memsz;
        if ((align & (align - 1)) == 0 && align <= (1 << 20) && size <= (1 << 30)) {
            uint64_t skew = (0 - thread_local_segment->p_vaddr - size) & (align - 1);
            thread_local_bias_ = -static_cast<int64_t>(size + skew);
        }
    }
}

std::optional<int64_t> DwarfReader::thread_local_bias() { return thread_local_bias_; }

std::optional<uint64_t> DwarfReader::file_offset(Address address) const {
    for (const Segment& segment : segments_)
        if (segment.executable && address >= segment.address && address - segment.address < segment.file_size)
            return address - segment.address + segment.file_offset;
    return std::nullopt;
}

bool DwarfReader::has_debug_info() {
    if (!debug_searched_) {
        debug_searched_ = true;
        if (!has_dwarf(main_))
            debug_ = find_debug_file();
    }
    return debug_.elf || has_dwarf(main_);
}

ElfImage DwarfReader::find_debug_file() {
    // Returns the image if it is the debug information of this very build.
    auto accept = [&](const std::string& path, std::optional<uint32_t> crc) -> std::optional<ElfImage> {
        if (access(path.c_str(), R_OK) != 0)
            return std::nullopt;
        Result<ElfImage> image = ElfImage::open(path);
        if (!image || !has_dwarf(*image))
            return std::nullopt;
        if (!build_id_.empty() ? image->build_id() != build_id_ : crc && file_crc(image->fd) != crc)
            return std::nullopt;
        return *std::move(image);
    };
    if (build_id_.size() > 2) {
        std::string path = fmt::format("{}/.build-id/{}/{}.debug", debug_root, build_id_.substr(0, 2),
                                       build_id_.substr(2));
        if (std::optional<ElfImage> image = accept(path, std::nullopt))
            return *std::move(image);
    }
    GElf_Word crc = 0;
    const char* link = dwelf_elf_gnu_debuglink(main_.elf, &crc);
    if (link && *link && !strchr(link, '/')) {
        std::string folder = main_.path.substr(0, main_.path.rfind('/'));
        for (const std::string& path : {fmt::format("{}/{}", folder, link), fmt::format("{}/.debug/{}", folder, link),
                                        fmt::format("{}{}/{}", debug_root, folder, link)})
            if (path != main_.path)
                if (std::optional<ElfImage> image = accept(path, crc))
                    return *std::move(image);
    }
    return {};
}

Dwarf* DwarfReader::dwarf() {
    if (!dwarf_opened_) {
        dwarf_opened_ = true;
        if (has_debug_info())
            dwarf_ = dwarf_begin_elf(debug_.elf ? debug_.elf : main_.elf, DWARF_C_READ, nullptr);
        if (dwarf_)
            dwarfs_.push_back(dwarf_);
    }
    return dwarf_;
}

const std::vector<Symbol>& DwarfReader::symbols() {
    if (symbols_loaded_)
        return symbols_;
    symbols_loaded_ = true;
    has_debug_info(); // so that the debug file's symbol table is there
    for (const ElfImage* image : {&main_, &debug_}) {
        if (!image->elf)
            continue;
        for (Elf_Scn* section = nullptr; (section = elf_nextscn(image->elf, section));) {
            GElf_Shdr header;
            if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
                continue;
            Elf_Data* data = elf_getdata(section, nullptr);
            size_t count = data && header.sh_entsize ? data->d_size / sizeof(Elf64_Sym) : 0;
            for (size_t i = 0; i < count; i++) {
                GElf_Sym symbol;
                // STT_GNU_IFUNC is a resolver, not the function; an undefined symbol is an import (PLT).
                if (!gelf_getsym(data, static_cast<int>(i), &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
                    symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0)
                    continue;
                const char* name = elf_strptr(image->elf, header.sh_link, symbol.st_name);
                if (name && *name && is_executable(symbol.st_value))
                    symbols_.push_back({name, symbol.st_value, symbol.st_size,
                                        GELF_ST_BIND(symbol.st_info) != STB_LOCAL});
            }
        }
    }
    std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
        return a.address != b.address ? a.address < b.address : strcmp(a.name, b.name) < 0;
    });
    auto same = [](const Symbol& a, const Symbol& b) { return a.address == b.address && strcmp(a.name, b.name) == 0; };
    symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), same), symbols_.end());
    return symbols_;
}

// The public interface: every call goes to the reader.

DwarfModule::DwarfModule(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DwarfModule::~DwarfModule() = default;

Result<std::unique_ptr<DwarfModule>> DwarfModule::open(const std::string& path) {
    std::unique_ptr<Impl> impl = std::make_unique<Impl>();
    Result<void> opened = impl->open(path);
    if (!opened)
        return std::move(opened).error();
    return std::unique_ptr<DwarfModule>(new DwarfModule(std::move(impl)));
}

const std::string& DwarfModule::path() const { return impl_->path(); }
const std::string& DwarfModule::build_id() const { return impl_->build_id(); }
bool DwarfModule::has_debug_info() const { return impl_->has_debug_info(); }
bool DwarfModule::position_independent() const { return impl_->position_independent(); }
std::vector<FunctionInstance> DwarfModule::functions(const FunctionPattern& pattern) { return impl_->functions(pattern); }
std::vector<Statement> DwarfModule::statements(const FunctionPattern& pattern) { return impl_->statements(pattern); }
std::optional<Statement> DwarfModule::statement_at(Address address) { return impl_->statement_at(address); }
std::vector<std::string> DwarfModule::function_names() { return impl_->function_names(); }
std::vector<std::string> DwarfModule::source_files() { return impl_->source_files(); }
std::vector<int> DwarfModule::statement_lines(std::string_view file) { return impl_->statement_lines(file); }
std::vector<Variable> DwarfModule::variables_at(Address address, bool globals) {
    return impl_->variables_at(address, globals);
}
std::vector<Variable> DwarfModule::variables_in(const FunctionInstance& function, Address address, bool globals) {
    return impl_->variables_in(function, address, globals);
}
std::vector<Variable> DwarfModule::parameters(const FunctionInstance& function) { return impl_->parameters(function); }
Location DwarfModule::locate(const Variable& variable, Address address) { return impl_->locate(variable, address); }
std::optional<Address> DwarfModule::global_address(const Variable& variable) { return impl_->global_address(variable); }
const Type* DwarfModule::result_type(const FunctionInstance& function) { return impl_->result_type(function); }
Location DwarfModule::result_location(const FunctionInstance& function) { return impl_->result_location(function); }
std::optional<uint64_t> DwarfModule::file_offset(Address address) const { return impl_->file_offset(address); }

} // namespace sonde
