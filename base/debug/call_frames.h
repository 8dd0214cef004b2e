// The records of .eh_frame and .debug_frame, which describe the functions of a program for unwinding.
//
// A Frame Description Entry (FDE) describes one function, or one part of a function. A Common Information Entry (CIE)
// has the properties that many FDEs share:
//
//     CIE   addresses are relative and have 4 bytes; a return address is in rip; "CFA = rsp + 8, rip at CFA - 8"
//     FDE   this CIE; 1000 to 1020; "advance 1; CFA = rsp + 16; rbp at CFA - 16"
//     FDE   this CIE; 1020 to 1100; ...
//
// Formats: Linux Standard Base Core Specification, sections 10.5 and 10.6; DWARF 5, section 6.4.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/byte_cursor.h"

namespace sonde {

// The section that the bytes come from. The two formats differ only in how they mark a CIE and refer to one.
enum class CfiKind { EhFrame, DebugFrame };

struct Cie {
    uint64_t code_align = 1;
    int64_t data_align = 1;
    uint64_t return_register = 0;  // as numbered by the processor's psABI
    uint8_t pointers = 0;          // encoding of the addresses in FDEs (DW_EH_PE_*)
    uint8_t handlers = 0xff;       // encoding of Fde::handlers (DW_EH_PE_omit: there are none)
    bool handles = false;          // has a personality routine: exceptions are caught or cleaned up in its functions
    bool is_signal_frame = false;  // unwinding goes on at the interrupted instruction, not after a call
    std::string_view instructions; // the state at the beginning of each function
};

struct Fde {
    const Cie& cie;
    uint64_t begin, end; // as linked
    // Address of the table for the personality routine (.gcc_except_table); 0: none; UINT64_MAX: it cannot be read.
    uint64_t handlers;
    std::string_view instructions;
};

// Calls `take` for each FDE in the order of the section, as long as it returns true. `address` is the section's address
// as linked; pointers are relative to it. `word`: 8 for x86-64, 4 for i386.
//
// The bytes are not trusted. FDEs that cannot be read are skipped, and those whose CIE has an unknown version or
// augmentation, because then the lengths of the fields that follow are unknown. A record that does not fit into the
// section ends the walk.
void for_each_fde(std::string_view section, uint64_t address, CfiKind kind, int word,
                  const std::function<bool(const Fde&)>& take);

// Reads a pointer in an encoding DW_EH_PE_*: the low four bits are the format, the next three select the base. Supports
// absolute pointers and those relative to their own address (DW_EH_PE_pcrel); others fail. Does not follow indirect
// ones (DW_EH_PE_indirect).
uint64_t take_pointer(ByteCursor& in, uint8_t encoding, int word);

} // namespace sonde
