#include "frontend/machine/page_addresses.h"

namespace sonde {

bool PageAddresses::complete(Instruction& one, Address next) {
    MemoryOperand& memory = one.memory;
    const bool gives_page = one.operation == Operation::Address && memory.is_relative && memory.page != 0;
    bool is_completed = false;
    if (memory.exists && !memory.has_index && is_tracked(memory.base) && pages_[memory.base]) {
        memory.displacement += static_cast<int64_t>(*pages_[memory.base]);
        memory.base = -1;
        memory.is_fixed = is_completed = true;
    }
    if (is_tracked(one.to)) {
        const bool gives_address = one.operation == Operation::Address && memory.is_fixed && !gives_page;
        const Address address = memory.address(next);
        pages_[one.to] = gives_page ? std::optional(address) : std::nullopt;
        addresses_[one.to] = gives_address ? std::optional(address) : std::nullopt;
    }
    return is_completed;
}

std::optional<Address> PageAddresses::address_in(int reg) const {
    return is_tracked(reg) ? addresses_[reg] : std::nullopt;
}

} // namespace sonde
