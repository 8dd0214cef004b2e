// Finds the inlined functions at an address, using DW_TAG_inlined_subroutine (DWARF 5, section 3.3.8.2).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/elf_file.h"

namespace sonde {

// One inlined function, and where it is called.
struct InlinedCall {
    std::string name;  // of the inlined function, demangled by readable_symbol()
    std::string file;  // source file of the call; "": unknown
    uint32_t line = 0; // of the call; 0: unknown
};

// Looks up single addresses. Reads only the compilation units that contain them.
class InlineFinder {
  public:
    // Debug information that exists but cannot be read adds an error message to `problems`.
    InlineFinder(const ElfFile& file, std::vector<std::string>& problems);
    ~InlineFinder();
    InlineFinder(InlineFinder&&) noexcept;

    // Returns the inlined functions at an address, innermost first. Empty if nothing is inlined there, or no debug
    // information exists.
    std::vector<InlinedCall> find(uint64_t address);

  private:
    struct Debug;
    std::unique_ptr<Debug> debug_; // null: no debug information
};

// All inlined functions of a file, for handlers in the kernel. A row refers to a node, and each node to the next outer
// one, so that many rows share their chains.
struct InlineTable {
    struct Node {
        uint32_t name = 0;  // index into `names`
        uint32_t outer = 0; // index into `nodes` of the next outer inlined function; 0: this is the outermost
    };
    struct Row {
        uint64_t address = 0; // as linked; valid up to the next row
        uint32_t node = 0;    // index into `nodes`; 0: nothing is inlined here
    };
    std::vector<std::string> names;
    std::vector<Node> nodes = {{}};
    std::vector<Row> rows; // sorted
};
// Reads the inlined functions of a whole file. Errors as for InlineFinder.
InlineTable read_inlined(const ElfFile& file, std::vector<std::string>& problems);

} // namespace sonde
