// Hashes word by word: a multiplication spreads a word over the higher bits, and a rotation moves these down again. All
// steps are invertible, so two texts that differ in only one word never have the same hash.
#include "base/hash.h"

#include <bit>
#include <cstring>

namespace sonde {

void Hash::add(uint64_t word) { state_ = std::rotl((state_ ^ word) * 0xd6e8feb86659fd93, 29); }

void Hash::add(std::span<const uint8_t> bytes) {
    // The length counts, so that zeros at the end matter.
    add(bytes.size());
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
        uint64_t word;
        std::memcpy(&word, bytes.data(), sizeof word);
        add(word);
    }
    uint64_t rest = 0;
    if (!bytes.empty())
        std::memcpy(&rest, bytes.data(), bytes.size());
    add(rest);
}

uint64_t Hash::value() const {
    uint64_t out = state_;
    for (int i = 0; i < 2; i++)
        out = (out ^ out >> 32) * 0xd6e8feb86659fd93;
    return out ^ out >> 32;
}

} // namespace sonde
