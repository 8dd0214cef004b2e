// Stacks that processes share as keys of arrays: whose addresses their texts are, and in which files they lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/load/load.h"

namespace sonde {

class SharedStacks {
  public:
    struct Place {
        uint64_t inode = 0, offset = 0; // inode 0: in no file
    };
    struct Stack {
        uint64_t process = 0;      // that had it first, numbered as the kernel does
        std::vector<Place> places; // of the first addresses, often all of them
    };

    void begin(const KernelObject& kernel, uint64_t max_string);
    // `text`: a component of a key. Empty: it is no such stack.
    std::optional<Stack> find(const std::string& text) const;

  private:
    int shared_ = -1, owners_ = -1; // maps
    uint64_t max_string_ = 0, value_size_ = 0;
};

} // namespace sonde
