// Owners of libdw's objects.
#pragma once

#include <elfutils/libdw.h>

#include <memory>

namespace sonde {

struct EndDwarf {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};
// The ELF file must outlive the handle.
using DwarfHandle = std::unique_ptr<Dwarf, EndDwarf>;

struct EndFrames {
    void operator()(Dwarf_CFI* frames) const { dwarf_cfi_end(frames); }
};
// Only for results of dwarf_getcfi_elf(). Those of dwarf_getcfi() belong to the Dwarf.
using FramesHandle = std::unique_ptr<Dwarf_CFI, EndFrames>;

} // namespace sonde
