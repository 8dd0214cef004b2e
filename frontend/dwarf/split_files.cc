// The copy is made only if it has more than libdw reads by itself, because it costs time and space.
//
// libdw finds a .dwo file by the name in the skeleton. In the copied program, an absolute name, or one that leads out
// of the directory, is overwritten with a short one. Units with the same name share one file: two directories of a
// project can both have a `main.dwo`, and then the linker stores the name only once. libdw chooses the unit by its id.
#include "frontend/dwarf/split_files.h"

#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <dwarf.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/debug/die.h"
#include "base/debug/open_dwarf.h"
#include "base/fd.h"
#include "frontend/dwarf/split_linker.h"
#include "frontend/dwarf/split_sections.h"

namespace sonde {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t most_bytes = 1 << 30; // maximum size of a file to copy

const char* split_name(Dwarf_Die& skeleton) {
    const char* name = string_attribute(skeleton, DW_AT_dwo_name);
    return name ? name : string_attribute(skeleton, DW_AT_GNU_dwo_name);
}

uint64_t unit_id(Dwarf_Die& skeleton) {
    Dwarf_Half version = 0;
    uint64_t id = 0;
    dwarf_cu_info(skeleton.cu, &version, nullptr, nullptr, nullptr, &id, nullptr, nullptr);
    return id;
}

// Whether libdw has found the split unit. libdw opens the file, so check its size before.
bool is_found(Dwarf_Die& skeleton) {
    Dwarf_Half version = 0;
    Dwarf_Die split = {};
    return dwarf_cu_info(skeleton.cu, &version, nullptr, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
           split.addr && dwarf_tag(&split) == DW_TAG_compile_unit;
}

bool leads_out(const fs::path& name) { return name.is_absolute() || *name.lexically_normal().begin() == ".."; }

// A temporary directory that is removed with its contents.
class Folder {
  public:
    Folder() {
        std::error_code error;
        std::string pattern = (fs::temp_directory_path(error) / "sonde-XXXXXX").string();
        if (mkdtemp(pattern.data()))
            path_ = pattern;
    }
    ~Folder() {
        std::error_code error;
        if (!path_.empty())
            fs::remove_all(path_, error);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

// Returns where in the file a text is that libdw has returned; nullopt if it is in a compressed section.
std::optional<uint64_t> offset_of(const ElfFile& file, const char* text) {
    for (const ElfSection& section : file.sections()) {
        const std::string_view bytes =
            section.name.starts_with(".debug_") ? file.section_data(section.name) : std::string_view();
        if (!(section.flags & SHF_COMPRESSED) && text >= bytes.data() && text < bytes.data() + bytes.size())
            return section.offset + static_cast<uint64_t>(text - bytes.data());
    }
    return std::nullopt;
}

} // namespace

// The units whose skeletons have the same name.
struct SplitFiles::Copied {
    const char* name = nullptr;
    SplitLinker units;          // to write
    std::set<std::string> read; // .dwo files that were added
    std::string as_it_is;       // a file that libdw can read
    bool is_damaged = false;
};

std::vector<std::string> SplitFiles::paths_of(Dwarf_Die& skeleton) const {
    const char* name = split_name(skeleton);
    if (!name)
        return {};
    const char* folder = string_attribute(skeleton, DW_AT_comp_dir);
    const std::string& own = file_.path();
    if (name[0] == '/')
        return {name};
    std::vector<std::string> out = {own.substr(0, own.rfind('/') + 1) + name};
    if (folder)
        out.push_back(fmt::format("{}/{}", folder, name));
    return out;
}

const std::vector<Result<std::unique_ptr<SplitPackage>>>& SplitFiles::packages() {
    if (!packages_) {
        packages_.emplace();
        for (const std::string& path : paths_)
            packages_->push_back(SplitPackage::open(path));
    }
    return *packages_;
}

// Finds a unit that libdw does not read, or not as a whole.
void SplitFiles::find(Dwarf_Die& skeleton, Copied& out) {
    const uint64_t id = unit_id(skeleton);
    for (const std::string& path : paths_of(skeleton)) {
        const Result<ElfFile> file = ElfFile::open_debug_information(path);
        if (!file)
            continue;
        if (!why_not_unpack(*file).empty())
            return; // DebugFiles::may_open_unit() reports this
        const SplitLayout layout = split_layout(*file);
        if (layout.is_partly_read && out.read.insert(path).second)
            out.is_damaged = !out.units.add(views_of(read_split_sections(*file))) || out.is_damaged;
        if (out.units.units().contains(id))
            return;
        if (layout.has_units && !layout.is_partly_read && is_found(skeleton)) {
            out.as_it_is = path;
            return;
        }
    }
    for (const Result<std::unique_ptr<SplitPackage>>& package : packages())
        if (package && (*package)->has(id)) {
            out.is_damaged = !(*package)->add_to(out.units, id) || out.is_damaged;
            return;
        }
}

std::optional<SplitCopy> SplitFiles::copy(Dwarf* dwarf, std::vector<std::string>& problems) {
    std::map<const char*, Copied> by_name;
    bool is_needed = false;
    for_each_unit(dwarf, [&](Dwarf_Die& die, uint8_t type) {
        const char* name = type == DW_UT_skeleton ? split_name(die) : nullptr;
        if (!name || !*name)
            return;
        Copied& one = by_name[name];
        one.name = name;
        find(die, one);
        is_needed = is_needed || (!one.units.units().empty() && !one.is_damaged);
    });
    std::vector<Copied> units;
    for (auto& [name, one] : by_name)
        units.push_back(std::move(one));
    return is_needed ? write(units, problems) : std::nullopt;
}

std::optional<SplitCopy> SplitFiles::write(std::vector<Copied>& units, std::vector<std::string>& problems) {
    const Folder folder;
    const auto fail = [&](std::string_view why) {
        problems.push_back(fmt::format("cannot read the split debug information of `{}`: {}", file_.path(), why));
        return std::nullopt;
    };
    std::error_code error;
    if (folder.path().empty())
        return fail("sonde needs a temporary directory for it; set TMPDIR to a directory that you can write to");
    Result<std::string> program = fs::file_size(file_.path(), error) <= most_bytes && !error
                                      ? read_file(file_.path())
                                      : Result<std::string>(Error("the program is too large to be copied"));
    if (!program)
        return fail(program.error().message);
    int number = 0;
    for (const Copied& one : units) {
        const bool is_written = !one.units.units().empty() && !one.is_damaged;
        if (!is_written && (one.as_it_is.empty() || fs::path(one.name).is_absolute()))
            continue;
        std::string name = one.name;
        if (leads_out(name)) {
            // Any first characters will do: a longer string can end with the same bytes, but not begin with them.
            const std::string short_name = std::to_string(number++);
            const std::optional<uint64_t> offset = offset_of(file_, one.name);
            if (!offset || short_name.size() >= name.size() || *offset + name.size() > program->size())
                continue;
            std::memcpy(program->data() + *offset, short_name.c_str(), short_name.size() + 1);
            name = short_name;
        }
        const fs::path path = folder.path() / name;
        fs::create_directories(path.parent_path(), error);
        if (!is_written)
            fs::create_symlink(fs::absolute(one.as_it_is, error), path, error);
        else if (Result<void> done = write_file(path.string(), write_split_file(one.units.sections(), file_.machine()));
                 !done)
            return fail(done.error().message);
    }
    const fs::path copied = folder.path() / ".program";
    if (Result<void> done = write_file(copied.string(), *program); !done)
        return fail(done.error().message);
    Result<ElfFile> opened = ElfFile::open_debug_information(copied.string());
    if (!opened)
        return fail(opened.error().message);
    SplitCopy out{*std::move(opened), nullptr};
    OpenedDwarf dwarf;
    std::vector<std::string> other_problems;
    if (!dwarf.open(out.file, false, other_problems) || dwarf.common_dwarf)
        return std::nullopt;
    out.dwarf = std::move(dwarf.dwarf);
    // Make libdw open the split files while they exist.
    for_each_unit(out.dwarf.get(), [&](Dwarf_Die& die, uint8_t type) {
        if (type == DW_UT_skeleton)
            is_found(die);
    });
    return out;
}

std::string SplitFiles::why_missing(Dwarf_Die& skeleton) {
    const std::vector<std::string> paths = paths_of(skeleton);
    if (paths.empty())
        return "";
    const uint64_t id = unit_id(skeleton);
    constexpr const char* again = "compile the program again";
    for (const std::string& path : paths) {
        if (access(path.c_str(), F_OK) != 0)
            continue;
        const Result<ElfFile> file = ElfFile::open_debug_information(path);
        if (!file)
            return fmt::format("{}; {}", file.error().message, again);
        if (!split_layout(*file).has_units)
            return fmt::format("`{}` has no split debug information; {}", path, again);
        SplitLinker units;
        if (!units.add(views_of(read_split_sections(*file))))
            return fmt::format("`{}` is damaged; {}", path, again);
        if (units.units().empty())
            return fmt::format("`{}` has only type units, not the unit of the functions; {}", path, again);
        if (!units.units().contains(id))
            return fmt::format("`{}` is from another build; {}, or restore the file of its build", path, again);
        return fmt::format("`{}` cannot be read; {}", path, again);
    }
    for (size_t i = 0; i < packages().size(); i++) {
        const Result<std::unique_ptr<SplitPackage>>& package = packages()[i];
        constexpr const char* repack = "make the package again with dwp or llvm-dwp";
        if (!package)
            return fmt::format("{}; {}", package.error().message, repack);
        if ((*package)->has(id))
            return fmt::format("`{}` is damaged; {}", paths_[i], repack);
    }
    if (!paths_.empty())
        return fmt::format("`{}` does not exist, and the package `{}` is from another build: it does not contain this "
                           "unit; make the package from the .dwo files of the program's build",
                           paths.back(), paths_[0]);
    return fmt::format("`{}` does not exist; keep the .dwo files, or put a package of them beside the program as "
                       "`{}.dwp` (dwp or llvm-dwp makes it)",
                       paths.back(), file_.path());
}

} // namespace sonde
