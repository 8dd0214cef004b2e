// Finds the libraries that a program will load.
//
// Handlers need the tables of libraries before the program runs: the first hit can come microseconds after its start.
// So sonde repeats the search of the dynamic linker (ld.so(8)), instead of waiting until the program maps the files.
//
// The result is a guess in some cases, for example if a program sets LD_LIBRARY_PATH for another one, or calls
// dlopen(). A missing library costs only the first stacks: handlers report its mapping, and the table follows. A
// library that is never mapped costs memory.
#include "runtime/symbols/libraries.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <map>
#include <set>
#include <sstream>

#include "arch/architecture.h"
#include "base/elf_file.h"
#include "base/fd.h"

namespace sonde {
namespace {

// Reads /etc/ld.so.cache, format "glibc-ld.so.cache1.1": a header, then entries with the offsets of two strings, name
// and path. A name may occur several times, with the best variant for recent processors first; the map keeps the last,
// which runs on any processor.
std::map<std::string, std::string> read_cache() {
    std::map<std::string, std::string> out;
    Result<std::string> bytes = read_file("/etc/ld.so.cache");
    constexpr std::string_view magic = "glibc-ld.so.cache1.1";
    constexpr size_t head_size = 48, entry_size = 24;
    const uint32_t flags = host_architecture().library_search().cache_flags;
    if (!bytes || !bytes->starts_with(magic) || bytes->size() < head_size)
        return out;
    auto word = [&](size_t at) {
        uint32_t value = 0;
        std::memcpy(&value, bytes->data() + at, sizeof value);
        return value;
    };
    auto text = [&](uint32_t at) {
        return at < bytes->size() ? std::string(bytes->data() + at, strnlen(bytes->data() + at, bytes->size() - at))
                                  : std::string();
    };
    uint64_t count = word(magic.size());
    for (uint64_t i = 0; i < count && head_size + (i + 1) * entry_size <= bytes->size(); i++) {
        size_t at = head_size + i * entry_size;
        if (word(at) == flags)
            out[text(word(at + 4))] = text(word(at + 8));
    }
    return out;
}

// The dynamic section of a file: DT_NEEDED, DT_RPATH and DT_RUNPATH, and the path of the dynamic linker.
struct Needs {
    std::vector<std::string> names, folders;
    std::string linker;
};

// Splits a list of folders and replaces $ORIGIN by the folder of the file (ld.so(8), "Dynamic string tokens").
std::vector<std::string> split_folders(const std::string& list, const std::string& origin) {
    std::vector<std::string> out;
    std::istringstream in(list);
    for (std::string folder; std::getline(in, folder, ':');) {
        for (const char* variable : {"$ORIGIN", "${ORIGIN}"})
            if (size_t at = folder.find(variable); at != std::string::npos)
                folder.replace(at, std::strlen(variable), origin);
        if (!folder.empty())
            out.push_back(folder);
    }
    return out;
}

Needs read_needs(const std::string& path) {
    Needs out;
    Result<ElfFile> file = ElfFile::open(path);
    if (!file)
        return out;
    std::string_view dynamic = file->section_data(".dynamic"), strings = file->section_data(".dynstr");
    std::string_view linker = file->section_data(".interp");
    out.linker = linker.substr(0, linker.find('\0'));
    auto text = [&](uint64_t at) {
        return at < strings.size() ? std::string(strings.substr(at, strings.find('\0', at) - at)) : std::string();
    };
    std::string origin = path.substr(0, path.rfind('/'));
    for (size_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.size(); at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        std::memcpy(&entry, dynamic.data() + at, sizeof entry);
        if (entry.d_tag == DT_NEEDED)
            out.names.push_back(text(entry.d_un.d_val));
        else if (entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH)
            for (std::string& folder : split_folders(text(entry.d_un.d_val), origin))
                out.folders.push_back(std::move(folder));
    }
    return out;
}

std::string real_path(const std::string& path) {
    char* real = realpath(path.c_str(), nullptr);
    std::string out = real ? real : "";
    free(real);
    return out;
}

} // namespace

// A breadth-first search. A name with a slash is a path. Other names are searched in DT_RPATH and DT_RUNPATH,
// LD_LIBRARY_PATH, the cache, and the default folders, in this order.
std::vector<std::string> find_libraries(const std::string& program) {
    const std::map<std::string, std::string> cache = read_cache();
    const char* variable = std::getenv("LD_LIBRARY_PATH");
    const std::vector<std::string> extra = split_folders(variable ? variable : "", ".");
    std::vector<std::string> out, folders;
    std::set<std::string> seen;
    std::vector<std::string> todo = {real_path(program)};
    auto find = [&](const std::string& name) {
        if (name.find('/') != std::string::npos)
            return real_path(name);
        for (const auto* list : std::initializer_list<const std::vector<std::string>*>{&folders, &extra})
            for (const std::string& folder : *list)
                if (std::string path = fmt::format("{}/{}", folder, name); access(path.c_str(), R_OK) == 0)
                    return real_path(path);
        if (auto known = cache.find(name); known != cache.end())
            return real_path(known->second);
        for (const char* folder : {"/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/"})
            if (std::string path = folder + name; access(path.c_str(), R_OK) == 0)
                return real_path(path);
        return std::string();
    };
    for (size_t i = 0; i < todo.size(); i++) {
        Needs needs = read_needs(todo[i]);
        // The folders of a program also apply to the libraries that it loads (ld.so does this for DT_RPATH only).
        folders.insert(folders.end(), needs.folders.begin(), needs.folders.end());
        if (!needs.linker.empty())
            needs.names.push_back(needs.linker);
        for (const std::string& name : needs.names)
            if (std::string path = find(name); !path.empty() && seen.insert(path).second) {
                out.push_back(path);
                todo.push_back(path);
            }
    }
    return out;
}

} // namespace sonde
