// Finds the files of an installed kernel.
//
// The bootable file consists of a loader and a compressed payload. The setup header gives the payload's offset, counted
// from the end of the loader (Documentation/arch/x86/boot.rst):
//
//     0x1f1    setup_sects: size of the loader in units of 512 bytes, minus 1; 0 means 4
//     0x202    "HdrS"
//     0x206    version of the header; 2.08 introduced the payload
//     0x248    payload_offset
//
// The payload is an ELF image, compressed by one of the formats in base/unpack.h. It has no debug information, but the
// section .BTF, because the kernel itself needs this.
//
// Other architectures boot a flat image, the kernel's memory without ELF headers
// (Documentation/arch/arm64/booting.rst). It can be compressed as a whole, or be the payload of a program for EFI,
// which has "zimg" and the payload's offset at its beginning (drivers/firmware/efi/libstub/zboot-header.S). The types
// are found there by the header of BTF, whose sizes must fit the image. The kernel's notes, which contain its build-id,
// come right before the types (include/asm-generic/vmlinux.lds.h).
//
// The kernel's release is not in a header. It is in the text that the kernel prints when it starts.
#include "base/kernel_files.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/byte_cursor.h"
#include "base/debug_file.h"
#include "base/elf_file.h"
#include "base/elf_notes.h"
#include "base/fd.h"
#include "base/unpack.h"

namespace sonde {
namespace {

using std::string_view;
namespace fs = std::filesystem;

bool is_btf(string_view bytes) {
    constexpr uint16_t magic = BTF_MAGIC;
    return bytes.size() >= sizeof magic && std::memcmp(bytes.data(), &magic, sizeof magic) == 0;
}

struct Contents {
    std::string types, release, build_id;
};

// Reads the release from "Linux version RELEASE (..." (init/version-timestamp.c).
std::string release_of(string_view constants) {
    constexpr string_view banner = "Linux version ";
    for (size_t at = constants.find(banner); at != string_view::npos; at = constants.find(banner, at + 1)) {
        size_t begin = at + banner.size(), end = constants.find(' ', begin);
        if (end != string_view::npos && end > begin && end - begin < 65 && constants[begin] >= '0' &&
            constants[begin] <= '9')
            return std::string(constants.substr(begin, end - begin));
    }
    return "";
}

Result<Contents> read_elf(const Result<ElfFile>& file, const std::string& name) {
    if (!file)
        return Error(fmt::format("`{}` is not an image of a kernel", name));
    string_view types = file->section_data(".BTF");
    if (types.empty())
        return Error(fmt::format("`{}` does not have the kernel's types (section .BTF)", name));
    return Contents{std::string(types), release_of(file->section_data(".rodata")), file->build_id()};
}

// The offset of the compressed kernel in a bootable image; 0 if it is not such an image.
uint64_t payload_offset(string_view image) {
    if (image.size() > 16 && image.substr(4, 4) == "zimg")
        return value_at<uint32_t>(image, 8).value_or(0);
    constexpr size_t setup_sectors = 0x1f1, magic = 0x202, version = 0x206, payload = 0x248;
    if (image.size() < 0x250 || image.substr(magic, 4) != "HdrS" || static_cast<uint8_t>(image[version]) < 8)
        return 0;
    const uint32_t offset = value_at<uint32_t>(image, payload).value_or(0);
    uint64_t sectors = static_cast<uint8_t>(image[setup_sectors]);
    return ((sectors ? sectors : 4) + 1) * 512 + offset;
}

// The BTF at this place of a flat image; empty if there is none.
string_view btf_at(string_view image, size_t at) {
    btf_header header{};
    if (at % sizeof(uint32_t) != 0 || image.size() - at < sizeof header)
        return {};
    std::memcpy(&header, image.data() + at, sizeof header);
    const uint64_t size = uint64_t{header.hdr_len} + header.str_off + header.str_len;
    constexpr uint64_t least = 1 << 16; // the kernel has more types
    return header.version == BTF_VERSION && header.hdr_len >= sizeof header && header.str_off >= header.type_len &&
                   size >= least && size <= image.size() - at
               ? image.substr(at, size)
               : string_view();
}

// Reads a flat image. Empty if this is not one.
std::optional<Contents> read_flat(string_view image) {
    constexpr uint16_t magic = BTF_MAGIC;
    const string_view wanted(reinterpret_cast<const char*>(&magic), sizeof magic);
    for (size_t at = image.find(wanted); at != string_view::npos; at = image.find(wanted, at + 1)) {
        const string_view types = btf_at(image, at);
        if (types.empty())
            continue;
        // The notes of other programs, such as the vDSO, are farther away.
        constexpr string_view build_id_note("\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0", 16);
        constexpr size_t id_size = 20, most_before = 1 << 16;
        const size_t note = image.substr(0, at).rfind(build_id_note);
        const bool has_id = note != string_view::npos && at - note <= most_before;
        return Contents{std::string(types), release_of(image),
                        has_id ? to_hex(image.substr(note + build_id_note.size(), id_size)) : ""};
    }
    return std::nullopt;
}

// Whether the file at `path` begins as ELF files do.
bool is_elf(const std::string& path) {
    const Result<Fd> file = open_file(path, O_RDONLY);
    char magic[SELFMAG];
    return file.ok() && pread(file->get(), magic, sizeof magic, 0) == SELFMAG && string_view(magic, SELFMAG) == ELFMAG;
}

// Reads an ELF file, a compressed one, a bootable image, or BTF. An ELF file is not read as a whole: with debug
// information it has hundreds of megabytes.
Result<Contents> read_contents(const std::string& path) {
    if (is_elf(path))
        return read_elf(ElfFile::open_debug_information(path), path);
    Result<std::string> bytes = read_file(path);
    if (!bytes)
        return std::move(bytes).error();
    if (is_btf(*bytes))
        return Contents{*std::move(bytes), "", ""};
    const uint64_t offset = is_packed(*bytes) ? 0 : payload_offset(*bytes);
    string_view packed = string_view(*bytes).substr(std::min<uint64_t>(offset, bytes->size()));
    if (offset == 0 && !is_packed(packed)) {
        if (std::optional<Contents> flat = read_flat(packed))
            return *std::move(flat);
        return read_elf(ElfFile::open_debug_information(path), path);
    }
    Result<Fd> unpacked = unpack(packed, unpacked_limit(packed.size()));
    if (!unpacked)
        return std::move(unpacked).error().in(fmt::format("cannot unpack `{}`", path));
    lseek(unpacked->get(), 0, SEEK_SET);
    if (const Result<std::string> image = read_all(unpacked->get(), path); image && !image->starts_with(ELFMAG))
        if (std::optional<Contents> flat = read_flat(*image))
            return *std::move(flat);
    return read_elf(ElfFile::open_in_memory(*std::move(unpacked), path), path);
}

// "/x" for "/x/boot/vmlinuz-6.1": the part before a folder in which kernels are installed.
std::string root_of(const std::string& path) {
    for (const char* folder : {"/usr/lib/debug/", "/usr/lib/modules/", "/lib/modules/", "/boot/"})
        if (size_t at = path.find(folder); at != std::string::npos)
            return path.substr(0, at);
    return "";
}

// "xfs" for "xfs.ko.xz". A `-` becomes a `_`, as in the module's name.
std::string module_name(const std::string& file) {
    size_t end = file.find(".ko");
    if (end == std::string::npos || (end + 3 != file.size() && file[end + 3] != '.') || file.ends_with(".debug"))
        return "";
    std::string name = file.substr(0, end);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

void find_modules(KernelFiles& kernel) {
    std::error_code error;
    if (kernel.release.empty()) { // BTF only: files of modules are next to it
        if (fs::path(kernel.path).filename() != "vmlinux")
            return;
        for (const auto& entry : fs::directory_iterator(fs::path(kernel.path).parent_path(), error))
            if (entry.path().filename() != "vmlinux" && entry.is_regular_file(error))
                kernel.modules.emplace(entry.path().filename().string(), entry.path().string());
        return;
    }
    for (const char* folder : {"/lib/modules/", "/usr/lib/modules/"}) {
        fs::recursive_directory_iterator at(kernel.root + folder + kernel.release + "/kernel", error), end;
        for (; !error && at != end; at.increment(error))
            if (std::string name = module_name(at->path().filename().string()); !name.empty())
                kernel.modules.emplace(std::move(name), at->path().string());
    }
}

Result<KernelFiles> read_kernel(const std::string& path) {
    Result<Contents> contents = read_contents(path);
    if (!contents)
        return std::move(contents).error();
    KernelFiles kernel;
    kernel.path = path;
    kernel.types = std::move(contents->types);
    kernel.release = std::move(contents->release);
    kernel.build_id = std::move(contents->build_id);
    std::error_code error;
    kernel.root = root_of(fs::absolute(path, error).string());
    find_modules(kernel);
    return kernel;
}

} // namespace

namespace {
Result<std::string> read_module(const KernelFiles& kernel, const std::string& name, std::string Contents::* part) {
    auto found = kernel.modules.find(name);
    if (found == kernel.modules.end())
        return Error(fmt::format("`{}` has no module `{}`", kernel.path, name));
    Result<Contents> contents = read_contents(found->second);
    if (!contents)
        return std::move(contents).error();
    return std::move((*contents).*part);
}
} // namespace

Result<std::string> KernelFiles::module_types(const std::string& name) const {
    return read_module(*this, name, &Contents::types);
}

Result<std::string> KernelFiles::module_build_id(const std::string& name) const {
    return read_module(*this, name, &Contents::build_id);
}

std::vector<std::string> KernelFiles::debug_paths() const {
    std::vector<std::string> out = {path};
    for (const std::string& from : {root, std::string()})
        for (const std::string& candidate : kernel_debug_paths(release, build_id))
            out.push_back(from + candidate);
    return out;
}

Result<KernelFiles> find_kernel_files(const std::string& given) {
    std::error_code error;
    if (given.find('/') != std::string::npos || fs::exists(given, error)) {
        std::string path = fs::is_directory(given, error) ? given + "/vmlinux" : given;
        return read_kernel(path);
    }
    std::string looked;
    for (const char* place :
         {"/lib/modules/{}/build/vmlinux", "/lib/modules/{}/vmlinux", "/usr/lib/debug/boot/vmlinux-{}",
          "/usr/lib/debug/lib/modules/{}/vmlinux", "/usr/lib/debug/usr/lib/modules/{}/vmlinux", "/boot/vmlinux-{}",
          "/boot/vmlinuz-{}", "/lib/modules/{}/vmlinuz"}) {
        std::string path = fmt::format(fmt::runtime(place), given);
        looked += "\n  " + path;
        if (access(path.c_str(), R_OK) != 0)
            continue;
        Result<KernelFiles> kernel = read_kernel(path);
        if (kernel)
            return kernel;
        looked += fmt::format(": {}", kernel.error().message);
    }
    return Error(fmt::format("the types of kernel {} are not installed; searched{}\n  pass a file: `-r FILE`, where "
                             "FILE is that kernel's vmlinux, vmlinuz, or a copy of its /sys/kernel/btf/vmlinux",
                             given, looked));
}

std::vector<std::string> installed_kernels() {
    std::set<std::string> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/boot", error))
        for (string_view prefix : {"vmlinuz-", "vmlinux-"})
            if (const std::string name = entry.path().filename().string(); name.starts_with(prefix))
                found.insert(name.substr(prefix.size()));
    for (const char* folder : {"/lib/modules", "/usr/lib/modules"})
        for (const auto& entry : fs::directory_iterator(folder, error))
            if (entry.is_directory(error))
                found.insert(entry.path().filename().string());
    return {found.begin(), found.end()};
}

} // namespace sonde
