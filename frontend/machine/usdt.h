// User-space statically defined tracing (USDT): the markers that <sys/sdt.h> stores in the section .note.stapsdt.
//
// Source: the comments in sys/sdt.h (Debian: systemtap-sdt-dev) about the format of the notes and of the arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/architecture.h"
#include "base/elf_file.h"
#include "frontend/machine/location.h"

namespace sonde {

// An argument of a marker.
struct UsdtArgument {
    uint32_t size = 8; // bytes: 1, 2, 4, 8
    bool is_signed = false;
    bool is_float = false;
    Location location; // valid at the marker's instruction
};

// A marker: a nop instruction, which a breakpoint replaces, and its arguments.
struct UsdtMark {
    std::string provider, name;
    uint64_t address = 0; // of the nop, as linked
    // File offset of the counter that tells the program whether somebody traces the marker.
    std::optional<uint64_t> semaphore_offset;
    std::vector<UsdtArgument> arguments;
};

// Returns the markers of an ELF file, in their order. Skips malformed notes.
std::vector<UsdtMark> read_usdt_marks(const ElfFile& file);

// Parses an argument: a size and an operand. `address` is the marker's, for operands relative to the instruction
// pointer. `symbol` returns the linked address of a symbol. If the operand cannot be parsed, the location is
// Unavailable with a reason.
UsdtArgument parse_usdt_argument(std::string_view text, uint64_t address, const FindSymbol& symbol,
                                 const Architecture& architecture);

} // namespace sonde
