// Machine code that unwinding recognizes where a file has no tables.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde {

// Where the caller is, from an instruction up to the next row. Distances are in words. The kinds are those of
// sonde_rule_kind (runtime/plan/file_table.h).
struct FrameRow {
    enum Kind : uint8_t {
        Unknown, // the frame pointer may be the function's or that of a caller
        Frame,   // the frame pointer is the function's own
        Stack,   // CFA = sp + cfa
        Pointer, // CFA = fp + cfa
        Link,    // CFA = sp + cfa; the return address is in the link register
        Alone,   // CFA = sp + cfa; the return address is `saved` words below the CFA
    };
    size_t at = 0; // of the instruction, in bytes from the beginning
    Kind kind = Unknown;
    unsigned cfa = 0;
    unsigned saved = 0; // Stack and Pointer: the caller's frame pointer is saved so far below the CFA; 0: unchanged

    bool same_frame(const FrameRow& other) const {
        return kind == other.kind && cfa == other.cfa && saved == other.saved;
    }
};

} // namespace sonde
