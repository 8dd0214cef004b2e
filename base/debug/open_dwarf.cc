// Opens debug information with libdw; open_dwarf.h explains why the sizes are checked first.
//
// dwz(1) moves DIEs that several programs have in common to another file, which .gnu_debugaltlink names. libdw searches
// and opens that file when it is first needed, wherever it finds it. Its sections can be compressed, too. So the file
// is found and checked here, before libdw gets a chance, and passed to libdw.
//
// Compressed sections have two forms: SHF_COMPRESSED with a header in the section (System V gABI), and the older
// `.zdebug_` sections of GNU binutils.
#include "base/debug/open_dwarf.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/debug_file.h"
#include "base/program_identity.h"
#include "base/unpack.h"

namespace sonde {
namespace {

// The decompressed size according to the section's header; the size in the file if it is not compressed.
uint64_t stated_size(const ElfFile& file, const ElfSection& section) {
    const Result<std::string> data = read_at(file.fd(), section.offset, std::min<uint64_t>(section.size, 64));
    if (!data)
        return section.size;
    if (section.flags & SHF_COMPRESSED) {
        Elf64_Chdr header{};
        Elf32_Chdr narrow{};
        std::memcpy(&header, data->data(), std::min(data->size(), sizeof header));
        std::memcpy(&narrow, data->data(), std::min(data->size(), sizeof narrow));
        return file.is_32_bit() ? narrow.ch_size : header.ch_size;
    }
    // .zdebug_info begins with "ZLIB" and the size in big-endian order.
    constexpr std::string_view magic = "ZLIB";
    if (!section.name.starts_with(".zdebug") || data->size() < magic.size() + 8 || !data->starts_with(magic))
        return section.size;
    uint64_t size = 0;
    for (unsigned char byte : std::string_view(*data).substr(magic.size(), 8))
        size = size << 8 | byte;
    return size;
}

} // namespace

std::string why_not_unpack(const ElfFile& file) {
    uint64_t packed = 0, unpacked = 0;
    for (const ElfSection& section : file.sections()) {
        if (section.type == SHT_NOBITS)
            continue;
        const uint64_t size = stated_size(file, section);
        if (size == section.size)
            continue;
        packed += section.size;
        unpacked = size > UINT64_MAX - unpacked ? UINT64_MAX : unpacked + size;
    }
    const uint64_t most = unpacked_limit(packed);
    if (unpacked <= most)
        return "";
    return fmt::format(
        "sonde ignores the debug information of `{}`: {} would unpack to {}, and at most {} are allowed; if you trust "
        "the file, decompress it with `objcopy --decompress-debug-sections {} COPY`",
        file.path(), size_text(packed), size_text(unpacked), size_text(most), file.path());
}

// libdw searches the common file itself at its first use. So find and check it before.
bool OpenedDwarf::open(const ElfFile& file, bool may_download, std::vector<std::string>& problems) {
    close();
    std::optional<ElfFile> named; // libdw would use this file if none is set
    if (file.find_section(".gnu_debugaltlink")) {
        common = find_common_file(file, {.may_download = may_download, .problems = &problems});
        if (!common)
            named = open_named_common_file(file);
    }
    for (const ElfFile* one :
         {&file, common ? &std::as_const(*common) : nullptr, named ? &std::as_const(*named) : nullptr})
        if (std::string why = one ? why_not_unpack(*one) : ""; !why.empty()) {
            problems.push_back(std::move(why));
            return false;
        }
    dwarf.reset(dwarf_begin_elf(file.elf(), DWARF_C_READ, nullptr));
    if (dwarf && common)
        common_dwarf.reset(dwarf_begin_elf(common->elf(), DWARF_C_READ, nullptr));
    if (common_dwarf)
        dwarf_setalt(dwarf.get(), common_dwarf.get());
    return dwarf != nullptr;
}

void OpenedDwarf::close() {
    dwarf.reset();
    common_dwarf.reset();
    common.reset();
}

} // namespace sonde
