#include "runtime/output.h"

#include <fcntl.h>
#include <unistd.h>

namespace sonde {

Result<void> Output::open(const std::string& path) {
    if (!path.empty()) {
        Result<Fd> file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
        if (!file)
            return std::move(file).error();
        file_ = *std::move(file);
        fd_ = file_.get();
    }
    interactive_ = isatty(fd_) == 1;
    return {};
}

void Output::write(std::string_view text) {
    constexpr size_t flush_at = 256 << 10;
    buffer_ += text;
    if (interactive_ || buffer_.size() >= flush_at)
        flush();
}

void Output::flush() {
    if (buffer_.empty() || !failure_.empty()) {
        buffer_.clear();
        return;
    }
    if (Result<void> written = write_all(fd_, buffer_, "the output"); !written)
        failure_ = written.error().message;
    buffer_.clear();
}

} // namespace sonde
