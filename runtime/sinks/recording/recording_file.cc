#include "runtime/sinks/recording/recording_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include <fmt/format.h>
#include <zstd.h>

#include "base/byte_cursor.h"

namespace sonde {
namespace {

constexpr std::string_view any_magic = "sonde recording "; // of any version
constexpr size_t full_block = 256 << 10;                   // bytes of events that wait
constexpr uint32_t largest_block = 1u << 30;               // when decompressed: one event can be large
constexpr uint64_t least_ratio = 1 << 16; // zstd stores a run of equal bytes at a ratio of up to about 32,000
constexpr size_t event_head = sizeof(uint32_t) + 1, block_head = 2 * sizeof(uint32_t);

void add_number(std::string& out, uint32_t number) {
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Compresses with a checksum of the contents (RFC 8878, section 3.1.1). Returns false without memory.
bool pack(const std::string& block, std::string& out) {
    const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
    if (!context || ZSTD_isError(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1)))
        return false;
    out.resize(ZSTD_compressBound(block.size()));
    const size_t size = ZSTD_compress2(context.get(), out.data(), out.size(), block.data(), block.size());
    if (ZSTD_isError(size))
        return false;
    out.resize(size);
    return true;
}

} // namespace

Result<std::unique_ptr<RecordingWriter>> RecordingWriter::create(const std::string& path) {
    Result<Fd> file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file)
        return std::move(file).error();
    std::unique_ptr<RecordingWriter> out(new RecordingWriter(*std::move(file), path));
    if (Result<void> written = write_all(out->file_.get(), recording_magic, path); !written)
        return std::move(written).error();
    out->bytes_ = recording_magic.size();
    return out;
}

void RecordingWriter::add(Event kind, std::string_view bytes) {
    if (failure_)
        return;
    if (bytes.size() > largest_block - event_head) {
        failure_ = Error(fmt::format("cannot write `{}`: an event has {} bytes", path_, bytes.size()));
        return;
    }
    if (block_.size() + event_head + bytes.size() > largest_block)
        flush();
    add_number(block_, static_cast<uint32_t>(bytes.size()));
    block_ += static_cast<char>(kind);
    block_ += bytes;
    if (block_.size() >= full_block)
        flush();
}

void RecordingWriter::flush() {
    if (failure_ || block_.empty())
        return;
    if (!pack(block_, packed_)) {
        failure_ = Error(fmt::format("cannot write `{}`: out of memory", path_));
        return;
    }
    std::string head;
    add_number(head, static_cast<uint32_t>(packed_.size()));
    add_number(head, static_cast<uint32_t>(block_.size()));
    packed_.insert(0, head); // one write(), so that a killed session leaves whole blocks
    if (Result<void> written = write_all(file_.get(), packed_, path_); !written)
        failure_ = std::move(written).error();
    else
        bytes_ += packed_.size();
    block_.clear();
}

Result<std::unique_ptr<RecordingReader>> RecordingReader::open(const std::string& path) {
    Result<Fd> file = open_file(path, O_RDONLY);
    if (!file)
        return std::move(file).error();
    struct stat facts{};
    if (fstat(file->get(), &facts) != 0 || !S_ISREG(facts.st_mode))
        return Error(fmt::format("`{}` is not a file", path));
    std::string magic(recording_magic.size(), '\0');
    const bool is_whole = pread(file->get(), magic.data(), magic.size(), 0) == static_cast<ssize_t>(magic.size());
    if (!is_whole || !magic.starts_with(any_magic))
        return Error(fmt::format("`{}` is not a recording: `sonde record -o FILE` writes one", path));
    if (magic != recording_magic)
        return Error(fmt::format("`{}` is a recording of another version of sonde", path));
    std::unique_ptr<RecordingReader> out(new RecordingReader(*std::move(file), static_cast<uint64_t>(facts.st_size)));
    out->at_ = magic.size();
    return out;
}

bool RecordingReader::read_block() {
    if (at_ == size_)
        return false;
    const auto stop = [&](const char* what) {
        damage_ = fmt::format("byte {}: {}", at_, what);
        block_.clear();
        in_block_ = 0;
        return false;
    };
    uint32_t head[2] = {};
    if (size_ - at_ < block_head || pread(file_.get(), head, block_head, static_cast<off_t>(at_)) != block_head)
        return stop("the file ends within a block");
    const auto [packed, whole] = head;
    if (packed > size_ - at_ - block_head)
        return stop("the file ends within a block");
    if (whole > largest_block || whole / least_ratio > packed)
        return stop("the block is damaged");
    packed_.resize(packed);
    if (pread(file_.get(), packed_.data(), packed, static_cast<off_t>(at_ + block_head)) !=
        static_cast<ssize_t>(packed))
        return stop("the file cannot be read");
    block_.resize(whole);
    if (ZSTD_decompress(block_.data(), whole, packed_.data(), packed) != whole)
        return stop("the block is damaged");
    in_block_ = 0;
    at_ += block_head + packed;
    return true;
}

std::optional<RecordingReader::Item> RecordingReader::next() {
    while (in_block_ == block_.size())
        if (!damage_.empty() || !read_block())
            return std::nullopt;
    ByteCursor cursor(std::string_view(block_).substr(in_block_));
    const auto size = cursor.take<uint32_t>();
    const auto kind = cursor.take<uint8_t>();
    const std::string_view bytes = cursor.take_bytes(size);
    if (cursor.failed() || kind < static_cast<uint8_t>(Event::About) || kind > static_cast<uint8_t>(Event::Last)) {
        damage_ = fmt::format("the block before byte {} is damaged", at_);
        in_block_ = block_.size();
        return std::nullopt;
    }
    in_block_ += event_head + size;
    return Item{static_cast<Event>(kind), bytes};
}

} // namespace sonde
