// Finds where instructions begin in a piece of machine code.
//
// A breakpoint must be at the first byte of an instruction. Anywhere else it changes what the program does, so this
// must never guess. Code sections also contain data: jump tables, constants and padding.
//
// CodeMap starts at addresses that are known to begin instructions. It follows the code from there, past calls and
// conditional jumps, and to the targets of jumps. This does not find all code, for example the targets of a switch. The
// remaining bytes are accepted as code only if all of them decode to instructions of user programs, without a rest.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "arch/architecture.h"
#include "frontend/machine/address.h"

namespace sonde {

// Keeps one byte for each byte of the code, and a view of the code itself, which must outlive the map.
class CodeMap {
  public:
    // `code` begins at address `low`. `roots` are the known beginnings of instructions; those outside of the code are
    // ignored. `whole`: the piece is exactly one function; otherwise it only begins with one.
    CodeMap(Address low, std::string_view code, const std::vector<Address>& roots, bool whole,
            const Architecture& architecture);

    // Whether an instruction begins at the address and no other instruction contains it. (A jump past a `lock` prefix
    // makes one instruction begin inside another.)
    bool is_start(Address address) const;
    // Returns the nearest beginning of an instruction at or before the address.
    std::optional<Address> start_before(Address address) const;
    // Whether the address is part of an instruction.
    bool is_code(Address address) const;
    // Whether an instruction begins at the address, inside another instruction.
    bool is_doubtful(Address address) const;

  private:
    // Both bits: an instruction begins inside another one.
    enum Byte : unsigned char { Unknown = 0, Start = 1, Inside = 2 };

    void follow(std::vector<Address> roots);
    void add_gap(size_t begin, size_t end);
    bool reads_as_code(size_t begin, size_t end, std::vector<size_t>& starts) const;
    bool mark(size_t at, size_t length);

    Address low_;
    std::string_view code_;
    const Architecture* architecture_;
    std::vector<unsigned char> bytes_;
};

} // namespace sonde
