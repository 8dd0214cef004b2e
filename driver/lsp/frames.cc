// After a wrong header, nobody knows where the next message begins. The reader assumes that the header ends at its
// empty line, and that the next header follows. If a body follows instead, it becomes a part of the next header, and
// costs one more message. So a client that recovers is understood again.
#include "driver/lsp/frames.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace sonde::lsp {
namespace {

constexpr std::string_view end_of_header = "\r\n\r\n";
constexpr size_t max_header = 8192;

bool is_equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b,
                              [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view trim(std::string_view text) {
    const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Returns the value of Content-Length; nullopt if the header has none or a wrong one.
std::optional<size_t> read_length(std::string_view header) {
    while (!header.empty()) {
        const std::string_view line = header.substr(0, header.find("\r\n"));
        header.remove_prefix(std::min(header.size(), line.size() + 2));
        const size_t colon = line.find(':');
        if (colon == std::string_view::npos || !is_equal_ignoring_case(trim(line.substr(0, colon)), "Content-Length"))
            continue;
        const std::string_view value = trim(line.substr(colon + 1));
        size_t length = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
        if (error != std::errc() || end != value.data() + value.size())
            return std::nullopt;
        return length;
    }
    return std::nullopt;
}

} // namespace

FrameReader::Next FrameReader::next() {
    const size_t skipped = std::min(to_skip_, buffer_.size());
    buffer_.erase(0, skipped);
    to_skip_ -= skipped;
    const size_t end = buffer_.find(end_of_header);
    if (end == std::string::npos) {
        if (buffer_.size() <= max_header)
            return Incomplete();
        buffer_.clear();
        return BadHeader{fmt::format("expected a header, got more than {} bytes without its end", max_header)};
    }
    const std::optional<size_t> length = read_length(std::string_view(buffer_).substr(0, end));
    const size_t begin = end + end_of_header.size();
    if (!length || *length > max_message) {
        buffer_.erase(0, begin);
        to_skip_ = length.value_or(0);
        return BadHeader{!length ? "expected `Content-Length: NUMBER` in the header"
                                 : fmt::format("a message can have {} bytes, not {}", max_message, *length)};
    }
    if (buffer_.size() - begin < *length)
        return Incomplete();
    Message out{buffer_.substr(begin, *length)};
    buffer_.erase(0, begin + *length);
    return out;
}

std::string frame(std::string_view body) { return fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body); }

} // namespace sonde::lsp
