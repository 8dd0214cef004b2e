// Owners of what libdw opens.
#pragma once

#include <elfutils/libdw.h>

#include <memory>

namespace sonde {

struct EndDwarf {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};
// Its ELF file must outlive it.
using DwarfHandle = std::unique_ptr<Dwarf, EndDwarf>;

struct EndFrames {
    void operator()(Dwarf_CFI* frames) const { dwarf_cfi_end(frames); }
};
// Only for what dwarf_getcfi_elf() gives: dwarf_getcfi()'s belongs to the Dwarf.
using FramesHandle = std::unique_ptr<Dwarf_CFI, EndFrames>;

} // namespace sonde
