// The list of architectures, and the choice of the one for which sonde is built.
#include "arch/architecture.h"

#include <elf.h>

#include <algorithm>

#include "arch/arm64/arm64.h"
#include "arch/x86_64/x86_64.h"

namespace sonde {

const Architecture& host_architecture() {
#if defined(__aarch64__)
    return arm64_architecture();
#else
    return x86_64_architecture();
#endif
}

const Architecture* architecture_of(uint16_t machine, bool is_32_bit) {
    if (machine == EM_X86_64 && !is_32_bit)
        return &x86_64_architecture();
    if (machine == EM_AARCH64 && !is_32_bit)
        return &arm64_architecture();
    if (machine == EM_386 && is_32_bit)
        return &i386_architecture();
    return nullptr;
}

std::span<const Architecture* const> machines() {
    static const Architecture* const all[] = {&x86_64_architecture(), &arm64_architecture()};
    return all;
}

const Architecture* find_machine(std::string_view name) {
    for (const Architecture* one : machines())
        if (std::ranges::find(one->names(), name) != one->names().end())
            return one;
    return nullptr;
}

} // namespace sonde
