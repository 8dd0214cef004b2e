// Packages of split debug information (.dwp, made by dwp(1) or llvm-dwp): all .dwo files of a program in one file.
//
// Two tables say which part of each section belongs to which unit: .debug_cu_index for compilation units, by the id in
// the skeleton, and .debug_tu_index for type units, by their signature. See DWARF 5, section 7.3.5; before that version
// the format was an extension of GNU, which differs in the numbers of sections.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/elf_file.h"
#include "base/result.h"
#include "frontend/dwarf/split_linker.h"
#include "frontend/dwarf/split_sections.h"

namespace sonde {

// One of the two tables.
class SplitIndex {
  public:
    // Errors: the table is damaged, or of an unknown version. An empty table has no units.
    static Result<SplitIndex> parse(std::string_view bytes);

    bool has(uint64_t unit) const { return rows_.contains(unit); }
    std::vector<uint64_t> units() const;
    // Returns the parts of the package's sections that belong to the unit; nullopt if the unit is not in the table, or
    // a part is outside of its section.
    std::optional<SplitViews> parts(uint64_t unit, const SplitViews& package) const;

  private:
    std::vector<std::optional<SplitSection>> columns_;
    std::map<uint64_t, uint32_t> rows_;     // numbered from 0
    std::vector<uint32_t> offsets_, sizes_; // a row has one number for each column
};

class SplitPackage {
  public:
    SplitPackage(const SplitPackage&) = delete;
    SplitPackage& operator=(const SplitPackage&) = delete;

    // Errors: it has no index, or is damaged; they name the file.
    static Result<std::unique_ptr<SplitPackage>> open(const std::string& path);

    bool has(uint64_t unit) const { return units_.has(unit); }
    std::vector<uint64_t> units() const { return units_.units(); }
    // Adds a compilation unit, and all type units that it refers to. Returns false if they are damaged.
    bool add_to(SplitLinker& out, uint64_t unit) const;

  private:
    explicit SplitPackage(ElfFile file) : file_(std::move(file)) {}

    ElfFile file_;
    SplitBytes unpacked_; // if the sections are compressed
    SplitViews sections_; // of unpacked_, or of the file
    SplitIndex units_, types_;
};

} // namespace sonde
