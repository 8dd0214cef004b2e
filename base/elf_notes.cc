// A note has three numbers, and then two texts:
//
//     namesz = 4, descsz = 20, type = NT_GNU_BUILD_ID (3), "GNU\0", 20 bytes of hash
//
// Both texts end at a multiple of the alignment, counted from the note's beginning. The last padding may be missing.
#include "base/elf_notes.h"

#include <elf.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/byte_cursor.h"

namespace sonde {

std::vector<ElfNote> read_notes(std::string_view bytes, uint64_t alignment) {
    const uint64_t unit = alignment == 8 ? 8 : 4;
    std::vector<ElfNote> out;
    ByteCursor cursor(bytes);
    const auto skip_padding = [&] { cursor.skip(std::min((unit - cursor.position() % unit) % unit, cursor.rest())); };
    while (!cursor.empty()) {
        const auto owner_size = cursor.take<uint32_t>(), size = cursor.take<uint32_t>();
        ElfNote note;
        note.type = cursor.take<uint32_t>();
        note.owner = cursor.take_bytes(owner_size);
        note.owner = note.owner.substr(0, note.owner.find('\0'));
        skip_padding();
        note.contents = cursor.take_bytes(size);
        if (cursor.failed())
            break;
        out.push_back(note);
        skip_padding();
    }
    return out;
}

std::string_view find_build_id(std::string_view notes, uint64_t alignment) {
    for (const ElfNote& note : read_notes(notes, alignment))
        if (note.type == NT_GNU_BUILD_ID && note.owner == "GNU")
            return note.contents;
    return {};
}

std::string to_hex(std::string_view bytes) {
    std::string out;
    for (const char byte : bytes)
        out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return out;
}

} // namespace sonde
