// Unwind rows of code without call frame information, by following its instructions: hand-written assembler, startup
// code of the C compiler (crtbegin.o, .init, .fini), and programs that are compiled without tables.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "arch/architecture.h"
#include "arch/frame_code.h"
#include "runtime/symbols/cfi.h"

namespace sonde {

// Returns the rows for frames of code that begins at `address`.
std::vector<UnwindRow> rows_of_frames(uint64_t address, const std::vector<FrameRow>& frames);

// Returns rows for `size` bytes of code at `address`. `code` may be shorter: then its end is unknown. `entries` are the
// addresses at which calls enter the code.
//
// SONDE_RULE_NONE means an unknown frame: no path from an entry reaches the instruction, or an unknown instruction is
// on that path, or two paths reach it with different frames. Handlers use frame pointers there. The rule records
// whether the code has set up its own.
std::vector<UnwindRow> rows_by_code(uint64_t address, uint64_t size, std::string_view code,
                                    std::span<const uint64_t> entries, const Architecture& architecture);

} // namespace sonde
