// Reads a binary format from front to back. The bytes may come from any file: no read goes beyond their end.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace sonde {

// After an attempt to read past the end, every read returns 0 and failed() is true, so callers need to check failed()
// only once, at the end of a record. Numbers are little-endian.
class ByteCursor {
  public:
    // The bytes must outlive the cursor. `address` is the address of the first byte, for formats with relative
    // pointers.
    explicit ByteCursor(std::string_view bytes, uint64_t address = 0) : bytes_(bytes), address_(address) {}

    bool failed() const { return failed_; }
    bool empty() const { return at_ == bytes_.size(); } // true after a failure
    size_t position() const { return at_; }
    uint64_t address() const { return address_ + at_; } // of the next byte
    size_t rest() const { return bytes_.size() - at_; } // in bytes

    void skip(uint64_t count) {
        if (count > rest())
            fail();
        else
            at_ += count;
    }
    void seek(uint64_t position) {
        if (position > bytes_.size())
            fail();
        else if (!failed_)
            at_ = position;
    }
    template <typename T> T take() {
        T value{};
        const size_t from = at_;
        skip(sizeof value);
        if (!failed_)
            std::memcpy(&value, bytes_.data() + from, sizeof value);
        return value;
    }
    // Unsigned and signed LEB128 (DWARF 5, section 7.6). Bits above the 64th are dropped.
    uint64_t uleb() {
        uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            auto byte = take<uint8_t>();
            if (shift < 64)
                value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if (!(byte & 0x80))
                return failed_ ? 0 : value;
        }
    }
    int64_t sleb() {
        uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            auto byte = take<uint8_t>();
            if (shift < 64)
                value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if (byte & 0x80)
                continue;
            if ((byte & 0x40) && shift + 7 < 64)
                value |= ~uint64_t{0} << (shift + 7);
            return failed_ ? 0 : static_cast<int64_t>(value);
        }
    }
    std::string_view take_bytes(uint64_t size) {
        const size_t from = at_;
        skip(size);
        return failed_ ? std::string_view() : bytes_.substr(from, size);
    }
    // Up to the next NUL, which is skipped.
    std::string_view string() {
        const size_t from = at_, end = bytes_.find('\0', at_);
        if (end == std::string_view::npos)
            fail();
        else
            at_ = end + 1;
        return failed_ ? std::string_view() : bytes_.substr(from, end - from);
    }
    void fail() {
        failed_ = true;
        at_ = bytes_.size();
    }

  private:
    std::string_view bytes_;
    uint64_t address_;
    size_t at_ = 0;
    bool failed_ = false;
};

// Returns the number or structure at an offset, or nothing if it is not within the bytes.
template <typename T> std::optional<T> value_at(std::string_view bytes, uint64_t offset) {
    ByteCursor cursor(bytes);
    cursor.seek(offset);
    const T value = cursor.take<T>();
    return cursor.failed() ? std::nullopt : std::optional(value);
}

// Returns the elements of a table, without a last one that is cut off.
template <typename T> std::vector<T> values_in(std::string_view table) {
    std::vector<T> out(table.size() / sizeof(T));
    table.copy(reinterpret_cast<char*>(out.data()), out.size() * sizeof(T));
    return out;
}

} // namespace sonde
