// Which inlined functions an address lies in, from DWARF's inlined subroutine entries (DWARF 5, 3.3.8.2).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/elf_file.h"

namespace sonde {

struct InlinedCall {
    std::string name; // readable_symbol() of the function that is inlined
    std::string file; // of the call, in the function around it; "": not known
    uint32_t line = 0;
};

// Single addresses: reads only the units that are asked for.
class InlineFinder {
  public:
    // `problems`: why debug information that is there cannot be read, in words.
    InlineFinder(const ElfFile& file, std::vector<std::string>& problems);
    ~InlineFinder();
    InlineFinder(InlineFinder&&) noexcept;

    // The innermost first; empty if nothing is inlined there, or nothing is known.
    std::vector<InlinedCall> find(uint64_t address);

  private:
    struct Debug;
    std::unique_ptr<Debug> debug_; // null: there is no debug information
};

// The whole of a file, as handlers look it up.
struct InlineTable {
    struct Node {
        uint32_t name = 0;  // index into `names`
        uint32_t outer = 0; // index into `nodes`: the inlined function around it; 0: none
    };
    struct Row {
        uint64_t address = 0; // as linked; the row holds up to the next one's
        uint32_t node = 0;    // 0: nothing is inlined from there on
    };
    std::vector<std::string> names;
    std::vector<Node> nodes = {{}};
    std::vector<Row> rows; // sorted
};
InlineTable read_inlined(const ElfFile& file, std::vector<std::string>& problems);

} // namespace sonde
