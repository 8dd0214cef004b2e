// Arrays as host handlers access them, either in this process or in hash maps of the kernel, and the order of foreach.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/host_api.h"
#include "runtime/plan/plan.h"

namespace sonde {

// An element of a snapshot. The key and the payload have the layout that runtime/plan/data.h describes.
struct ArrayElement {
    uint64_t insertion = 0;
    std::string key, payload;
};

// An array of the script. Keys and payloads are bytes in the layout of runtime/plan/data.h.
class HostArray {
  public:
    virtual ~HostArray() = default;
    // Copies an element's payload. Returns false if the element does not exist.
    virtual bool load(const std::string& key, std::string& payload) = 0;
    // Returns HostArrayFull if the array is full and does not wrap, and HostSameIdentity if the array has another key
    // with the same identity (runtime/plan/array_maps.h).
    virtual HostStatus store(const std::string& key, const std::string& payload) = 0;
    virtual void erase(const std::string& key) = 0;
    virtual void erase_all() = 0;
    virtual std::vector<ArrayElement> snapshot() = 0; // sorted by insertion
};

// An array in this process.
std::unique_ptr<HostArray> make_host_array(const plan::Global& global);
// An array in a hash map of the kernel. `words` has the counter for insertion numbers. An array that wraps has its own
// counter, and a second map, `order_fd` (runtime/plan/wrap.h); -1 for other arrays.
std::unique_ptr<HostArray> make_kernel_array(const plan::Global& global, int map_fd, plan::SessionWords* words,
                                             int order_fd);

// True if the key equals `slice` in all components whose bits are set in `mask`.
bool matches_slice(const plan::Global& global, const std::string& key, uint64_t mask, const void* slice);

// Sorts elements as a foreach statement requires. The sort is stable. Keeps only as many elements as the statement's
// limit allows.
void sort_elements(const plan::Global& global, uint32_t max_string, const HostForeach& spec,
                   std::vector<ArrayElement>& elements);

} // namespace sonde
