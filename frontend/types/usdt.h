// User-space statically defined tracing: the marks that <sys/sdt.h> leaves in .note.stapsdt.
//
// Source: the comments of sys/sdt.h (Debian: systemtap-sdt-dev) on the note's layout and the arguments' format.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/elf_file.h"
#include "frontend/types/location.h"

namespace sonde {

struct UsdtArgument {
    uint32_t size = 8; // bytes: 1, 2, 4, 8
    bool is_signed = false;
    bool is_float = false;
    Location location; // holds at the mark's instruction
};

struct UsdtMark {
    std::string provider, name;
    uint64_t address = 0;                     // of the nop, as linked
    std::optional<uint64_t> semaphore_offset; // file offset of the counter that says whether somebody listens
    std::vector<UsdtArgument> arguments;
};

// Of an ELF file, in its order. Notes that make no sense are skipped.
std::vector<UsdtMark> read_usdt_marks(const ElfFile& file);

// "-4@-20(%rbp)": `address` is the mark's own, for what is relative to rip; `symbol` gives linked addresses.
// `is_32_bit`: it is i386 code, whose addresses are of 4 bytes. An operand that cannot be read gives a location that
// says why.
UsdtArgument parse_usdt_argument(std::string_view text, uint64_t address,
                                 const std::function<std::optional<uint64_t>(std::string_view)>& symbol,
                                 bool is_32_bit = false);

} // namespace sonde
