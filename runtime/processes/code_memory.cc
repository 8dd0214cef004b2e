#include "runtime/processes/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "arch/architecture.h"

namespace sonde {

bool is_breakpoint(std::string_view found) { return found.starts_with(host_architecture().uprobe_breakpoint()); }

bool is_call_of_kernel(const std::vector<ProcessMapping>& mappings, const std::string& found, uint64_t address) {
    if (found.size() != kernels_call_length || found[0] != kernels_call)
        return false;
    int32_t distance = 0;
    std::memcpy(&distance, found.data() + 1, sizeof distance);
    const uint64_t target = address + kernels_call_length + static_cast<uint64_t>(int64_t{distance});
    return std::ranges::any_of(
        mappings, [&](const ProcessMapping& one) { return one.covers(target) && one.path == "[uprobes-trampoline]"; });
}

std::optional<std::pair<uint64_t, uint64_t>> numbers_of(int fd) {
    const auto page_size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* mapped = mmap(nullptr, page_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED)
        return std::nullopt;
    std::optional<std::pair<uint64_t, uint64_t>> out;
    for (const ProcessMapping& mapping : read_own_maps())
        if (mapping.covers(reinterpret_cast<uint64_t>(mapped)))
            out = std::pair(mapping.device, mapping.inode);
    munmap(mapped, page_size);
    return out;
}

} // namespace sonde
