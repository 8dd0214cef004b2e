// Stacks that are keys of arrays and are shared by processes. Processes map the same program at different addresses, so
// a handler identifies a stack by its places in files. The key's text has the addresses of the process where the stack
// occurred first (runtime/plan/stack.h, struct sonde_shared). This class finds that process and the places.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/load/load.h"

namespace sonde {

// Reads the maps of one session. The kernel object must outlive the object.
class SharedStacks {
  public:
    struct Place {
        uint64_t inode = 0, offset = 0; // inode 0: the address is not in a file
    };
    struct Stack {
        uint64_t process = 0;      // where the stack occurred first, a PID in the initial PID namespace
        std::vector<Place> places; // of the first addresses; usually of all
    };

    // Opens the maps of a session. `max_string` is its MAXSTRINGLEN.
    void begin(const KernelObject& kernel, uint64_t max_string);
    // Finds the stack for a key's component. Returns nothing if the text is not a shared stack.
    std::optional<Stack> find(const std::string& text) const;

  private:
    int shared_ = -1, owners_ = -1; // maps
    uint64_t max_string_ = 0, value_size_ = 0;
};

} // namespace sonde
