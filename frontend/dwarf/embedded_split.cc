// Works around a limitation of libdw; see embedded_split.h. Only files whose name is relative and does not lead out of
// the directory are copied.
#include "frontend/dwarf/embedded_split.h"

#include <dwarf.h>
#include <elf.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/debug/die.h"
#include "base/debug/open_dwarf.h"
#include "base/fd.h"

namespace sonde {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t most_bytes = 1 << 30; // maximum size of a file to copy

// Returns the object file's contents, in which only the split sections keep their names. Returns "" if the file does
// not contain both kinds of sections.
std::string without_own_sections(const std::string& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > most_bytes)
        return "";
    Result<std::string> read = read_file(path);
    std::string bytes = read ? *std::move(read) : "";
    Elf64_Ehdr header;
    if (bytes.size() < sizeof header)
        return "";
    memcpy(&header, bytes.data(), sizeof header);
    const uint64_t table = uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= header.e_shnum ||
        header.e_shoff > bytes.size() || table > bytes.size() - header.e_shoff)
        return "";
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    memcpy(sections.data(), bytes.data() + header.e_shoff, table);
    const Elf64_Shdr names = sections[header.e_shstrndx];
    if (names.sh_offset > bytes.size() || names.sh_size > bytes.size() - names.sh_offset)
        return "";
    const std::string_view texts = std::string_view(bytes).substr(names.sh_offset, names.sh_size);
    bool has_split = false, has_own = false;
    for (Elf64_Shdr& section : sections) {
        const std::string_view name = texts.substr(std::min<size_t>(section.sh_name, texts.size()));
        const std::string_view whole = name.substr(0, name.find('\0'));
        if (section.sh_flags & SHF_COMPRESSED)
            return ""; // libdw would uncompress the section, whatever its size
        if (whole == ".debug_info.dwo") {
            has_split = true;
        } else if (!whole.ends_with(".dwo") && whole.find(".debug_") != std::string_view::npos) {
            has_own = has_own || whole == ".debug_info";
            section.sh_name = 0;
        }
    }
    if (!has_split || !has_own)
        return "";
    memcpy(bytes.data() + header.e_shoff, sections.data(), table);
    return bytes;
}

// Returns the path of the file that a skeleton unit names, and the name. Returns nothing if the name is an absolute
// path.
std::pair<std::string, std::string> split_file(Dwarf_Die& skeleton, const std::string& program) {
    const char* name = string_attribute(skeleton, DW_AT_dwo_name);
    if (!name)
        name = string_attribute(skeleton, DW_AT_GNU_dwo_name);
    const fs::path relative = name ? fs::path(name).lexically_normal() : fs::path();
    if (relative.empty() || relative.is_absolute() || *relative.begin() == "..")
        return {};
    std::error_code error;
    const fs::path beside = fs::path(program).parent_path() / relative;
    const char* folder = string_attribute(skeleton, DW_AT_comp_dir);
    const fs::path path = fs::exists(beside, error) || !folder ? beside : fs::path(folder) / relative;
    return {path.string(), name};
}

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

} // namespace

std::optional<EmbeddedSplit> open_embedded_split(const ElfFile& file, Dwarf* dwarf) {
    std::vector<std::pair<std::string, std::string>> copies; // names, and contents
    for_each_unit(dwarf, [&](Dwarf_Die& die, uint8_t type) {
        Dwarf_Half version = 0;
        Dwarf_Die split = {};
        // A skeleton for which libdw has found the split unit needs no copy.
        if (type != DW_UT_skeleton ||
            dwarf_cu_info(die.cu, &version, nullptr, nullptr, &split, nullptr, nullptr, nullptr) != 0 || split.addr)
            return;
        const auto [path, name] = split_file(die, file.path());
        if (std::string bytes = path.empty() ? "" : without_own_sections(path); !bytes.empty())
            copies.emplace_back(name, std::move(bytes));
    });
    if (copies.empty())
        return std::nullopt;
    const Folder folder;
    std::error_code error;
    if (folder.path().empty() || fs::file_size(file.path(), error) > most_bytes)
        return std::nullopt;
    const fs::path program = folder.path() / ".program";
    if (!fs::copy_file(file.path(), program, error))
        return std::nullopt;
    for (const auto& [name, bytes] : copies) {
        const fs::path copy = folder.path() / name;
        fs::create_directories(copy.parent_path(), error);
        if (!write_file(copy.string(), bytes))
            return std::nullopt;
    }
    Result<ElfFile> opened = ElfFile::open(program.string());
    if (!opened)
        return std::nullopt;
    EmbeddedSplit out{*std::move(opened), nullptr};
    OpenedDwarf copied;
    std::vector<std::string> problems;
    if (!copied.open(out.file, false, problems) || copied.common_dwarf)
        return std::nullopt;
    out.dwarf = std::move(copied.dwarf);
    // Make libdw open the split files while they exist.
    for_each_unit(out.dwarf.get(), [](Dwarf_Die& die, uint8_t) {
        Dwarf_Half version = 0;
        Dwarf_Die split = {};
        dwarf_cu_info(die.cu, &version, nullptr, nullptr, &split, nullptr, nullptr, nullptr);
    });
    return out;
}

} // namespace sonde
