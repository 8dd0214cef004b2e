// Writes protocol buffers, and reads simple ones (protobuf.dev, "Encoding"). A message is a sequence of fields, each
// with a number and a value.
//
// The usual library needs a compiler of its own, generated classes, and 3 MB of memory at run time. sonde writes a
// dozen kinds of messages, for which these functions are enough. The tests decode the messages that sonde writes.
//
//     field 1, number 150        08 96 01
//     field 2, text "testing"    12 07 74 65 73 74 69 6e 67
//
// The first byte of a field is its number times 8, plus the kind of the value. Numbers have 7 bits in each byte, and
// the highest bit says that another byte follows.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace sonde {

// Builds a message. Functions append a field, and return the message itself, so that calls can be chained.
class ProtobufMessage {
  public:
    // All kinds of integers except fixed ones and zigzag. A negative number takes ten bytes, as int64 does.
    ProtobufMessage& number(uint32_t field, uint64_t value) {
        varint(uint64_t{field} << 3);
        varint(value);
        return *this;
    }
    // fixed64 and sfixed64. real() writes a double.
    ProtobufMessage& fixed(uint32_t field, uint64_t value) {
        varint(uint64_t{field} << 3 | eight_bytes);
        append_fixed(bytes_, value);
        return *this;
    }
    ProtobufMessage& real(uint32_t field, double value) { return fixed(field, std::bit_cast<uint64_t>(value)); }
    // Appends a value to the bytes of a packed field of fixed64. Pass the complete bytes to text().
    static void append_fixed(std::string& packed, uint64_t value) {
        for (unsigned shift = 0; shift < 64; shift += 8)
            packed += static_cast<char>(value >> shift);
    }
    // The same for a packed field of uint64.
    static void append_varint(std::string& packed, uint64_t value) {
        for (; value >= 0x80; value >>= 7)
            packed += static_cast<char>(value | 0x80);
        packed += static_cast<char>(value);
    }
    // Strings, bytes and packed fields. message() writes a message inside of a message.
    ProtobufMessage& text(uint32_t field, std::string_view value) {
        varint(uint64_t{field} << 3 | length_delimited);
        varint(value.size());
        bytes_ += value;
        return *this;
    }
    ProtobufMessage& message(uint32_t field, const ProtobufMessage& value) { return text(field, value.bytes_); }
    // sint32 and sint64.
    ProtobufMessage& zigzag(uint32_t field, int64_t value) {
        return number(field, static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
    }
    // Appends all fields of another message.
    ProtobufMessage& append(const ProtobufMessage& other) {
        bytes_ += other.bytes_;
        return *this;
    }
    const std::string& bytes() const { return bytes_; }

  private:
    static constexpr uint64_t eight_bytes = 1, length_delimited = 2; // kinds of values
    void varint(uint64_t value) { append_varint(bytes_, value); }
    std::string bytes_;
};

// Reads the fields of a message one after the other, up to the first one that is damaged.
class ProtobufReader {
  public:
    explicit ProtobufReader(std::string_view message) : rest_(message) {}
    // Reads the next field. Returns false at the end, and if the rest is damaged.
    bool next() {
        uint64_t key = 0, size = 0;
        number_ = 0;
        bytes_ = {};
        if (!varint(key))
            return false;
        field_ = static_cast<uint32_t>(key >> 3);
        switch (key & 7) {
        case 0:
            return varint(number_);
        case 1:
            size = 8;
            break;
        case 2:
            if (!varint(size))
                return false;
            break;
        case 5:
            size = 4;
            break;
        default:
            return false;
        }
        if (size > rest_.size())
            return false;
        bytes_ = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return true;
    }
    uint32_t field() const { return field_; }
    uint64_t number() const { return number_; }
    std::string_view bytes() const { return bytes_; } // of a text, a message or a fixed value

  private:
    bool varint(uint64_t& out) {
        out = 0;
        for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
            const auto byte = static_cast<uint8_t>(rest_.front());
            rest_.remove_prefix(1);
            out |= uint64_t{byte & 0x7fu} << shift;
            if (byte < 0x80)
                return true;
        }
        return false;
    }
    std::string_view rest_, bytes_;
    uint64_t number_ = 0;
    uint32_t field_ = 0;
};

} // namespace sonde
