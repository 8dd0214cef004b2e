// Opens a program's debug information with libdw: in the file itself, in a separate file, and in the common file that
// dwz creates.
//
// It is opened when first needed, because the search may download a file (base/debug_file.h). libdw keeps everything
// that it has read, which is gigabytes for a large program. forget() frees that memory, and the next query opens the
// file again. A DieOffset remains valid after forget(); a Dwarf_Die does not.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/debug/dwarf_handle.h"
#include "base/debug/open_dwarf.h"
#include "base/elf_file.h"
#include "frontend/dwarf/module_data.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/split_files.h"

namespace sonde {

class DebugFiles {
  public:
    explicit DebugFiles(const ProgramFile& file) : file_(file) {}

    // Searches the debug information, and returns whether it exists.
    bool found();
    // Returns problems during the search, as texts: files of other builds, or errors from a server.
    const std::vector<std::string>& problems() const { return problems_; }
    // The same list, for problems that other classes find.
    std::vector<std::string>& noted_problems() { return problems_; }
    // Returns why existing debug information was not read (it would need too much memory), or "".
    const std::string& refusal() const { return refusal_; }
    // Records that the split debug information of a unit (-gsplit-dwarf) could not be read.
    void note_missing_unit(Dwarf_Die& skeleton);
    // Whether libdw may open the file with a unit's split debug information. libdw uncompresses the whole file.
    bool may_open_unit(Dwarf_Die& unit);
    // Returns the separate file with the debug information; null if the program itself has it, or if no debug
    // information exists. Searches it if necessary.
    const ElfFile* separate();

    // Whether the compiler has optimized the function.
    bool is_optimized(const FunctionInstance& function);

    // Whether gcc has compiled the function, and not LLVM.
    bool is_made_by_gcc(const FunctionInstance& function);

    // These return null if the information does not exist. The pointers are valid until forget().
    Dwarf* dwarf();
    // The call frame information: .eh_frame, which all programs have, and .debug_frame, which is part of the debug
    // information.
    Dwarf_CFI* eh_frame();
    Dwarf_CFI* debug_frame();

    // Converts between a DIE and a DieOffset: its offset, with the number of the debug file in the upper 16 bits.
    // unpack() returns false if the DIE does not exist.
    DieOffset pack(Dwarf_Die& die);
    bool unpack(DieOffset packed, Dwarf_Die* die);

    // Frees the memory of libdw. Not possible if the debug information is in several files.
    bool may_forget() const { return dwarfs_.size() == 1 && !opened_dwarf_.common; }
    void forget();

  private:
    void note_unreadable(const ElfFile& file);
    size_t number_of(Dwarf* dwarf);

    const ProgramFile& file_;
    bool searched_ = false, opened_ = false, eh_frame_opened_ = false;
    std::vector<std::string> problems_;
    std::string refusal_;
    std::set<Dwarf_Off> missing_units_; // the offsets of their skeletons
    size_t missing_unit_ = 0;           // the note about them in problems_
    std::string first_missing_;         // its text for the first unit
    std::optional<ElfFile> separate_;
    std::optional<SplitFiles> split_files_;
    std::optional<SplitCopy> split_; // its file must be open as long as opened_dwarf_
    OpenedDwarf opened_dwarf_;
    std::vector<Dwarf*> dwarfs_; // the upper bits of a DieOffset are an index of this list
    FramesHandle eh_frame_;
};

} // namespace sonde
