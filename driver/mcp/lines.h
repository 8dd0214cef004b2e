// The framing of messages: one message is one line of JSON (MCP, "stdio"). A message can arrive in any number of
// pieces.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace sonde::mcp {

// A longer line is not read, but skipped.
constexpr size_t max_message = size_t{4} << 20;

// Cuts the bytes of a stream into messages.
class LineReader {
  public:
    struct Message {
        std::string body; // never empty
    };
    // The line has more than max_message bytes. The next line is read as usual.
    struct TooLong {};
    struct Incomplete {};
    using Next = std::variant<Incomplete, Message, TooLong>;

    void feed(std::string_view bytes) { buffer_ += bytes; }
    Next next();

  private:
    std::string buffer_;
    size_t searched_ = 0; // this many bytes have no line end
    bool skips_ = false;  // the current line is too long
};

} // namespace sonde::mcp
