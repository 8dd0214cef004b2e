// Finds copies of probed code at any address, and the breakpoints in them.
//
// The problem: a program can copy its code anywhere, a page or a single function: into anonymous memory, or into a
// memfd that it maps. The copy contains the breakpoints, and nothing says from where it was copied.
//
// The idea: a breakpoint and the bytes around it identify the place. `cc 48 89 e5 53 48 83 ec` is a copy of a function
// that begins with `55 48 89 e5 53 48 83 ec`, if `55` has a breakpoint. Other probed instructions nearby may have one,
// too, so they may be either.
//
// Compilers at run time also write breakpoint bytes, as padding or as traps. So a place counts only if at least
// `enough_bytes` bytes around it are equal. A shorter function that is copied alone is not recognized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/processes/probed_files.h"

namespace sonde {

// Bytes to write at an address of a process.
struct CodePatch {
    uint64_t address = 0;
    std::string bytes;
};

class CodeCopies {
  public:
    static constexpr size_t enough_bytes = 10;

    // Reads the bytes around the plan's instructions. The references are not kept.
    CodeCopies(const plan::Plan& plan, const ProbedFiles& files);

    // Returns the patches that restore the instructions in `memory`, which is at `address`.
    std::vector<CodePatch> find(std::string_view memory, uint64_t address) const;
    // The same for the memory of a process. `is_anonymous`: the memory is not a file's, so only pages that exist are
    // read.
    std::vector<CodePatch> find_in(int64_t process, uint64_t from, uint64_t size, bool is_anonymous) const;

  private:
    static constexpr size_t around = 16; // bytes before the instruction, and bytes from its beginning on
    struct Place {
        std::string bytes; // those before and those from the instruction on; fewer at the ends of the file
        // `bytes` with breakpoints at all probed instructions
        std::string probed;
        size_t begin = 0;  // of the instruction in `bytes`
        size_t length = 0; // of the instruction
    };
    // Returns whether the place's bytes are at `at` in the memory, except for the first `changed` bytes of the
    // instruction.
    static bool is_copy(const Place& place, std::string_view memory, size_t at, size_t changed);

    std::vector<Place> places_;
    std::string_view breakpoint_;
    std::unordered_map<uint8_t, std::vector<size_t>> by_next_byte_; // the byte after the breakpoint
    std::vector<size_t> any_next_byte_;                             // where it may be a breakpoint, too
    std::vector<size_t> calls_;                                     // that the kernel may have replaced by calls
};

} // namespace sonde
