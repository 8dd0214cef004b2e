// Distributions install debug information apart from programs, and it is easily of another version than the program.
// With the wrong file, sonde would put probes on the wrong instructions. So Finder::accept() compares each candidate
// with the program. It compares the build-ids, which the linker makes from the contents. Without a build-id, it
// compares the candidate's checksum with the one in the program. Rejected files are reported, because the user believes
// that they are the right ones.
//
// Example: for /usr/bin/ls with build-id 1a2b3c..., these are tried:
//     /usr/lib/debug/.build-id/1a/2b3c....debug
//     /usr/bin/NAME, /usr/bin/.debug/NAME, /usr/lib/debug/usr/bin/NAME   (NAME: from .gnu_debuglink)
//     the servers of DEBUGINFOD_URLS
//
// The program may run in a container. Then its path begins with /proc/PID/root, and the debug file can be in the
// container's tree or in ours (trees_of()).
#include "base/debug_file.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "base/debuginfod.h"
#include "base/elf_notes.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/unpack.h"

namespace sonde {
namespace {

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

// A `+` or `-` at the beginning tells stap whether to check the checksum. sonde always checks it.
std::vector<std::string> search_folders() {
    const char* set = std::getenv("SYSTEMTAP_DEBUGINFO_PATH");
    std::string_view rest = set && *set ? set : ":.debug:/usr/lib/debug";
    std::vector<std::string> folders;
    for (bool more = true; more;) {
        size_t colon = rest.find(':');
        more = colon != std::string_view::npos;
        std::string_view one = rest.substr(0, colon);
        if (one.starts_with('+') || one.starts_with('-'))
            one.remove_prefix(1);
        if (std::find(folders.begin(), folders.end(), one) == folders.end())
            folders.emplace_back(one);
        rest = more ? rest.substr(colon + 1) : "";
    }
    return folders;
}

// A process in another mount namespace has its own tree, `/proc/PID/root`. If the file is not there, the same path in
// our tree may have it.
std::vector<std::string> trees_of(const std::string& path) {
    std::string root = process_root(path);
    return root.empty() ? std::vector<std::string>{""} : std::vector<std::string>{root, ""};
}

std::string build_id_path(const std::string& folder, const std::string& build_id) {
    return fmt::format("{}/.build-id/{}/{}.debug", folder, build_id.substr(0, 2), build_id.substr(2));
}

class Finder {
  public:
    Finder(std::string build_id, std::optional<uint32_t> crc, const DebugSearch& search)
        : build_id_(std::move(build_id)), crc_(crc), search_(search) {}

    // Returns the file if it is the debug information of this build.
    std::optional<ElfFile> accept(const std::string& path) {
        if (access(path.c_str(), F_OK) != 0)
            return std::nullopt;
        Result<ElfFile> candidate = ElfFile::open_debug_information(path);
        if (!candidate)
            return note(candidate.error().message);
        if (!has_dwarf(*candidate))
            return std::nullopt;
        std::string other = candidate->build_id();
        if (!build_id_.empty() && other != build_id_)
            return note(
                other.empty()
                    ? fmt::format("`{}` has no build-id, so sonde cannot verify that it belongs to the program", path)
                    : fmt::format("`{}` is from another build: its build-id is {}, not {}", path, other, build_id_));
        if (build_id_.empty() && crc_ && file_crc(candidate->fd()) != crc_)
            return note(fmt::format("`{}` is from another build: its checksum is not the one in .gnu_debuglink", path));
        return *std::move(candidate);
    }

    std::optional<ElfFile> by_build_id(const std::string& program) {
        if (build_id_.size() <= 2)
            return std::nullopt;
        for (const std::string& tree : trees_of(program))
            for (const std::string& folder : search_folders())
                if (folder.starts_with('/'))
                    if (std::optional<ElfFile> found = accept(build_id_path(tree + folder, build_id_)))
                        return found;
        return std::nullopt;
    }

    std::optional<ElfFile> download() {
        if (!search_.may_download || build_id_.empty())
            return std::nullopt;
        Result<std::string> path = download_debug_file(build_id_);
        if (path)
            return accept(*path);
        return path.error().message.empty() ? std::nullopt : note(path.error().message);
    }

  private:
    std::nullopt_t note(std::string problem) {
        if (search_.problems)
            search_.problems->push_back(std::move(problem));
        return std::nullopt;
    }

    std::string build_id_;
    std::optional<uint32_t> crc_;
    const DebugSearch& search_;
};

} // namespace

Result<std::string> running_kernel_build_id() {
    Result<std::string> notes = read_file("/sys/kernel/notes");
    if (!notes)
        return std::move(notes).error();
    std::string build_id = to_hex(find_build_id(*notes));
    return build_id.empty() ? Result<std::string>(Error("the running kernel has no build-id")) : build_id;
}

Result<std::string> running_module_build_id(const std::string& module) {
    Result<std::string> notes = read_file(fmt::format("/sys/module/{}/notes/.note.gnu.build-id", module));
    std::string build_id = notes ? to_hex(find_build_id(*notes)) : "";
    if (build_id.empty())
        return Error(fmt::format("the module `{}` is not loaded, or has no build-id", module));
    return build_id;
}

std::vector<std::string> kernel_debug_paths(const std::string& release, const std::string& build_id) {
    std::vector<std::string> out;
    if (build_id.size() > 2)
        out.push_back(build_id_path("/usr/lib/debug", build_id));
    for (const char* path : {"/usr/lib/debug/boot/vmlinux-{}", "/usr/lib/debug/lib/modules/{}/vmlinux",
                             "/usr/lib/debug/usr/lib/modules/{}/vmlinux", "/lib/modules/{}/build/vmlinux",
                             "/lib/modules/{}/vmlinux", "/boot/vmlinux-{}"})
        out.push_back(fmt::format(fmt::runtime(path), release));
    return out;
}

std::vector<std::string> find_module_debug_files(const std::string& root, const std::string& release,
                                                 const std::string& module, const std::string& build_id) {
    namespace fs = std::filesystem;
    std::vector<std::string> out;
    if (std::string path = root + build_id_path("/usr/lib/debug", build_id); access(path.c_str(), R_OK) == 0)
        out.push_back(std::move(path));
    for (const char* folder : {"/usr/lib/debug/lib/modules/", "/usr/lib/debug/usr/lib/modules/"}) {
        std::error_code error;
        fs::recursive_directory_iterator at(fmt::format("{}{}{}", root, folder, release), error), end;
        for (; !error && at != end; at.increment(error)) {
            std::string name = at->path().filename().string();
            size_t dot = name.find(".ko");
            if (dot == std::string::npos || (name.substr(dot) != ".ko" && name.substr(dot) != ".ko.debug"))
                continue;
            name.resize(dot);
            std::replace(name.begin(), name.end(), '-', '_'); // as in the module's name
            if (name == module)
                out.push_back(at->path().string());
        }
    }
    return out;
}

bool has_dwarf(const ElfFile& file) {
    for (const char* name : {".debug_info", ".zdebug_info"})
        if (const ElfSection* section = file.find_section(name); section && section->type != SHT_NOBITS)
            return true;
    return false;
}

namespace {

// The paths where a file that belongs to the program `own` can be, in the order of the search.
std::vector<std::string> places_of(const std::string& own, const std::string& name) {
    const std::string folder = own.substr(0, own.rfind('/'));
    const std::string root = process_root(own);
    std::vector<std::string> out;
    for (const std::string& place : search_folders()) {
        if (!place.starts_with('/'))
            out.push_back(fmt::format("{}{}/{}", place.empty() ? folder : folder + "/", place, name));
        else
            for (const std::string& tree : trees_of(own))
                out.push_back(fmt::format("{}{}{}/{}", tree, place, folder.substr(root.size()), name));
    }
    return out;
}

} // namespace

std::vector<std::string> find_split_packages(const ElfFile& file) {
    std::vector<std::string> out;
    for (const std::string& own : {file.path(), without_links(file.path())}) {
        const std::string name = own.substr(own.rfind('/') + 1);
        std::vector<std::string> paths = {own + ".dwp"};
        for (const std::string& path : places_of(own, name + ".dwp"))
            paths.push_back(path);
        constexpr std::string_view ending = ".debug";
        if (name.ends_with(ending))
            paths.push_back(own.substr(0, own.size() - ending.size()) + ".dwp");
        for (std::string& path : paths)
            if (access(path.c_str(), F_OK) == 0 && std::find(out.begin(), out.end(), path) == out.end())
                out.push_back(std::move(path));
    }
    return out;
}

std::optional<ElfFile> find_debug_file(const ElfFile& file, const DebugSearch& search) {
    std::optional<DebugLink> link = file.debuglink();
    Finder finder(file.build_id(), link ? std::optional(link->crc) : std::nullopt, search);
    if (std::optional<ElfFile> found = finder.by_build_id(file.path()))
        return found;
    if (link && !link->name.empty() && link->name.find('/') == std::string::npos) {
        const std::string own = without_links(file.path());
        for (const std::string& path : places_of(own, link->name))
            if (path != own)
                if (std::optional<ElfFile> found = finder.accept(path))
                    return found;
    }
    return finder.download();
}

namespace {
// Empty if the section does not exist or is damaged.
std::string_view common_file_name(const ElfFile& file) {
    std::string_view data = file.section_data(".gnu_debugaltlink");
    size_t end = data.find('\0');
    return end == std::string_view::npos ? std::string_view() : data.substr(0, end);
}
} // namespace

std::optional<ElfFile> find_common_file(const ElfFile& file, const DebugSearch& search) {
    std::string_view data = file.section_data(".gnu_debugaltlink");
    const size_t end = common_file_name(file).size();
    if (end == 0)
        return std::nullopt;
    std::string build_id;
    for (unsigned char byte : data.substr(end + 1))
        build_id += fmt::format("{:02x}", byte);
    Finder finder(build_id, std::nullopt, search);
    std::string name(data.substr(0, end));
    const std::string own = without_links(file.path());
    std::string path = name.starts_with('/') ? process_root(own) + name : own.substr(0, own.rfind('/') + 1) + name;
    if (std::optional<ElfFile> found = finder.accept(path))
        return found;
    if (std::optional<ElfFile> found = finder.by_build_id(file.path()))
        return found;
    if (std::optional<ElfFile> found = finder.download())
        return found;
    if (search.problems)
        search.problems->push_back(
            fmt::format("`{}` has a part of its debug information in `{}`, which does not exist", file.path(), name));
    return std::nullopt;
}

std::optional<ElfFile> open_named_common_file(const ElfFile& file) {
    const std::string name(common_file_name(file));
    const std::string own = without_links(file.path());
    if (name.empty())
        return std::nullopt;
    Result<ElfFile> opened = ElfFile::open_debug_information(
        name.starts_with('/') ? process_root(own) + name : own.substr(0, own.rfind('/') + 1) + name);
    return opened ? std::optional(*std::move(opened)) : std::nullopt;
}

std::optional<ElfFile> open_packed_symbols(const ElfFile& file, const DebugSearch& search) {
    std::string_view packed = file.section_data(".gnu_debugdata");
    if (packed.empty())
        return std::nullopt;
    Result<Fd> unpacked = unpack(packed, unpacked_limit(packed.size()));
    if (!unpacked && unpacked.error().os_error == EFBIG && search.problems)
        search.problems->push_back(
            fmt::format("the packed symbols of `{}` (.gnu_debugdata): {}", file.path(), unpacked.error().message));
    if (!unpacked)
        return std::nullopt;
    Result<ElfFile> opened = ElfFile::open_in_memory(*std::move(unpacked), file.path());
    return opened ? std::optional(*std::move(opened)) : std::nullopt;
}

} // namespace sonde
