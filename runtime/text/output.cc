// The printed output of a session.
//
// Three buffers lie between a print and the file:
//
//     Output::buffer_    texts since the last flush
//     Writer's queue     up to --output-buffer bytes; push() fails if it is full
//     the file           written by the writer's thread, which may wait
//
// With -S, a text is never divided between two files. So the switch is made before a text that would exceed the size.
//
// A FIFO can be opened for writing only when it has a reader. open() would wait for that, so it is tried with
// O_NONBLOCK first. If there is none yet, the writer's thread opens it.
#include "runtime/text/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/trusted_file.h"

namespace sonde {
namespace {

// Expands strftime() directives, such as `trace-%F.txt`.
std::string with_time(const std::string& path) {
    if (path.find('%') == std::string::npos)
        return path;
    time_t now = time(nullptr);
    tm local{};
    localtime_r(&now, &local);
    std::string out(path.size() + 4096, 0);
    size_t length = strftime(out.data(), out.size(), path.c_str(), &local);
    out.resize(length);
    return length ? out : path;
}

// Returns the name of the file with this number, counted from 0.
std::string file_name(const OutputFile& target, uint64_t number) {
    return target.bytes || number > 0 ? fmt::format("{}.{}", target.path, number) : target.path;
}

} // namespace

Result<void> Output::open(const OutputFile& file) {
    target_ = file;
    target_.path = with_time(file.path);
    Fd opened;
    std::string later;
    if (!target_.path.empty()) {
        std::string name = file_name(target_, 0);
        // Let the writer's thread open a FIFO that has no reader yet: opening it waits.
        Result<Fd> now = create_file(name, O_NONBLOCK);
        if (!now && now.error().os_error != ENXIO)
            return std::move(now).error();
        if (now) {
            opened = *std::move(now);
            fcntl(opened.get(), F_SETFL, fcntl(opened.get(), F_GETFL) & ~O_NONBLOCK);
        } else {
            later = name;
        }
        opened_ = 1;
    }
    const int fd = !target_.path.empty() ? opened.get() : STDOUT_FILENO;
    interactive_ = isatty(fd) == 1;
    if (struct stat attr{}; fstat(fd, &attr) == 0)
        device_ = attr.st_dev, inode_ = attr.st_ino;
    Result<std::unique_ptr<Writer>> writer = Writer::start(target_.buffer_bytes, std::move(opened), later);
    if (!writer)
        return std::move(writer).error();
    writer_ = *std::move(writer);
    return {};
}

bool Output::is_same_file_as(int fd) const {
    struct stat attr{};
    return fstat(fd, &attr) == 0 && attr.st_dev == device_ && attr.st_ino == inode_;
}

void Output::switch_file() {
    flush();
    if (target_.path.empty())
        return;
    bool removes = target_.files && opened_ >= target_.files;
    writer_->go_on_in(file_name(target_, opened_), removes ? file_name(target_, opened_ - target_.files) : "");
    opened_++;
    written_ = 0;
}

// Switches files between two calls only, so that a text is never split between files.
void Output::write(std::string_view text) {
    constexpr size_t flush_at = 256 << 10;
    if (target_.bytes && written_ + buffer_.size() + text.size() > target_.bytes && written_ + buffer_.size() > 0)
        switch_file();
    buffer_ += text;
    if (copy_)
        copy_(text);
    if (interactive_ || buffer_.size() >= flush_at)
        flush();
}

// Tries to queue the buffer at once. If the queue is full, waits for room once, and then drops the buffer and counts
// it as lost.
void Output::flush() {
    if (buffer_.empty())
        return;
    const size_t size = buffer_.size();
    auto push = [&] { return writer_->push(Writer::Printed, buffer_); };
    if (push() || (wait([&](Patience patience) { return writer_->wait_for_room(size, patience, give_up_); }) && push()))
        written_ += size;
    else
        writer_->count_lost(Writer::Printed, buffer_);
    buffer_.clear();
}

void Output::set_patience(Patience patience, Writer::GiveUp give_up) {
    patience_ = patience;
    give_up_ = std::move(give_up);
}

// All waits share the total time. After the first wait that fails, later ones return at once: a reader that has stopped
// once must not delay the session again and again.
bool Output::wait(const std::function<bool(Patience)>& wait_for) {
    if (patience_.total <= 0)
        return false;
    auto began = std::chrono::steady_clock::now();
    bool reached = wait_for(patience_);
    auto took = std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count();
    if (!reached)
        patience_.total = 0;
    else if (patience_.total != Patience::forever)
        patience_.total -= std::min<int64_t>(took, patience_.total);
    return reached;
}

void Output::settle() {
    wait([&](Patience patience) { return writer_->wait_until_written(patience, give_up_); });
}

void Output::finish(Patience patience) {
    flush();
    if (!writer_->wait_until_written(patience, give_up_))
        writer_->stop();
}

} // namespace sonde
