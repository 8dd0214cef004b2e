// The program or library itself: what its ELF file says without debug information, and its machine code.
//
// Opening reads headers, and of a library the relocations that tell where its thread-local variables are. Marks and
// imports are read when somebody asks. Built from base/elf_file.h and the tables of frontend/types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/elf_file.h"
#include "base/result.h"
#include "frontend/types/address.h"
#include "frontend/types/plt.h"
#include "frontend/types/thread_block.h"
#include "frontend/types/usdt.h"

namespace sonde {

class ProgramFile {
  public:
    // Errors as ElfFile's, and a 32-bit program of Go. `object`: a module of the kernel, which is an object file.
    static Result<ProgramFile> open(const std::string& path, bool object);

    const ElfFile& elf() const { return elf_; }
    const std::string& path() const { return path_; }         // absolute, without links
    const std::string& build_id() const { return build_id_; } // lower-case hex, empty without
    int fd() const { return elf_.fd(); }
    bool position_independent() const { return elf_.is_dynamic(); }
    bool is_32_bit() const { return elf_.is_32_bit(); }

    // File offset of an executable address; nullopt if it is in no executable segment. And the other way.
    std::optional<uint64_t> file_offset(Address address) const;
    std::optional<Address> address_of_offset(uint64_t offset) const { return elf_.address_of_offset(offset); }
    bool is_executable(Address address) const { return file_offset(address).has_value(); }
    // The section whose bytes of the file are at an address; null without one, or without section headers.
    const ElfSection* section_at(Address address) const;
    // The bytes of [low, high), as far as the file has them; empty for more than 16 MiB.
    std::string code(Address low, Address high) const;

    // Its table of calls into other modules, and its static marks (USDT).
    const std::vector<PltEntry>& plt();
    const std::vector<UsdtMark>& marks();

    // Where thread-local variables are. A program: from an offset in its block to one from the thread pointer. A
    // library: where the loader has written it. Neither, of 32-bit programs: their threads are laid out in another way.
    std::optional<int64_t> thread_distance() const { return thread_distance_; }
    const std::optional<ThreadSlot>& thread_slot() const { return thread_slot_; }

  private:
    explicit ProgramFile(ElfFile elf) : elf_(std::move(elf)) {}

    ElfFile elf_;
    std::string path_, build_id_;
    std::optional<int64_t> thread_distance_;
    std::optional<ThreadSlot> thread_slot_;
    std::optional<std::vector<PltEntry>> plt_;
    std::optional<std::vector<UsdtMark>> marks_;
};

} // namespace sonde
