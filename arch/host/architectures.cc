// The list of architectures, and the choice of the one for which sonde is built.
#include "arch/architecture.h"

#include <elf.h>

#include "arch/x86_64/x86_64.h"

namespace sonde {

const Architecture& host_architecture() {
#if defined(__x86_64__)
    return x86_64_architecture();
#else
#error "sonde has no folder in arch/ for this machine"
#endif
}

const Architecture* architecture_of(uint16_t machine, bool is_32_bit) {
    if (machine == EM_X86_64 && !is_32_bit)
        return &x86_64_architecture();
    if (machine == EM_386 && is_32_bit)
        return &i386_architecture();
    return nullptr;
}

} // namespace sonde
