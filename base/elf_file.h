// One ELF file, open for reading: what has to be known of a program or library before and beside its debug information.
//
// libelf stays behind this class. Addresses are ELF virtual addresses as linked (before relocation). Terms and layouts:
// the System V ABI, chapters 4 and 5 ("ELF-64 Object File Format"), and for the debug link GDB's manual, "Debugging
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
#include "base/result.h"

struct Elf;

namespace sonde {

// A PT_LOAD entry: `file_size` bytes at `offset` are mapped to `address`, zeros up to `memory_size`.
struct ElfSegment {
    uint64_t address = 0;
    uint64_t offset = 0;
    uint64_t file_size = 0;
    uint64_t memory_size = 0;
    bool readable = false, writable = false, executable = false;
};

struct ElfSection {
    std::string_view name; // lives as long as the ElfFile
    uint64_t address = 0;
    uint64_t offset = 0;
    uint64_t size = 0;
    uint64_t flags = 0; // SHF_*
    uint32_t type = 0;  // SHT_*
};

// Names are as in the file: mangled, without a version.
struct ElfSymbol {
    std::string_view name; // lives as long as the ElfFile
    uint64_t address = 0;
    uint64_t size = 0;    // 0: not known
    uint8_t type = 0;     // STT_*
    uint8_t binding = 0;  // STB_*
    uint16_t section = 0; // SHN_*; SHN_UNDEF: defined elsewhere
    bool dynamic = false; // from .dynsym
};

// Where the debug information is when it is in another file (.gnu_debuglink).
struct DebugLink {
    std::string name;
    uint32_t crc = 0; // of the whole debug file: elf_crc32()
};

// Error::os_error of a program or library for another machine or word size; ENOEXEC is anything else that cannot run.
constexpr int foreign_program = ENOTSUP;

class ElfFile {
  public:
    // Opens a program, a library or the separate debug file of one, for this machine. Errors say what is wrong with the
    // path or the file: it is missing, a folder or a device, may not be read, is no ELF file, is cut off, is an object
    // file or a core file, or is for another machine or word size.
    static Result<ElfFile> open(const std::string& path) { return open(path, {}); }
    // The same, and a 32-bit program too, of a kind that this machine runs.
    static Result<ElfFile> open_any_width(const std::string& path) { return open(path, {.narrow = true}); }
    // The same, and an object file too: debug information without a program of its own is in one.
    static Result<ElfFile> open_debug_information(const std::string& path) {
        return open(path, {.narrow = true, .object = true});
    }

    // An object file, as if it had been linked (base/linked_object.h).
    static Result<ElfFile> open_linked(const std::string& path);

    ElfFile(ElfFile&&) noexcept;
    ElfFile& operator=(ElfFile&&) noexcept;
    ~ElfFile();

    const std::string& path() const { return path_; }
    int fd() const { return fd_.get(); }
    // For libdw, at its wrapper only. Owned by this.
    Elf* elf() const { return elf_.get(); }

    // ET_DYN: a library or a position-independent program, loaded at an address that is known only at run time.
    bool is_dynamic() const { return dynamic_; }
    // A debug file made by `objcopy --only-keep-debug`: sections have their headers, but code and data are not there.
    bool is_debug_only() const { return debug_only_; }
    uint64_t entry() const { return entry_; }
    uint16_t machine() const { return machine_; } // EM_*
    bool is_32_bit() const { return narrow_; }

    // In lower-case hexadecimal; empty if there is none.
    std::string build_id() const;

    const std::vector<ElfSegment>& segments() const { return segments_; }
    // The place in the file of the byte at `address`; nothing if no segment has it, or it is zeros without a place.
    std::optional<uint64_t> file_offset(uint64_t address) const;
    // The other way. Of several segments that map the same bytes, an executable one is preferred.
    std::optional<uint64_t> address_of_offset(uint64_t offset) const;

    // Whether one segment has both addresses.
    bool same_segment(uint64_t one, uint64_t other) const;

    const std::vector<ElfSection>& sections() const { return sections_; }
    const ElfSection* find_section(std::string_view name) const;
    // The section's bytes as they are in the file; empty if there is none or it occupies no bytes. Lives as long as
    // this.
    std::string_view section_data(std::string_view name) const;

    std::optional<DebugLink> debuglink() const;

    // Every named symbol of .symtab, then of .dynsym; `visit` returns false to stop.
    void for_each_symbol(const std::function<bool(const ElfSymbol&)>& visit) const;

  private:
    struct ElfCloser {
        void operator()(Elf* elf) const;
    };
    ElfFile() = default;
    // What is opened besides 64-bit programs and libraries.
    struct Accepted {
        bool narrow = false;
        bool object = false;
    };
    static Result<ElfFile> open(const std::string& path, Accepted accepted);
    Result<void> check_header(uint64_t file_size, Accepted accepted);
    Result<void> read_segments(uint64_t file_size);
    Result<void> read_sections(uint64_t file_size);

    std::string path_;
    Fd fd_;
    std::unique_ptr<Elf, ElfCloser> elf_; // closed before fd_
    std::vector<ElfSegment> segments_;
    std::vector<ElfSection> sections_; // by section number; [0] is the null section
    bool dynamic_ = false, debug_only_ = false, narrow_ = false;
    uint64_t entry_ = 0;
    uint16_t machine_ = 0;
};

// The checksum of a debug link, over a whole file: CRC-32 as in IEEE 802.3. To continue, pass the last result.
uint32_t elf_crc32(std::string_view data, uint32_t crc = 0);

} // namespace sonde
