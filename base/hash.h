// A hash against accidents, such as changed files or lost bytes. It does not protect against texts that were built to
// have the same hash.
#pragma once

#include <cstdint>
#include <span>

namespace sonde {

// A hash of 64 bits. It depends on how the data is divided into calls of add().
class Hash {
  public:
    // Adds bytes and their number, or one word.
    void add(std::span<const uint8_t> bytes);
    void add(uint64_t word);
    // The hash of everything that was added. More can be added afterwards.
    uint64_t value() const;

  private:
    uint64_t state_ = 0x9e3779b97f4a7c15; // 2^64 divided by the golden ratio
};

} // namespace sonde
