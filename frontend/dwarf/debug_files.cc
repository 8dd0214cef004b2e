// Opens debug information. One program can involve many files: the program itself, its debug file (found by build id or
// debuglink, or downloaded), the common file of dwz, and a .dwo file for each unit. A problem with one of them does not
// end the session. It is recorded as a text, and reported if a probe needs the missing information.
#include "frontend/dwarf/debug_files.h"

#include <algorithm>
#include <cstring>

#include <dwarf.h>
#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/debug/die.h"
#include "base/debug_file.h"

namespace sonde {
namespace {

// Returns the packages of split debug information (.dwp) of a program, and of the file with its debug information.
std::vector<std::string> packages_of(const ElfFile& program, const ElfFile* separate) {
    std::vector<std::string> out = find_split_packages(program);
    if (separate)
        for (std::string& path : find_split_packages(*separate))
            if (std::ranges::find(out, path) == out.end())
                out.push_back(std::move(path));
    return out;
}

} // namespace

// The search may download a file, which can take seconds; it is done once.
bool DebugFiles::found() {
    if (!searched_) {
        searched_ = true;
        if (!has_dwarf(file_.elf()))
            separate_ = find_debug_file(file_.elf(), {.may_download = true, .problems = &problems_});
    }
    return separate_ || has_dwarf(file_.elf());
}

const ElfFile* DebugFiles::separate() {
    found();
    return separate_ ? &*separate_ : nullptr;
}

Dwarf* DebugFiles::dwarf() {
    if (!opened_) {
        opened_ = true;
        const ElfFile& file = found() && separate_ ? *separate_ : file_.elf();
        const size_t problems = problems_.size();
        if (found() && opened_dwarf_.open(file, true, problems_)) {
            split_files_.emplace(file, packages_of(file_.elf(), separate()));
            if ((split_ = split_files_->copy(opened_dwarf_.dwarf.get(), problems_)))
                opened_dwarf_.dwarf = std::move(split_->dwarf);
            dwarfs_.push_back(opened_dwarf_.dwarf.get());
        } else if (found()) {
            refusal_ = why_not_unpack(file);
        }
        if (found() && problems_.size() == problems)
            note_unreadable(file);
    }
    return opened_dwarf_.dwarf.get();
}

// libelf supports only the compression methods that it was built with. If it lacks one, libdw finds no unit, or opens
// nothing at all.
void DebugFiles::note_unreadable(const ElfFile& file) {
    Dwarf_Off next = 0;
    size_t header = 0;
    Dwarf* dwarf = opened_dwarf_.dwarf.get();
    if (dwarf && dwarf_next_unit(dwarf, 0, &next, &header, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == 0)
        return;
    constexpr uint32_t zstd = 2; // ELFCOMPRESS_ZSTD, which older <elf.h> do not have
    Elf64_Chdr header_of_section = {};
    const ElfSection* section = file.find_section(".debug_info");
    if (!section || !(section->flags & SHF_COMPRESSED) ||
        pread(file.fd(), &header_of_section, sizeof header_of_section, static_cast<off_t>(section->offset)) !=
            static_cast<ssize_t>(sizeof header_of_section) ||
        header_of_section.ch_type != zstd)
        return;
    std::string problem =
        fmt::format("the debug information in `{}` is compressed by zstd, which this machine's libelf cannot read; "
                    "make a readable copy with `objcopy --decompress-debug-sections`",
                    file.path());
    if (std::find(problems_.begin(), problems_.end(), problem) == problems_.end())
        problems_.push_back(std::move(problem));
}

// A small file can uncompress to many gigabytes, so check the sizes before libdw opens it.
bool DebugFiles::may_open_unit(Dwarf_Die& unit) {
    for (const std::string& path : split_files_->paths_of(unit)) {
        const Result<ElfFile> file = ElfFile::open_debug_information(path);
        std::string why = file ? why_not_unpack(*file) : "";
        if (why.empty())
            continue;
        refusal_ = why;
        if (std::ranges::find(problems_, why) == problems_.end())
            problems_.push_back(std::move(why));
        return false;
    }
    return true;
}

// Only the first one is described: usually, all have the same cause.
void DebugFiles::note_missing_unit(Dwarf_Die& skeleton) {
    const bool is_first = missing_units_.empty();
    if (!missing_units_.insert(dwarf_dieoffset(&skeleton)).second)
        return; // after forget()
    if (is_first) {
        missing_unit_ = problems_.size();
        problems_.push_back(fmt::format("debug information is in separate files (-gsplit-dwarf): {}",
                                        split_files_->why_missing(skeleton)));
        first_missing_ = problems_.back();
        return;
    }
    problems_[missing_unit_] =
        fmt::format("{} (units without debug information: {})", first_missing_, missing_units_.size());
}

Dwarf_CFI* DebugFiles::eh_frame() {
    if (!eh_frame_opened_) {
        eh_frame_opened_ = true;
        // The stripped file has this section; in the debug file it is empty.
        eh_frame_.reset(dwarf_getcfi_elf(file_.elf().elf()));
    }
    return eh_frame_.get();
}

Dwarf_CFI* DebugFiles::debug_frame() { return dwarf() ? dwarf_getcfi(dwarf()) : nullptr; }

size_t DebugFiles::number_of(Dwarf* dwarf) {
    auto found = std::find(dwarfs_.begin(), dwarfs_.end(), dwarf);
    if (found == dwarfs_.end())
        found = dwarfs_.insert(dwarfs_.end(), dwarf);
    return static_cast<size_t>(found - dwarfs_.begin());
}

// 48 bits are enough for any offset in a file.
DieOffset DebugFiles::pack(Dwarf_Die& die) {
    return uint64_t{number_of(dwarf_cu_getdwarf(die.cu))} << 48 | dwarf_dieoffset(&die);
}

bool DebugFiles::unpack(DieOffset packed, Dwarf_Die* die) {
    size_t number = packed >> 48;
    if (!dwarf() || packed == 0 || number >= dwarfs_.size())
        return false;
    return dwarf_offdie(dwarfs_[number], packed & ((uint64_t{1} << 48) - 1), die) != nullptr;
}

void DebugFiles::forget() {
    eh_frame_.reset();
    eh_frame_opened_ = false;
    opened_dwarf_.close();
    split_.reset();
    dwarfs_.clear();
    opened_ = false;
}

bool DebugFiles::is_made_by_gcc(const FunctionInstance& function) {
    Dwarf_Die die, unit;
    const char* producer = unpack(function.die, &die) && dwarf_diecu(&die, &unit, nullptr, nullptr)
                               ? string_attribute(unit, DW_AT_producer)
                               : nullptr;
    return producer && strncmp(producer, "GNU ", 4) == 0;
}

// gcc stores the optimization level in DW_AT_producer. For LLVM it must be derived from the debug information.
bool DebugFiles::is_optimized(const FunctionInstance& function) {
    Dwarf_Die die, unit;
    if (!function.has_debug_info || !unpack(function.die, &die))
        return false;
    const char* producer =
        dwarf_diecu(&die, &unit, nullptr, nullptr) ? string_attribute(unit, DW_AT_producer) : nullptr;
    if (producer && strncmp(producer, "GNU ", 4) == 0) {
        std::string_view options = producer;
        const size_t level = options.rfind(" -O");
        return level != std::string_view::npos && !options.substr(level + 3).starts_with("0");
    }
    // LLVM describes calls and uses location lists only in optimized code.
    Dwarf_Attribute attribute;
    bool optimized = dwarf_hasattr(&die, DW_AT_call_all_calls) || dwarf_hasattr(&die, DW_AT_GNU_all_call_sites) ||
                     dwarf_hasattr(&die, DW_AT_abstract_origin);
    for_each_child_of_function(die, [&](Dwarf_Die& child) {
        if (!optimized && dwarf_attr(&child, DW_AT_location, &attribute)) {
            Dwarf_Op* ops = nullptr;
            size_t length = 0;
            const bool single = dwarf_getlocation(&attribute, &ops, &length) == 0 && length > 0;
            optimized = !single || (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31);
        }
        return !optimized;
    });
    return optimized;
}

} // namespace sonde
