// Three numbers lead from the thread pointer to `errno`, and only the first is constant:
//
//   errno = thread pointer + distance of the C library's block (known to the loader) + offset of errno in the block
//
// A relocation (DynamicRelocation::ThreadDistance) in the C library makes the loader store such a distance in a slot of
// the library, for another of its thread-local variables. The difference of two offsets in one block is constant, so
// this slot is enough.
//
// The slot's address at run time needs the load address of the C library. find_import() finds a pointer in the probed
// module that the loader sets to a function of the C library. That function must have a single version: with two
// versions, the file does not show to which of them the pointer leads.
#include "frontend/machine/errno_place.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/shared_libraries.h"
#include "frontend/machine/relocations.h"
#include "frontend/machine/thread_block.h"

namespace sonde {
namespace {

// Returns the offset of `errno` in its module's thread-local block.
std::optional<uint64_t> errno_in_block(const ElfFile& file) {
    std::optional<uint64_t> found;
    file.for_each_symbol([&](const ElfSymbol& symbol) {
        if (symbol.name == "errno" && symbol.type == STT_TLS && symbol.section != SHN_UNDEF)
            found = symbol.address;
        return !found;
    });
    return found;
}

// Returns a slot that will hold the distance of one of the library's thread-local variables, and that variable's offset
// in the block.
std::optional<std::pair<uint64_t, int64_t>> distance_slot(const ElfFile& library) {
    std::optional<std::pair<uint64_t, int64_t>> found;
    for_each_relocation(library, [&](const Relocation& relocation) {
        bool own = relocation.name.empty() || relocation.symbol.st_shndx != SHN_UNDEF;
        if (relocation.kind == DynamicRelocation::ThreadDistance && own && !found)
            found.emplace(relocation.slot, static_cast<int64_t>(relocation.symbol.st_value) + relocation.addend);
    });
    return found;
}

// Finds a pointer in `file` that the loader sets before the program runs, to a function of the library that exists in
// only one version.
std::optional<ErrnoPlace::Import> find_import(const ElfFile& file, const ElfFile& library) {
    std::map<std::string_view, std::set<uint64_t>> exported;
    library.for_each_symbol([&](const ElfSymbol& symbol) {
        if (symbol.dynamic && symbol.type == STT_FUNC && symbol.section != SHN_UNDEF)
            exported[symbol.name].insert(symbol.address);
        return true;
    });
    std::map<std::string_view, uint64_t> pointers;
    for_each_relocation(file, [&](const Relocation& relocation) {
        auto at = exported.find(relocation.name);
        if (relocation.kind == DynamicRelocation::Pointer && relocation.symbol.st_shndx == SHN_UNDEF &&
            at != exported.end() && at->second.size() == 1)
            pointers.emplace(relocation.name, relocation.slot);
    });
    if (pointers.empty())
        return std::nullopt;
    // Every program and library imports these functions from the C library. A function with another name may be
    // imported from another library.
    auto best = pointers.begin();
    for (const char* name : {"__cxa_finalize", "__libc_start_main"})
        if (auto at = pointers.find(name); at != pointers.end())
            best = at;
    return ErrnoPlace::Import{best->second, *exported[best->first].begin()};
}

} // namespace

// In a program that is linked statically, `errno` is in the program's own block at a constant distance. Otherwise it is
// in one of the shared libraries.
Result<ErrnoPlace> find_errno(const std::string& path, const Architecture& architecture) {
    Result<ElfFile> file = ElfFile::open_for(path, architecture.machine());
    if (!file)
        return std::move(file).error();
    std::optional<uint64_t> own = errno_in_block(*file);
    if (std::optional<ThreadBlock> block = find_thread_block(*file); own && block && block->distance)
        return ErrnoPlace{*block->distance + static_cast<int64_t>(*own), {}, {}};
    std::vector<std::string> candidates = shared_libraries(path, architecture.library_search());
    candidates.insert(candidates.begin(), path);
    for (const std::string& candidate : candidates) {
        Result<ElfFile> library = ElfFile::open_for(candidate, architecture.machine());
        std::optional<uint64_t> place = library ? errno_in_block(*library) : std::nullopt;
        if (!place)
            continue;
        ErrnoPlace out;
        auto slot = distance_slot(*library);
        if (!slot)
            return Error(fmt::format("`{}` does not show the place of its thread-local variables", candidate));
        out.distance_slot = slot->first;
        out.offset = static_cast<int64_t>(*place) - slot->second;
        if (candidate != path && !(out.import = find_import(*file, *library)))
            return Error(fmt::format("`{}` has no reference to `{}`", path, candidate));
        return out;
    }
    return Error(fmt::format("neither `{}` nor its libraries have a thread-local `errno`", path));
}

} // namespace sonde
