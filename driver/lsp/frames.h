// The framing of messages: a header with `Content-Length: N`, an empty line, and N bytes of JSON (LSP 3.17, "Base
// Protocol"). A message can arrive in any number of pieces.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace sonde::lsp {

// A larger message is not read, but skipped.
constexpr size_t max_message = size_t{256} << 20;

// Cuts the bytes of a stream into messages.
class FrameReader {
  public:
    struct Message {
        std::string body;
    };
    // A header without a valid length, or with a too large one. Reading goes on after it.
    struct BadHeader {
        std::string reason;
    };
    struct Incomplete {};
    using Next = std::variant<Incomplete, Message, BadHeader>;

    void feed(std::string_view bytes) { buffer_ += bytes; }
    Next next();

  private:
    std::string buffer_;
    size_t to_skip_ = 0; // bytes of a too large message that are still to come
};

// Adds the header.
std::string frame(std::string_view body);

} // namespace sonde::lsp
