// The data can be from any user's program, and sonde runs as root. So the output is written in small pieces, and stops
// as soon as it is larger than allowed: a few kilobytes can decompress to terabytes. It goes to a file in memory,
// because libelf reads files.
#include "base/unpack.h"

#include <lz4.h>
#include <lzma.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sonde {
namespace {

using std::string_view;
// Receives a piece of data; returns false to stop.
using Put = std::function<bool(const void* data, size_t size)>;

// Each function returns true if the data is complete.

bool unpack_xz(string_view bytes, const Put& put) {
    constexpr uint64_t most_memory = 256 << 20;
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, most_memory, 0) != LZMA_OK)
        return false;
    std::unique_ptr<lzma_stream, decltype(&lzma_end)> end(&stream, &lzma_end);
    std::vector<uint8_t> buffer(1 << 16);
    stream.next_in = reinterpret_cast<const uint8_t*>(bytes.data());
    stream.avail_in = bytes.size();
    for (lzma_ret status = LZMA_OK; status == LZMA_OK;) {
        stream.next_out = buffer.data();
        stream.avail_out = buffer.size();
        status = lzma_code(&stream, LZMA_FINISH);
        if (!put(buffer.data(), buffer.size() - stream.avail_out))
            return false;
        if (status == LZMA_STREAM_END)
            return true;
    }
    return false;
}

bool unpack_gzip(string_view bytes, const Put& put) {
    constexpr int with_head = 16 + MAX_WBITS;
    z_stream stream{};
    if (inflateInit2(&stream, with_head) != Z_OK)
        return false;
    std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, &inflateEnd);
    std::vector<uint8_t> buffer(1 << 16);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(std::min<size_t>(bytes.size(), UINT32_MAX));
    for (int status = Z_OK; status == Z_OK;) {
        stream.next_out = buffer.data();
        stream.avail_out = static_cast<uInt>(buffer.size());
        status = inflate(&stream, Z_NO_FLUSH);
        if (!put(buffer.data(), buffer.size() - stream.avail_out))
            return false;
        if (status == Z_STREAM_END)
            return true;
    }
    return false;
}

bool unpack_zstd(string_view bytes, const Put& put) {
    std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
    std::vector<char> buffer(ZSTD_DStreamOutSize());
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    if (!context)
        return false;
    for (;;) {
        ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
        const size_t before = in.pos, left = ZSTD_decompressStream(context.get(), &out, &in);
        if (ZSTD_isError(left) || !put(buffer.data(), out.pos))
            return false;
        if (left == 0)
            return true;
        if (out.pos == 0 && in.pos == before)
            return false;
    }
}

// Blocks of at most 8 MB, each preceded by its size (lz4_Frame_format.md, "Legacy frame").
bool unpack_lz4(string_view bytes, const Put& put) {
    constexpr int block = 8 << 20;
    std::vector<char> buffer(block);
    bytes.remove_prefix(4);
    bool any = false;
    for (uint32_t size = 0; bytes.size() > sizeof size; bytes.remove_prefix(size)) {
        std::memcpy(&size, bytes.data(), sizeof size);
        bytes.remove_prefix(sizeof size);
        if (size > bytes.size() || size > LZ4_COMPRESSBOUND(block))
            return any; // data after the last block
        const char* packed = bytes.data();
        const int got = LZ4_decompress_safe(packed, buffer.data(), static_cast<int>(size), block);
        if (got < 0 || !put(buffer.data(), static_cast<size_t>(got)))
            return false;
        any = true;
    }
    return any;
}

struct Packing {
    string_view magic;
    bool (*unpack)(string_view, const Put&);
};
constexpr Packing packings[] = {
    {{"\x02\x21\x4c\x18", 4}, unpack_lz4},
    {{"\x28\xb5\x2f\xfd", 4}, unpack_zstd},
    {{"\xfd\x37zXZ\0", 6}, unpack_xz},
    {{"\x1f\x8b", 2}, unpack_gzip},
};

const Packing* packing_of(string_view bytes) {
    const Packing* found = std::find_if(std::begin(packings), std::end(packings),
                                        [&](const Packing& one) { return bytes.starts_with(one.magic); });
    return found == std::end(packings) ? nullptr : found;
}

} // namespace

bool is_packed(string_view bytes) { return packing_of(bytes) != nullptr; }

std::string size_text(uint64_t bytes) {
    constexpr std::pair<uint64_t, const char*> units[] = {{uint64_t{1} << 30, "GB"}, {1 << 20, "MB"}, {1 << 10, "KB"}};
    for (const auto& [size, name] : units)
        if (bytes >= size)
            return fmt::format("{:.{}f} {}", static_cast<double>(bytes) / static_cast<double>(size),
                               bytes < 10 * size ? 1 : 0, name);
    return fmt::format("{} bytes", bytes);
}

uint64_t unpacked_limit(uint64_t packed) {
    constexpr uint64_t times = 24, always = 16 << 20;
    const uint64_t by_size = packed > UINT64_MAX / times ? UINT64_MAX : std::max(always, packed * times);
    // Reads "MemAvailable:   21012345 kB" (proc(5)). If the line is missing, only the size counts.
    constexpr string_view field = "MemAvailable:";
    const Result<std::string> memory = read_file("/proc/meminfo");
    const size_t at = memory ? memory->find(field) : std::string::npos;
    if (at == std::string::npos)
        return by_size;
    return std::min<uint64_t>(by_size, std::strtoull(memory->c_str() + at + field.size(), nullptr, 10) * 1024 / 2);
}

Result<Fd> unpack(string_view bytes, uint64_t most) {
    const Packing* packing = packing_of(bytes);
    if (!packing)
        return Error("its packing is unknown");
    Fd out(memfd_create("unpacked", MFD_CLOEXEC));
    if (!out)
        return errno_error("no memory for the unpacked data", errno);
    uint64_t size = 0;
    bool too_large = false;
    int failed = 0;
    auto put = [&](const void* data, size_t more) {
        size += more;
        too_large = size > most;
        if (!too_large && write(out.get(), data, more) != static_cast<ssize_t>(more))
            failed = errno ? errno : ENOSPC;
        return !too_large && !failed;
    };
    errno = 0;
    const bool ended = packing->unpack(bytes, put);
    if (failed)
        return errno_error("no memory for the unpacked data", failed);
    if (too_large)
        return Error(
            fmt::format("it is too large: {} would unpack to more than {}", size_text(bytes.size()), size_text(most)),
            EFBIG);
    if (!ended)
        return Error("the packed data is damaged");
    return out;
}

} // namespace sonde
