// Each plan's BPF object declares the maps of its shared arrays, as every object does. Before libbpf creates them, it
// is given descriptors of the existing ones (bpf_map__reuse_fd()). libbpf then takes over the attributes of these maps
// without a check, and the verifier checks accesses against the real sizes. So a difference between the declaration
// and the existing map would be an internal error, and is reported as such.
#include "runtime/load/shared_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "runtime/load/verifier_log.h"
#include "runtime/plan/array_maps.h"
#include "runtime/plan/shared_globals.h"
#include "runtime/plan/wrap.h"

namespace sonde {
namespace {

uint64_t whole_pages(uint64_t bytes) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

Error cannot_create(const std::string& what) {
    return errno == EPERM ? Error(explain_permission(), EPERM)
                          : errno_error(fmt::format("cannot create a map for {}", what), errno);
}

} // namespace

bool read_map_element(int map, uint32_t index, void* value) { return bpf_map_lookup_elem(map, &index, value) == 0; }

Result<std::unique_ptr<SharedMaps>> SharedMaps::create() {
    std::unique_ptr<SharedMaps> out(new SharedMaps());
    bpf_map_create_opts options{};
    options.sz = sizeof options;
    options.map_flags = BPF_F_MMAPABLE;
    out->scalars_.reset(bpf_map_create(BPF_MAP_TYPE_ARRAY, "sonde_shared", 4, plan::shared_bytes, 1, &options));
    if (!out->scalars_)
        return cannot_create("the session's globals");
    out->memory_ = static_cast<char*>(out->map_data(-1, 0));
    if (!out->memory_)
        return errno_error("cannot map the session's globals", errno);
    return out;
}

SharedMaps::~SharedMaps() {
    if (memory_)
        munmap(memory_, plan::shared_end);
}

Result<void> SharedMaps::add(const plan::Global& global, uint32_t max_string) {
    if (const uint64_t size = plan::shared_size(global, max_string)) {
        // String operations may write past the last string.
        if (global.offset + size + 2ull * max_string > plan::shared_end)
            return Error(fmt::format("`{}` does not fit: the globals of a session can have {} KB, without arrays",
                                     global.name, plan::shared_bytes >> 10));
        std::memset(memory_ + global.offset, 0, size);
        if (global.keys.empty() && global.type == plan::Value::Long)
            std::memcpy(memory_ + global.offset, &global.initial_long, sizeof global.initial_long);
        else if (global.keys.empty() && global.type == plan::Value::String)
            global.initial_string.copy(memory_ + global.offset, max_string - 1);
    }
    if (global.keys.empty())
        return {};
    Fd elements(bpf_map_create(BPF_MAP_TYPE_HASH, global.map.c_str(), plan::map_key_size(global),
                               plan::map_value_size(global), static_cast<uint32_t>(global.capacity), nullptr));
    if (!elements)
        return cannot_create(fmt::format("`{}`", global.name));
    if (global.wrap) {
        const std::string name = global.map + SONDE_WRAP_ORDER;
        Fd order(bpf_map_create(BPF_MAP_TYPE_ARRAY, name.c_str(), 4, 8 + ((global.key_size + 7u) & ~7u),
                                static_cast<uint32_t>(sonde_wrap_places(global.capacity)), nullptr));
        if (!order)
            return cannot_create(fmt::format("`{}`", global.name));
        arrays_[name] = std::move(order);
    }
    arrays_[global.map] = std::move(elements);
    return {};
}

void SharedMaps::remove(const plan::Global& global) {
    arrays_.erase(global.map);
    arrays_.erase(global.map + SONDE_WRAP_ORDER);
}

Result<void> SharedMaps::reuse(const plan::Plan& plan, bpf_object* object) const {
    const auto use = [object](const std::string& name, int fd) -> Result<void> {
        bpf_map* map = bpf_object__find_map_by_name(object, name.c_str());
        if (!map || fd < 0)
            return Error(fmt::format("internal: the shared map `{}` does not exist", name));
        const uint32_t sizes[] = {bpf_map__key_size(map), bpf_map__value_size(map), bpf_map__max_entries(map)};
        const bpf_map_type type = bpf_map__type(map);
        if (const int failed = bpf_map__reuse_fd(map, fd))
            return errno_error(fmt::format("cannot share the map `{}`", name), -failed);
        const uint32_t shared[] = {bpf_map__key_size(map), bpf_map__value_size(map), bpf_map__max_entries(map)};
        if (type != bpf_map__type(map) || std::memcmp(sizes, shared, sizeof sizes) != 0)
            return Error(fmt::format("internal: the shared map `{}` has another layout", name));
        return {};
    };
    if (std::ranges::none_of(plan.globals, plan::is_shared))
        return {};
    if (Result<void> used = use(plan::shared_section, scalars_.get()); !used)
        return used;
    for (const plan::Global& global : plan.globals) {
        if (!plan::is_shared(global) || global.keys.empty())
            continue;
        if (Result<void> used = use(global.map, map_fd(global.map)); !used)
            return used;
        const std::string order = global.map + SONDE_WRAP_ORDER;
        if (Result<void> used = global.wrap ? use(order, map_fd(order)) : Result<void>(); !used)
            return used;
    }
    return {};
}

void* SharedMaps::map_data(int own, uint64_t own_bytes) const {
    if (own_bytes > plan::shared_at) {
        errno = ENOMEM;
        return nullptr;
    }
    void* all = mmap(nullptr, plan::shared_end, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return nullptr;
    char* memory = static_cast<char*>(all);
    const auto put = [](char* at, uint64_t bytes, int fd) {
        const int flags = MAP_FIXED | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
        return bytes == 0 || mmap(at, bytes, PROT_READ | PROT_WRITE, flags, fd, 0) != MAP_FAILED;
    };
    if (!put(memory, whole_pages(own_bytes), own) ||
        !put(memory + plan::shared_at, plan::shared_bytes, scalars_.get())) {
        const int reason = errno;
        munmap(all, plan::shared_end);
        errno = reason;
        return nullptr;
    }
    return memory;
}

int SharedMaps::map_fd(const std::string& name) const {
    const auto found = arrays_.find(name);
    return found == arrays_.end() ? -1 : found->second.get();
}

} // namespace sonde
