// Protocol buffers, as far as writing them goes (protobuf.dev, "Encoding"): a message is its fields one after the
// other, each a number and a value.
//
// The library that there is for it wants a compiler of its own, generated classes for messages of which we fill a dozen
// fields, and 3 MB at run time. What a writer needs of the format is these four functions; tests read what they write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sonde {

class ProtobufMessage {
  public:
    // Numbers of all kinds but fixed ones; a negative one takes ten bytes, as an int64 does.
    ProtobufMessage& number(uint32_t field, uint64_t value) {
        varint(uint64_t{field} << 3);
        varint(value);
        return *this;
    }
    ProtobufMessage& text(uint32_t field, std::string_view value) {
        varint(uint64_t{field} << 3 | length_delimited);
        varint(value.size());
        bytes_ += value;
        return *this;
    }
    ProtobufMessage& message(uint32_t field, const ProtobufMessage& value) { return text(field, value.bytes_); }
    const std::string& bytes() const { return bytes_; }

  private:
    static constexpr uint64_t length_delimited = 2;
    void varint(uint64_t value) {
        for (; value >= 0x80; value >>= 7)
            bytes_ += static_cast<char>(value | 0x80);
        bytes_ += static_cast<char>(value);
    }
    std::string bytes_;
};

} // namespace sonde
