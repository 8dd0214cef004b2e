// Finds the split debug information of a program (-gsplit-dwarf): .dwo files, and packages of them (.dwp).
//
// libdw opens the .dwo files that the program's skeleton units name, but not all of them: it reads no packages (before
// elfutils 0.191), and only a part of some .dwo files (SplitLayout). For these units, sonde writes .dwo files to a
// temporary directory. libdw searches first in the directory of the program, so the program is copied as well. All
// files are open when the copy is returned, and the directory is then removed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/debug/dwarf_handle.h"
#include "base/elf_file.h"
#include "frontend/dwarf/split_package.h"

namespace sonde {

// A copy of the program, with its split units.
struct SplitCopy {
    ElfFile file;
    DwarfHandle dwarf; // must not outlive `file`
};

class SplitFiles {
  public:
    // `file` has the skeleton units, and must outlive this object. `packages`: paths of its packages.
    SplitFiles(const ElfFile& file, std::vector<std::string> packages) : file_(file), paths_(std::move(packages)) {}

    // Returns a copy with more units than `dwarf`, the debug information of the file, or nullopt if libdw already reads
    // all units that exist. Problems with the temporary directory are added to `problems`.
    std::optional<SplitCopy> copy(Dwarf* dwarf, std::vector<std::string>& problems);

    // Returns the paths where libdw searches a unit's .dwo file: beside the program, and in the directory where it was
    // compiled. Empty if the unit is not split.
    std::vector<std::string> paths_of(Dwarf_Die& skeleton) const;

    // Returns why the unit's split debug information cannot be read, and what to do; "" if the unit is not split.
    std::string why_missing(Dwarf_Die& skeleton);

  private:
    struct Copied;

    void find(Dwarf_Die& skeleton, Copied& out);
    std::optional<SplitCopy> write(std::vector<Copied>& units, std::vector<std::string>& problems);
    const std::vector<Result<std::unique_ptr<SplitPackage>>>& packages();

    const ElfFile& file_;
    std::vector<std::string> paths_;
    std::optional<std::vector<Result<std::unique_ptr<SplitPackage>>>> packages_; // one for each path
};

} // namespace sonde
