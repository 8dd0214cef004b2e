// Finds addresses that two instructions compute together.
//
// Where an instruction has no room for an address, one instruction gives the page, and the next one adds the rest:
//
//     adrp x1, table              MemoryOperand::page
//     add  x1, x1, :lo12:table    becomes: the address of `table`
//     ldr  x2, [x1, :lo12:slot]   becomes: a load from the fixed address of `slot`
//
// Other instructions can be between them. This reads the code in order of addresses and does not follow jumps, so an
// address can be wrong after a jump. The users must check the addresses, for example that a function begins there.
#pragma once

#include <optional>

#include "arch/architecture.h"
#include "frontend/machine/address.h"

namespace sonde {

class PageAddresses {
  public:
    // Examines the next instruction. `next` is the address after it. If its operand is relative to a register with a
    // page, the operand becomes a fixed place, and the answer is true.
    bool complete(Instruction& one, Address next);
    // The address that the examined instructions have computed in a register.
    std::optional<Address> address_in(int reg) const;

  private:
    static constexpr int registers = 32;
    static bool is_tracked(int reg) { return reg >= 0 && reg < registers; }
    std::optional<Address> pages_[registers], addresses_[registers];
};

} // namespace sonde
