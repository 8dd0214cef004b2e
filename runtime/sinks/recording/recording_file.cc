#include "runtime/sinks/recording/recording_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include <fmt/format.h>
#include <zstd.h>

#include "runtime/sinks/recording/bytes.h"

namespace sonde {
namespace {

constexpr std::string_view any_magic = "sonde recording "; // of any version
constexpr uint32_t largest_block = 1u << 30;               // when decompressed: one event can be large
constexpr uint64_t most_ratio = 1 << 16; // zstd stores a run of equal bytes at a ratio of up to about 32,000
constexpr size_t block_head = 2 * sizeof(uint32_t);

// Compresses with a checksum of the contents (RFC 8878, section 3.1.1). Returns false without memory.
bool compress(const std::string& block, std::string& out) {
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

std::string answer_event(std::string_view question, std::string_view answer) {
    std::string out;
    add_text(out, question);
    return out.append(answer);
}

void RecordingBlock::add(Event kind, std::string_view bytes) {
    add_number(events_, static_cast<uint32_t>(bytes.size()));
    events_ += static_cast<char>(kind);
    events_ += bytes;
}

Result<std::string> RecordingBlock::pack() {
    const std::string events = std::exchange(events_, {});
    std::string packed, out;
    if (events.size() > largest_block)
        return Error(fmt::format("an event has {} bytes", events.size()));
    if (!compress(events, packed))
        return Error("out of memory");
    add_number(out, static_cast<uint32_t>(packed.size()));
    add_number(out, static_cast<uint32_t>(events.size()));
    return out + packed;
}

void RecordingWriter::add(Event kind, std::string_view bytes) {
    if (failure_)
        return;
    block_.add(kind, bytes);
    if (block_.size() >= RecordingBlock::full_bytes)
        flush();
}

void RecordingWriter::flush() {
    if (failure_ || block_.size() == 0)
        return;
    if (Result<std::string> packed = block_.pack(); !packed)
        failure_ = Error(fmt::format("cannot write `{}`: {}", path_, packed.error().message));
    else
        write(*packed);
}

// One write(), so that a killed session leaves whole blocks.
void RecordingWriter::write(std::string_view packed) {
    if (failure_)
        return;
    if (Result<void> written = write_all(file_.get(), packed, path_); !written)
        failure_ = std::move(written).error();
    else
        bytes_ += packed.size();
}

Result<std::string> unpack_block(std::string_view block) {
    ByteCursor in(block);
    const auto packed = in.take<uint32_t>(), whole = in.take<uint32_t>();
    const std::string_view bytes = in.take_bytes(packed);
    if (in.failed())
        return Error("the file ends within a block");
    if (whole > largest_block || whole / most_ratio > packed)
        return Error("the block is damaged");
    std::string out(whole, '\0');
    if (ZSTD_decompress(out.data(), whole, bytes.data(), packed) != whole)
        return Error("the block is damaged");
    return out;
}

std::optional<EventCursor::Item> EventCursor::next() {
    ByteCursor in(block_.substr(at_));
    if (in.empty())
        return std::nullopt;
    const auto size = in.take<uint32_t>();
    const auto kind = in.take<uint8_t>();
    const std::string_view bytes = in.take_bytes(size);
    failed_ = in.failed() || kind < static_cast<uint8_t>(Event::About) || kind > static_cast<uint8_t>(Event::Last);
    at_ = failed_ ? block_.size() : at_ + in.position();
    return failed_ ? std::nullopt : std::optional(Item{static_cast<Event>(kind), bytes});
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
    uint32_t packed = 0;
    std::string block;
    const bool has_head = size_ - at_ >= block_head &&
                          pread(file_.get(), &packed, sizeof packed, static_cast<off_t>(at_)) == sizeof packed;
    block.resize(has_head ? std::min<uint64_t>(block_head + packed, size_ - at_) : 0);
    if (pread(file_.get(), block.data(), block.size(), static_cast<off_t>(at_)) != static_cast<ssize_t>(block.size()))
        block.clear();
    Result<std::string> events = unpack_block(block);
    if (!events) {
        damage_ = fmt::format("byte {}: {}", at_, events.error().message);
        return false;
    }
    block_ = *std::move(events);
    events_ = EventCursor(block_);
    at_ += block.size();
    return true;
}

std::optional<RecordingReader::Item> RecordingReader::next() {
    while (damage_.empty()) {
        if (const std::optional<Item> item = events_.next())
            return item;
        if (events_.failed())
            damage_ = fmt::format("the block before byte {}", at_);
        else if (!read_block())
            break;
    }
    return std::nullopt;
}

} // namespace sonde
