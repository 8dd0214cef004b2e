// Finds the async functions of Rust at an address.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/elf_file.h"

namespace sonde {

// Looks up single addresses. Reads only the compilation units that contain them.
class AsyncFunctionFinder {
  public:
    // Debug information that exists but cannot be read adds an error message to `problems`.
    AsyncFunctionFinder(const ElfFile& file, std::vector<std::string>& problems);
    ~AsyncFunctionFinder();
    AsyncFunctionFinder(AsyncFunctionFinder&&) noexcept;

    // Returns a line for each function, inlined or not, innermost first: "shop::pay at /src/shop.rs:12\n". `place` is
    // that of the address, "/src/shop.rs:12" or "". An outer function is at the inlined call.
    std::string lines(uint64_t address, const std::string& place);

  private:
    struct Debug;
    std::unique_ptr<Debug> debug_; // null: no debug information
};

} // namespace sonde
