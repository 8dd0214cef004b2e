// A bounds-checked reader for call frame information: integers, LEB128 numbers, strings and encoded pointers. Also the
// register numbers of x86-64 and i386.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace sonde {

namespace cfi {
constexpr uint64_t rbp = 6, rsp = 7, return_address = 16; // DWARF numbers of x86-64
constexpr uint64_t registers = 17;                        // rules exist for registers below this number
constexpr uint64_t no_register = ~uint64_t{0};
} // namespace cfi

// The differences between x86-64 and i386: the size of a word in bytes, and the register numbers.
struct CfiWidth {
    int64_t word = 8;

    // Converts a DWARF register number to that of x86-64. Returns no_register for registers that rules do not track.
    uint64_t number(uint64_t number) const {
        constexpr uint64_t of_i386[] = {0, 2, 1, 3, cfi::rsp, cfi::rbp, 4, 5, cfi::return_address};
        if (word == 8)
            return number < cfi::registers ? number : cfi::no_register;
        return number < sizeof of_i386 / sizeof *of_i386 ? of_i386[number] : cfi::no_register;
    }
};
inline constexpr CfiWidth wide_cfi, narrow_cfi{4};

// Reads bytes from the front. After an attempt to read past the end, every read returns 0 and failed() is true, so
// callers need to check failed() only once, at the end of a record.
class CfiReader {
  public:
    // `address` is the address of the first byte as linked; encoded() needs it for relative pointers. The bytes and
    // `width` must outlive the reader.
    CfiReader(std::string_view bytes, uint64_t address, const CfiWidth& width = wide_cfi)
        : bytes_(bytes), address_(address), width_(width) {}

    bool failed() const { return failed_; }
    bool empty() const { return failed_ || at_ == bytes_.size(); }
    uint64_t address() const { return address_ + at_; } // of the next byte
    size_t position() const { return at_; }

    template <typename T> T take() {
        T value{};
        if (bytes_.size() - at_ < sizeof value) {
            fail();
            return value;
        }
        std::memcpy(&value, bytes_.data() + at_, sizeof value);
        at_ += sizeof value;
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
                return value;
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
            return static_cast<int64_t>(value);
        }
    }
    std::string_view take_bytes(uint64_t size) {
        if (size > bytes_.size() - at_) {
            fail();
            return {};
        }
        std::string_view out = bytes_.substr(at_, size);
        at_ += size;
        return out;
    }
    std::string_view string() {
        size_t end = bytes_.find('\0', at_);
        if (end == std::string_view::npos) {
            fail();
            return {};
        }
        std::string_view out = bytes_.substr(at_, end - at_);
        at_ = end + 1;
        return out;
    }
    // Reads a pointer in an encoding DW_EH_PE_* (LSB, section 10.5): the low four bits are the format, the next three
    // select the base. Supports absolute pointers and those relative to their own address (DW_EH_PE_pcrel); others
    // fail.
    uint64_t encoded(uint8_t encoding) {
        uint64_t base = address(), value = 0;
        switch (encoding & 0x0f) {
        case 0x00: // an address
        case 0x04:
        case 0x0c:
            value = (encoding & 0x0f) == 0 && width_.word == 4 ? take<uint32_t>() : take<uint64_t>();
            break;
        case 0x01:
            value = uleb();
            break;
        case 0x02:
            value = take<uint16_t>();
            break;
        case 0x03:
            value = take<uint32_t>();
            break;
        case 0x09:
            value = static_cast<uint64_t>(sleb());
            break;
        case 0x0a:
            value = static_cast<uint64_t>(static_cast<int64_t>(take<int16_t>()));
            break;
        case 0x0b:
            value = static_cast<uint64_t>(static_cast<int64_t>(take<int32_t>()));
            break;
        default:
            fail();
        }
        switch (encoding & 0x70) {
        case 0x00:
            return value;
        case 0x10:
            return value + base;
        default:
            fail();
            return 0;
        }
    }

  private:
    void fail() {
        failed_ = true;
        at_ = bytes_.size();
    }
    std::string_view bytes_;
    uint64_t address_;
    const CfiWidth& width_;
    size_t at_ = 0;
    bool failed_ = false;
};

} // namespace sonde
