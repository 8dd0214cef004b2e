// Reads an ELF file: everything about a program or library except its debug information.
//
// Only this class uses libelf. Addresses are ELF virtual addresses as linked (before relocation). For terms and layouts
// see the System V ABI, chapters 4 and 5 ("ELF-64 Object File Format"). For the debug link see GDB's manual, "Debugging
// Information in Separate Files".
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/linked_object.h"
#include "base/result.h"

struct Elf;

namespace sonde {

// A PT_LOAD entry: `file_size` bytes at `offset` are mapped to `address`, followed by zeros up to `memory_size`.
struct ElfSegment {
    uint64_t address = 0;
    uint64_t offset = 0;
    uint64_t file_size = 0;
    uint64_t memory_size = 0;
    bool readable = false, writable = false, executable = false;
};

// A section header. Sections are used to find data by name. Segments decide what is loaded.
struct ElfSection {
    std::string_view name; // valid as long as the ElfFile
    uint64_t address = 0;
    uint64_t offset = 0;
    uint64_t size = 0;
    uint64_t flags = 0; // SHF_*
    uint32_t type = 0;  // SHT_*
};

// Names are as in the file: mangled, without a version.
struct ElfSymbol {
    std::string_view name; // valid as long as the ElfFile
    uint64_t address = 0;
    uint64_t size = 0;    // 0: unknown
    uint8_t type = 0;     // STT_*
    uint8_t binding = 0;  // STB_*
    uint16_t section = 0; // SHN_*; SHN_UNDEF: defined elsewhere
    bool dynamic = false; // from .dynsym
};

// The name of a file with debug information (.gnu_debuglink).
struct DebugLink {
    std::string name;
    uint32_t crc = 0; // elf_crc32() of the whole debug file
};

// Error::os_error for a program or library of another machine or word size. ENOEXEC stands for everything else that
// cannot run.
constexpr int foreign_program = ENOTSUP;

// An open file. It stays mapped as long as the object exists, and views of its data are valid that long.
class ElfFile {
  public:
    // Opens a program, a library, or a separate debug file, for this machine. Errors describe the problem: the path is
    // missing, a folder or a device; it is not readable; it is not an ELF file, or truncated; it is an object or core
    // file; it is for another machine or word size.
    static Result<ElfFile> open(const std::string& path) { return open(path, {}); }
    // The same for a machine (EM_*).
    static Result<ElfFile> open_for(const std::string& path, uint16_t machine) {
        return open(path, {.machine = machine});
    }
    // Also accepts a 32-bit program that this machine can run.
    static Result<ElfFile> open_any_width(const std::string& path) { return open(path, {.narrow = true}); }
    // Also accepts a program for another machine (see runs_on()).
    static Result<ElfFile> open_any_machine(const std::string& path) {
        return open(path, {.narrow = true, .foreign = true});
    }
    // Also accepts an object file, in which debug information without a program is stored.
    static Result<ElfFile> open_debug_information(const std::string& path) {
        return open(path, {.narrow = true, .object = true, .foreign = true});
    }

    // The same for a file in memory, whose name is only for messages. A path in /proc would need that file system,
    // which a translation for another root directory does not have.
    static Result<ElfFile> open_in_memory(Fd file, const std::string& name);

    // Opens an object file of any machine as if it were linked (base/linked_object.h).
    static Result<ElfFile> open_linked(const std::string& path, const DescribeRelocation& describe);

    ElfFile(ElfFile&&) noexcept;
    ElfFile& operator=(ElfFile&&) noexcept;
    ~ElfFile();

    const std::string& path() const { return path_; }
    int fd() const { return fd_.get(); }
    // For libdw's wrapper only. This object owns the handle.
    Elf* elf() const { return elf_.get(); }

    // ET_DYN: a library or a position-independent program, whose load address is known only at run time.
    bool is_dynamic() const { return dynamic_; }
    // A debug file made by `objcopy --only-keep-debug`: it has all section headers, but not the contents of code and
    // data.
    bool is_debug_only() const { return debug_only_; }
    uint64_t entry() const { return entry_; }
    uint16_t machine() const { return machine_; } // EM_*
    std::string machine_name() const;
    // Returns an error if the kernel of the machine (EM_*) does not run the file.
    Result<void> runs_on(uint16_t machine) const;
    bool is_32_bit() const { return narrow_; }

    // In lower-case hexadecimal; empty if the file has none.
    std::string build_id() const;

    const std::vector<ElfSegment>& segments() const { return segments_; }
    // The offset in the file of the byte at `address`. nullopt if no segment contains it, or the byte is not in the
    // file (.bss).
    std::optional<uint64_t> file_offset(uint64_t address) const;
    // The inverse. If several segments map the same bytes, an executable one is preferred.
    std::optional<uint64_t> address_of_offset(uint64_t offset) const;

    // Whether both addresses are in the same segment.
    bool same_segment(uint64_t one, uint64_t other) const;

    const std::vector<ElfSection>& sections() const { return sections_; }
    // The first section with this name; null if the file has none.
    const ElfSection* find_section(std::string_view name) const;
    // The section's bytes as in the file. Empty if the section does not exist or has no bytes in the file. Valid as
    // long as this object.
    std::string_view section_data(std::string_view name) const;

    // The contents of .gnu_debuglink; nullopt if the section is missing or damaged.
    std::optional<DebugLink> debuglink() const;

    // Visits every named symbol of .symtab, then of .dynsym, until `visit` returns false.
    void for_each_symbol(const std::function<bool(const ElfSymbol&)>& visit) const;

  private:
    struct ElfCloser {
        void operator()(Elf* elf) const;
    };
    ElfFile() = default;
    // Files to accept besides 64-bit programs and libraries.
    struct Accepted {
        bool narrow = false;
        bool object = false;
        bool foreign = false;
        uint16_t machine = 0; // EM_*; 0: this machine
    };
    static Result<ElfFile> open(const std::string& path, Accepted accepted);
    static Result<ElfFile> read(Fd fd, const std::string& path, Accepted accepted);
    Result<void> check_header(uint64_t file_size, Accepted accepted);
    Result<void> read_segments(uint64_t file_size);
    Result<void> read_sections(uint64_t file_size);

    std::string path_;
    Fd fd_;
    std::unique_ptr<Elf, ElfCloser> elf_; // must be closed before fd_
    std::vector<ElfSegment> segments_;
    std::vector<ElfSection> sections_; // by section number; [0] is the null section
    bool dynamic_ = false, debug_only_ = false, narrow_ = false;
    uint64_t entry_ = 0;
    uint16_t machine_ = 0;
};

// The checksum of a debug link over a whole file: CRC-32 as in IEEE 802.3. To continue a checksum, pass the previous
// result.
uint32_t elf_crc32(std::string_view data, uint32_t crc = 0);

} // namespace sonde
