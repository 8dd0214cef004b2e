// What reads call frame information: its numbers, and the two processors that it is for.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace sonde {

namespace cfi {
constexpr uint64_t rbp = 6, rsp = 7, return_address = 16; // DWARF numbers of x86-64
constexpr uint64_t registers = 17;                        // that rules are kept for
constexpr uint64_t no_register = ~uint64_t{0};
} // namespace cfi

// What differs in code of i386.
struct CfiWidth {
    int64_t word = 8;

    // The number that x86-64 has for a register; no_register: rules do not know it.
    uint64_t number(uint64_t number) const {
        constexpr uint64_t of_i386[] = {0, 2, 1, 3, cfi::rsp, cfi::rbp, 4, 5, cfi::return_address};
        if (word == 8)
            return number < cfi::registers ? number : cfi::no_register;
        return number < sizeof of_i386 / sizeof *of_i386 ? of_i386[number] : cfi::no_register;
    }
};
inline constexpr CfiWidth wide_cfi, narrow_cfi{4};

// Bytes from the front; beyond the end everything is 0 and failed() is true.
class CfiReader {
  public:
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
    // DW_EH_PE_*: the low half is the format, the high half what it is relative to.
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
