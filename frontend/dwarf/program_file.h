// The program or library itself: the contents of its ELF file except debug information, and its machine code.
//
// Opening a file reads its headers and, for a library, the relocations for thread-local variables. Markers and imports
// are read when first needed. Built from base/elf_file.h and the tables in frontend/machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/architecture.h"
#include "base/elf_file.h"
#include "base/result.h"
#include "frontend/machine/address.h"
#include "frontend/machine/plt.h"
#include "frontend/machine/thread_block.h"
#include "frontend/machine/usdt.h"

namespace sonde {

// Owns the open file.
class ProgramFile {
  public:
    // Fails like ElfFile::open, and for 32-bit Go programs. `object`: a kernel module, which is an object file.
    static Result<ProgramFile> open(const std::string& path, bool object);

    const ElfFile& elf() const { return elf_; }
    const std::string& path() const { return path_; }         // absolute, without symbolic links
    const std::string& build_id() const { return build_id_; } // lower-case hexadecimal; "" if the file has none
    int fd() const { return elf_.fd(); }
    bool position_independent() const { return elf_.is_dynamic(); }
    bool is_32_bit() const { return elf_.is_32_bit(); }
    const Architecture& architecture() const { return *architecture_; }

    // Converts between executable addresses and file offsets. Returns nullopt if the address is not in an executable
    // segment.
    std::optional<uint64_t> file_offset(Address address) const;
    std::optional<Address> address_of_offset(uint64_t offset) const { return elf_.address_of_offset(offset); }
    bool is_executable(Address address) const { return file_offset(address).has_value(); }
    // Returns the section whose bytes in the file are at an address; null if no section covers the address, or if the
    // file has no section headers.
    const ElfSection* section_at(Address address) const;
    // Whether a section of the running program contains the address, or ends there. If the linker has removed a
    // variable, its debug information has an address that is in no section. True if the file has no section headers.
    bool is_in_section(Address address) const;
    // Returns the bytes in [low, high), as far as the file contains them. Returns "" for more than 16 MiB.
    std::string code(Address low, Address high) const;
    // Returns bytes of the file at an address; fewer if the file has no more.
    std::string data(Address address, size_t size) const;

    // The procedure linkage table, and the static markers (USDT).
    const std::vector<PltEntry>& plt();
    const std::vector<UsdtMark>& marks();

    // Where thread-local variables are. For a program: the distance from the beginning of its block to the thread
    // pointer. For a library: the slot with the distance, which the loader fills in. Both are empty for 32-bit
    // programs, whose threads have another layout.
    std::optional<int64_t> thread_distance() const { return thread_distance_; }
    const std::optional<ThreadSlot>& thread_slot() const { return thread_slot_; }
    uint64_t thread_block_size() const { return thread_block_size_; } // in bytes; 0 in 32-bit programs

  private:
    ProgramFile(ElfFile elf, const Architecture& architecture) : elf_(std::move(elf)), architecture_(&architecture) {}

    ElfFile elf_;
    const Architecture* architecture_;
    std::string path_, build_id_;
    std::optional<int64_t> thread_distance_;
    std::optional<ThreadSlot> thread_slot_;
    uint64_t thread_block_size_ = 0;
    std::optional<std::vector<PltEntry>> plt_;
    std::optional<std::vector<UsdtMark>> marks_;
};

} // namespace sonde
