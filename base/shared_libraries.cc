// An object's dynamic section lists the libraries that it needs (System V ABI, chapter 5, "Dynamic Section"). ld.so(8)
// describes where they are searched. The cache has glibc's format 1.1, which ldconfig(8) has written since 2.2: a
// header of 48 bytes, then entries of 24 bytes with the offsets of a name and a path.
//
// The loader itself is not asked (`LD_TRACE_LOADED_OBJECTS`, as ldd(1) does), because that runs the program's
// interpreter with the rights of sonde, and the program may be anyone's.
//
// A folder of an object's DT_RPATH also applies to the objects that it needs, but DT_RUNPATH applies to the object
// only. So the search carries the inherited DT_RPATHs with each object. For a program in a container, all paths are
// below /proc/PID/root, and absolute symbolic links lead to places below that, too.
#include "base/shared_libraries.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "base/byte_cursor.h"
#include "base/elf_file.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/process_maps.h"
#include "base/processes.h"

namespace sonde {
namespace {

// An object's references to others.
struct Needs {
    std::vector<std::string> names;
    std::string rpath, runpath, interpreter;
};

std::string text_at(std::string_view strings, uint64_t offset) {
    return offset < strings.size() ? strings.data() + offset : std::string();
}

std::optional<Needs> read_needs(const std::string& path, uint16_t machine) {
    Result<ElfFile> file = ElfFile::open_for(path, machine);
    if (!file)
        return std::nullopt;
    Needs out;
    out.interpreter = text_at(file->section_data(".interp"), 0);
    std::string_view entries = file->section_data(".dynamic"), strings = file->section_data(".dynstr");
    if (strings.empty() || strings.back() != '\0')
        return out;
    for (const Elf64_Dyn& entry : values_in<Elf64_Dyn>(entries)) {
        if (entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_NEEDED)
            out.names.push_back(text_at(strings, entry.d_un.d_val));
        if (entry.d_tag == DT_RPATH)
            out.rpath = text_at(strings, entry.d_un.d_val);
        if (entry.d_tag == DT_RUNPATH)
            out.runpath = text_at(strings, entry.d_un.d_val);
    }
    return out;
}

// The cache: name -> path.
std::map<std::string, std::string> read_loader_cache(uint32_t flags, const std::string& root = "") {
    constexpr size_t header = 48, entry = 24;
    std::map<std::string, std::string> out;
    Result<std::string> file = read_file(path_below(root, "/etc/ld.so.cache"));
    size_t begin = file ? file->find("glibc-ld.so.cache1.1") : std::string::npos;
    if (begin == std::string::npos || file->size() - begin < header)
        return out;
    std::string_view cache = std::string_view(*file).substr(begin);
    const auto number = [&](size_t at) { return value_at<uint32_t>(cache, at).value_or(0); };
    for (size_t i = 0, count = number(20); i < count && header + (i + 1) * entry <= cache.size(); i++) {
        size_t at = header + i * entry;
        // Variants for newer processors have additional conditions; there is always a plain one, too.
        bool plain = number(at + 16) == 0 && number(at + 20) == 0;
        uint32_t name = number(at + 4), path = number(at + 8);
        if (number(at) == flags && plain && name < cache.size() && path < cache.size())
            out.try_emplace(cache.data() + name, cache.data() + path);
    }
    return out;
}

// Folders separated by `:` (or `;`), with the loader's replacements for $ORIGIN and $LIB.
std::vector<std::string> folders_of(const std::string& list, const std::string& object, const LibrarySearch& search) {
    const std::string lib = fmt::format("lib/{}", search.folder);
    std::string text = list;
    std::replace(text.begin(), text.end(), ';', ':');
    std::vector<std::string> out;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ':');) {
        const std::pair<const char*, std::string> tokens[] = {
            {"$ORIGIN", std::filesystem::path(object).parent_path()},
            {"${ORIGIN}", std::filesystem::path(object).parent_path()},
            {"$LIB", lib},
            {"${LIB}", lib}};
        for (const auto& [token, value] : tokens)
            if (size_t at = part.find(token); at != std::string::npos)
                part.replace(at, std::strlen(token), value);
        if (!part.empty())
            out.push_back(part);
    }
    return out;
}

class Search {
  public:
    Search(const std::string& program, const LibrarySearch& search)
        : search_(search), root_(process_root(program)), cache_(read_loader_cache(search.cache_flags, root_)) {
        std::deque<std::pair<std::string, std::string>> todo = {
            {program, ""}}; // with the DT_RPATHs of the objects that led to it
        while (!todo.empty()) {
            auto [object, inherited] = todo.front();
            todo.pop_front();
            std::optional<Needs> needs = read_needs(object, search.machine);
            if (!needs)
                continue;
            if (!needs->interpreter.empty())
                add(needs->interpreter);
            std::string rpath;
            for (const std::string& folder : folders_of(needs->rpath, object, search_))
                rpath += folder + ":";
            rpath += inherited;
            for (const std::string& name : needs->names)
                if (std::string path = find(name, object, *needs, rpath); !path.empty() && add(path))
                    todo.emplace_back(path, rpath);
        }
    }
    std::vector<std::string> found;

  private:
    // The libraries of a program in another mount namespace are below /proc/PID/root.
    std::string here(const std::string& path) const {
        return root_.empty() || path.starts_with(root_) ? path : root_ + path;
    }
    // Resolves symbolic links, which lead to paths below that root.
    std::string without_links_here(const std::string& path, std::error_code& error) const {
        if (root_.empty())
            return std::filesystem::canonical(path, error);
        std::string real = path_below(root_, path.substr(root_.size()));
        if (!std::filesystem::is_regular_file(real, error) && !error)
            error = std::make_error_code(std::errc::no_such_file_or_directory);
        return real;
    }

    bool add(std::string& path) {
        std::error_code error;
        path = here(path);
        std::string real = without_links_here(path, error);
        if (error || !seen_.insert(real).second)
            return false;
        // Use the usual path if it leads to the same file from here.
        if (!root_.empty() && !std::filesystem::equivalent(path, real, error))
            path = real;
        found.push_back(path);
        return true;
    }

    bool opens(const std::string& path) const {
        const std::string here = root_.empty() ? path : path_below(root_, path.substr(root_.size()));
        return ElfFile::open_for(here, search_.machine).ok();
    }

    std::string find(const std::string& name, const std::string& object, const Needs& needs, const std::string& rpath) {
        if (name.find('/') != std::string::npos)
            return name;
        const char* environment = std::getenv("LD_LIBRARY_PATH");
        std::vector<std::string> folders;
        auto look_in = [&](const std::string& list) {
            for (const std::string& folder : folders_of(list, object, search_))
                folders.push_back(folder);
        };
        if (needs.runpath.empty())
            look_in(rpath);
        look_in(environment && root_.empty() ? environment : "");
        look_in(needs.runpath);
        auto first = [&]() -> std::string {
            for (const std::string& folder : folders)
                if (std::string path = here(fmt::format("{}/{}", folder, name)); opens(path))
                    return path;
            return "";
        };
        if (std::string path = first(); !path.empty())
            return path;
        if (auto cached = cache_.find(name); cached != cache_.end())
            return cached->second;
        folders = {fmt::format("/lib/{}", search_.folder),
                   fmt::format("/usr/lib/{}", search_.folder),
                   "/lib64",
                   "/usr/lib64",
                   "/lib",
                   "/usr/lib"};
        return first();
    }

    const LibrarySearch search_;
    std::string root_; // root directory of the program's process; empty if it is ours
    std::map<std::string, std::string> cache_;
    std::set<std::string> seen_;
};

} // namespace

std::vector<std::string> shared_libraries(const std::string& program, const LibrarySearch& search) {
    return Search(program, search).found;
}

std::vector<std::string> installed_libraries(const LibrarySearch& search) {
    std::vector<std::string> out;
    for (auto& [name, path] : read_loader_cache(search.cache_flags))
        out.push_back(path);
    return out;
}

namespace {

std::vector<ProcessMapping> read_mapped_code(int64_t pid) {
    std::vector<ProcessMapping> out = read_process_maps(pid);
    std::erase_if(out, [](const ProcessMapping& one) { return !one.executable || !one.has_file(); });
    return out;
}

} // namespace

std::vector<std::string> mapped_libraries(int64_t pid) {
    const std::string program = process_program(pid);
    std::vector<std::string> names, out;
    for (const ProcessMapping& mapping : read_mapped_code(pid))
        if (mapping.path != program && std::find(names.begin(), names.end(), mapping.path) == names.end())
            names.push_back(mapping.path);
    for (const std::string& name : names)
        out.push_back(path_in_process(pid, name));
    return out;
}

std::optional<MappedAt> mapped_at(int64_t pid, uint64_t address) {
    for (const ProcessMapping& mapping : read_mapped_code(pid))
        if (mapping.covers(address))
            return MappedAt{path_in_process(pid, mapping.path), address - mapping.start + mapping.offset};
    return std::nullopt;
}

} // namespace sonde
