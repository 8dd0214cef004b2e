#include "base/debug_file.h"

#include <elf.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "base/fd.h"

namespace sonde {
namespace {

constexpr const char* debug_root = "/usr/lib/debug";

std::optional<uint32_t> file_crc(int fd) {
    std::vector<char> buffer(1 << 16);
    uint32_t crc = 0;
    for (off_t offset = 0;;) {
        ssize_t got = pread(fd, buffer.data(), buffer.size(), offset);
        if (got < 0)
            return std::nullopt;
        if (got == 0)
            return crc;
        crc = elf_crc32(std::string_view(buffer.data(), static_cast<size_t>(got)), crc);
        offset += got;
    }
}

} // namespace

Result<std::string> running_kernel_build_id() {
    Result<std::string> notes = read_file("/sys/kernel/notes");
    if (!notes)
        return std::move(notes).error();
    // Each note: the sizes of its name and its contents and its type, then both, padded to 4 bytes (elf(5)).
    auto padded = [](size_t size) { return (size + 3) & ~size_t{3}; };
    for (size_t at = 0; notes->size() - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr note;
        std::memcpy(&note, notes->data() + at, sizeof note);
        size_t name = at + sizeof note, contents = name + padded(note.n_namesz), end = contents + padded(note.n_descsz);
        if (end > notes->size())
            break;
        if (note.n_type == NT_GNU_BUILD_ID && notes->compare(name, 4, "GNU\0", 4) == 0) {
            std::string out;
            for (size_t i = 0; i < note.n_descsz; i++)
                out += fmt::format("{:02x}", static_cast<unsigned char>((*notes)[contents + i]));
            return out;
        }
        at = end;
    }
    return Error("the running kernel does not say which build it is");
}

std::vector<std::string> kernel_debug_paths(const std::string& release, const std::string& build_id) {
    std::vector<std::string> out;
    if (build_id.size() > 2)
        out.push_back(fmt::format("{}/.build-id/{}/{}.debug", debug_root, build_id.substr(0, 2), build_id.substr(2)));
    for (const char* path : {"/usr/lib/debug/boot/vmlinux-{}", "/usr/lib/debug/lib/modules/{}/vmlinux",
                             "/usr/lib/debug/usr/lib/modules/{}/vmlinux", "/lib/modules/{}/build/vmlinux",
                             "/lib/modules/{}/vmlinux", "/boot/vmlinux-{}"})
        out.push_back(fmt::format(fmt::runtime(path), release));
    return out;
}

bool has_dwarf(const ElfFile& file) {
    for (const char* name : {".debug_info", ".zdebug_info"})
        if (const ElfSection* section = file.find_section(name); section && section->type != SHT_NOBITS)
            return true;
    return false;
}

std::optional<ElfFile> find_debug_file(const ElfFile& file) {
    const std::string build_id = file.build_id();
    // Returns the candidate if it is the debug information of this very build.
    auto accept = [&](const std::string& path, std::optional<uint32_t> crc) -> std::optional<ElfFile> {
        if (access(path.c_str(), R_OK) != 0)
            return std::nullopt;
        Result<ElfFile> candidate = ElfFile::open(path);
        if (!candidate || !has_dwarf(*candidate))
            return std::nullopt;
        if (!build_id.empty() ? candidate->build_id() != build_id : crc && file_crc(candidate->fd()) != crc)
            return std::nullopt;
        return *std::move(candidate);
    };
    if (build_id.size() > 2) {
        std::string path =
            fmt::format("{}/.build-id/{}/{}.debug", debug_root, build_id.substr(0, 2), build_id.substr(2));
        if (std::optional<ElfFile> found = accept(path, std::nullopt))
            return found;
    }
    std::optional<DebugLink> link = file.debuglink();
    if (!link || link->name.empty() || link->name.find('/') != std::string::npos)
        return std::nullopt;
    std::unique_ptr<char, decltype(&free)> real(realpath(file.path().c_str(), nullptr), free);
    const std::string own = real ? real.get() : file.path();
    const std::string folder = own.substr(0, own.rfind('/'));
    for (const std::string& path :
         {fmt::format("{}/{}", folder, link->name), fmt::format("{}/.debug/{}", folder, link->name),
          fmt::format("{}{}/{}", debug_root, folder, link->name)})
        if (path != own)
            if (std::optional<ElfFile> found = accept(path, link->crc))
                return found;
    return std::nullopt;
}

} // namespace sonde
