// Most hash maps allocate all elements when they are created. With BPF_F_NO_PREALLOC, each element is allocated when it
// is added; struct htab_elem (kernel/bpf/hashtab.c) has 48 bytes before the key.
#include "runtime/load/map_memory.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/fd.h"

namespace sonde {
namespace {

uint64_t accounted(int fd) {
    Result<std::string> info = read_file(fmt::format("/proc/self/fdinfo/{}", fd));
    constexpr std::string_view name = "memlock:";
    const size_t at = info ? info->find(name) : std::string::npos;
    return at == std::string::npos ? 0 : std::strtoull(info->c_str() + at + name.size(), nullptr, 10);
}

// The memory that elements can still take, in bytes.
uint64_t growth_of(const bpf_map* map) {
    constexpr uint64_t element_head = 48;
    const auto rounded = [](uint64_t bytes) { return (bytes + 7) / 8 * 8; };
    if (!(bpf_map__map_flags(map) & BPF_F_NO_PREALLOC))
        return 0;
    uint64_t copies = 0;
    switch (bpf_map__type(map)) {
    case BPF_MAP_TYPE_HASH:
        copies = 1;
        break;
    case BPF_MAP_TYPE_PERCPU_HASH:
        copies = static_cast<uint64_t>(std::max(1l, sysconf(_SC_NPROCESSORS_CONF)));
        break;
    default: // task storage: one element for each task
        return 0;
    }
    return bpf_map__max_entries(map) *
           (element_head + rounded(bpf_map__key_size(map)) + rounded(bpf_map__value_size(map)) * copies);
}

} // namespace

MapMemory memory_of_maps(const KernelObject& kernel) {
    MapMemory out;
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, kernel.object()) {
        const uint64_t now = accounted(bpf_map__fd(map));
        out.now += now;
        out.most += now + growth_of(map);
    }
    return out;
}

} // namespace sonde
