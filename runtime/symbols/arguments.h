// Reads the arguments of functions in a stack, by their locations in the debug information.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/elf_file.h"
#include "runtime/plan/thread_walk.h"

namespace sonde {

// Reads memory of the process. Returns false if a part of it cannot be read.
using ReadProcess = std::function<bool(uint64_t address, void* to, size_t size)>;

// Looks up single addresses. Reads only the compilation units that contain them.
class ArgumentFinder {
  public:
    // Debug information that exists but cannot be read adds an error message to `problems`.
    ArgumentFinder(const ElfFile& file, std::vector<std::string>& problems);
    ~ArgumentFinder();
    ArgumentFinder(ArgumentFinder&&) noexcept;

    // Returns a text for each function at an address: first those that are inlined there, innermost first, then the one
    // that contains the address. `(count=3, name=0x4006f4 "tea", rest=?)`; `?` stands for a value that is in no known
    // register and in no memory. Empty if no debug information exists. `address` is as linked; `moved` is added to it
    // in the process. `is_innermost`: no function was called at the address.
    std::vector<std::string> find(uint64_t address, uint64_t moved, bool is_innermost,
                                  const sonde_walked_function& function, const ReadProcess& read);

  private:
    struct Debug;
    std::unique_ptr<Debug> debug_; // null: no debug information
};

} // namespace sonde
