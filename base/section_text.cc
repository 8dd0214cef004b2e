// Reads sections that may be compressed.
//
// The size in a compression header is not trusted: it may be much larger than the data. deflate reaches a ratio of 1032
// at most, so a larger one is a sign of damage, and no memory is allocated for it.
#include "base/section_text.h"

#include <elf.h>
#include <zlib.h>
#include <zstd.h>

namespace sonde {
namespace {

struct Packed {
    uint32_t kind = 0;
    uint64_t size = 0; // when decompressed
    std::string_view bytes;
};

template <typename Header> std::optional<Packed> read_header(std::string_view data) {
    Header header;
    if (data.size() < sizeof header)
        return std::nullopt;
    data.copy(reinterpret_cast<char*>(&header), sizeof header);
    return Packed{header.ch_type, header.ch_size, data.substr(sizeof header)};
}

} // namespace

std::optional<std::string> read_section(const ElfFile& file, std::string_view name, uint64_t most) {
    const ElfSection* section = file.find_section(name);
    std::string_view data = file.section_data(name);
    if (!section || data.empty())
        return std::nullopt;
    if (!(section->flags & SHF_COMPRESSED))
        return data.size() <= most ? std::optional<std::string>(data) : std::nullopt;
    std::optional<Packed> packed = file.is_32_bit() ? read_header<Elf32_Chdr>(data) : read_header<Elf64_Chdr>(data);
    constexpr uint64_t zlib = 1, zstd = 2, largest_ratio = 1100; // ELFCOMPRESS_*; deflate reaches a ratio of 1032
    if (!packed || packed->size > most || packed->size / largest_ratio > packed->bytes.size())
        return std::nullopt;
    std::string out(packed->size, '\0');
    uint64_t got = 0;
    if (packed->kind == zlib) {
        uLongf size = out.size();
        if (uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                       reinterpret_cast<const Bytef*>(packed->bytes.data()), packed->bytes.size()) == Z_OK)
            got = size;
    } else if (packed->kind == zstd) {
        got = ZSTD_decompress(out.data(), out.size(), packed->bytes.data(), packed->bytes.size()); // or an error code
    }
    return got == out.size() ? std::optional(std::move(out)) : std::nullopt;
}

} // namespace sonde
