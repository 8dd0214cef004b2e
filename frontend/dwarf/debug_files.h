// A program's debug information as libdw opens it: in the file itself, in one beside it, and in dwz's common file.
//
// Opened when somebody asks: the search may download (base/debug_file.h). libdw keeps what it has read of each unit,
// which for a large program is gigabytes; forget() gives that back, and the next one who asks opens the file again. A
// DieOffset outlives that, a DIE does not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/debug/dwarf_handle.h"
#include "base/debug/open_dwarf.h"
#include "base/elf_file.h"
#include "frontend/dwarf/embedded_split.h"
#include "frontend/dwarf/module_data.h"
#include "frontend/dwarf/program_file.h"

namespace sonde {

class DebugFiles {
  public:
    explicit DebugFiles(const ProgramFile& file) : file_(file) {}

    // Whether there is debug information; looks for it.
    bool found();
    // What stood in the way of it, in words: files of other builds, what a server said.
    const std::vector<std::string>& problems() const { return problems_; }
    // Those that are not found by this class.
    std::vector<std::string>& noted_problems() { return problems_; }
    // Why debug information that is there is not read, as it would take too much memory; empty: nothing is refused.
    const std::string& refusal() const { return refusal_; }
    // Where a unit's debug information is said to be (-gsplit-dwarf), and could not be read.
    void note_missing_unit(Dwarf_Die& skeleton);
    // Whether libdw may open the file that a unit's debug information is in: it unpacks all of it.
    bool may_open_unit(Dwarf_Die& unit);
    // The file beside the program that has it; null if the program itself does, or nothing. Looks for it.
    const ElfFile* separate();

    // Null if there is none. The pointers are the same until forget().
    Dwarf* dwarf();
    Dwarf_CFI* eh_frame();
    Dwarf_CFI* debug_frame();

    // A DieOffset is an offset with the number of its debug file in the upper 16 bits. False: there is no such DIE.
    DieOffset pack(Dwarf_Die& die);
    bool unpack(DieOffset packed, Dwarf_Die* die);

    // Forgets what libdw has read. Not where debug information lies in several files.
    bool may_forget() const { return dwarfs_.size() == 1 && !opened_dwarf_.common; }
    void forget();

  private:
    void note_unreadable(const ElfFile& file);
    std::vector<std::string> split_paths(Dwarf_Die& unit) const;
    size_t number_of(Dwarf* dwarf);

    const ProgramFile& file_;
    bool searched_ = false, opened_ = false, eh_frame_opened_ = false;
    std::vector<std::string> problems_;
    std::string refusal_;
    bool missing_unit_noted_ = false;
    std::optional<ElfFile> separate_;
    std::optional<EmbeddedSplit> embedded_; // its file is open as long as opened_dwarf_
    OpenedDwarf opened_dwarf_;
    std::vector<Dwarf*> dwarfs_; // what a DieOffset's upper bits mean
    FramesHandle eh_frame_;
};

} // namespace sonde
