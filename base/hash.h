// A hash against accidents: files that changed, bytes that were lost. It keeps nobody from making two texts of one
// hash on purpose.
#pragma once

#include <cstdint>
#include <span>

namespace sonde {

// Of 64 bits. In one piece or in several, the hash is the same only if the pieces are.
class Hash {
  public:
    void add(std::span<const uint8_t> bytes);
    void add(uint64_t word);
    uint64_t value() const;

  private:
    uint64_t state_ = 0x9e3779b97f4a7c15; // 2^64 divided by the golden ratio
};

} // namespace sonde
