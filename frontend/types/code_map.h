// Where instructions begin in a stretch of machine code of x86-64.
//
// A breakpoint anywhere else changes what the program does, so nothing is guessed. Code is followed from places that
// are known to begin instructions, past calls and conditional jumps, to where jumps lead. What nothing leads to, as
// the targets of a switch, is taken for code only if it reads as instructions of user space without a rest.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "frontend/types/address.h"

namespace sonde {

struct X86Instruction;

// The processor never continues with the instruction after this one.
bool ends_flow(const X86Instruction& one);

class CodeMap {
  public:
    // `code` lies at `low`. `roots` are the starts that are known; others than in the code are ignored. `whole`: the
    // stretch is known to be one function's and not only to begin with one.
    CodeMap(Address low, std::string_view code, const std::vector<Address>& roots, bool whole);

    // An instruction begins there, and no other one has the byte in it: `lock` may be jumped over.
    bool is_start(Address address) const;
    // The nearest start at or before an address.
    std::optional<Address> start_before(Address address) const;
    // Whether the address is in an instruction.
    bool is_code(Address address) const;
    // An instruction begins there in the middle of another one.
    bool is_doubtful(Address address) const;

  private:
    enum Byte : unsigned char { Unknown = 0, Start = 1, Inside = 2 }; // both: an instruction in an instruction

    void follow(std::vector<Address> roots);
    void add_gap(size_t begin, size_t end);
    bool reads_as_code(size_t begin, size_t end, std::vector<size_t>& starts) const;
    bool mark(size_t at, size_t length);

    Address low_;
    std::string_view code_;
    std::vector<unsigned char> bytes_;
};

} // namespace sonde
