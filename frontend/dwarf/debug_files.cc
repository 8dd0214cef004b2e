#include "frontend/dwarf/debug_files.h"

#include <algorithm>

#include "base/debug_file.h"

namespace sonde {

bool DebugFiles::found() {
    if (!searched_) {
        searched_ = true;
        if (!has_dwarf(file_.elf()))
            separate_ = find_debug_file(file_.elf(), {.may_download = true, .problems = &problems_});
    }
    return separate_ || has_dwarf(file_.elf());
}

const ElfFile* DebugFiles::separate() {
    found();
    return separate_ ? &*separate_ : nullptr;
}

Dwarf* DebugFiles::dwarf() {
    if (!opened_) {
        opened_ = true;
        if (found())
            dwarf_.reset(dwarf_begin_elf(separate_ ? separate_->elf() : file_.elf().elf(), DWARF_C_READ, nullptr));
        if (dwarf_)
            dwarfs_.push_back(dwarf_.get());
        open_common();
    }
    return dwarf_.get();
}

// dwz's common file: libdw finds it by its name only.
void DebugFiles::open_common() {
    const ElfFile& file = separate_ ? *separate_ : file_.elf();
    if (!dwarf_ || !file.find_section(".gnu_debugaltlink") || dwarf_getalt(dwarf_.get()))
        return;
    common_ = find_common_file(file, {.may_download = true, .problems = &problems_});
    common_dwarf_.reset(common_ ? dwarf_begin_elf(common_->elf(), DWARF_C_READ, nullptr) : nullptr);
    if (common_dwarf_)
        dwarf_setalt(dwarf_.get(), common_dwarf_.get());
}

Dwarf_CFI* DebugFiles::eh_frame() {
    if (!eh_frame_opened_) {
        eh_frame_opened_ = true;
        // The stripped file has it; its debug file has only an empty section of that name.
        eh_frame_.reset(dwarf_getcfi_elf(file_.elf().elf()));
    }
    return eh_frame_.get();
}

Dwarf_CFI* DebugFiles::debug_frame() { return dwarf() ? dwarf_getcfi(dwarf()) : nullptr; }

size_t DebugFiles::number_of(Dwarf* dwarf) {
    auto found = std::find(dwarfs_.begin(), dwarfs_.end(), dwarf);
    if (found == dwarfs_.end())
        found = dwarfs_.insert(dwarfs_.end(), dwarf);
    return static_cast<size_t>(found - dwarfs_.begin());
}

DieOffset DebugFiles::pack(Dwarf_Die& die) {
    return uint64_t{number_of(dwarf_cu_getdwarf(die.cu))} << 48 | dwarf_dieoffset(&die);
}

bool DebugFiles::unpack(DieOffset packed, Dwarf_Die* die) {
    size_t number = packed >> 48;
    if (!dwarf() || packed == 0 || number >= dwarfs_.size())
        return false;
    return dwarf_offdie(dwarfs_[number], packed & ((uint64_t{1} << 48) - 1), die) != nullptr;
}

void DebugFiles::forget() {
    eh_frame_.reset();
    eh_frame_opened_ = false;
    dwarf_.reset();
    dwarfs_.clear();
    opened_ = false;
}

} // namespace sonde
