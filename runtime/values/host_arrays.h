// Arrays as host handlers see them: in the host's memory, or in the kernel's hash maps; and foreach over both.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/host_api.h"
#include "runtime/plan/plan.h"

namespace sonde {

// One element of a snapshot: insertion number, key and payload (laid out as plan.h says).
struct ArrayElement {
    uint64_t insertion = 0;
    std::string key, payload;
};

class HostArray {
  public:
    virtual ~HostArray() = default;
    // Payload without the insertion number; false if there is no such element.
    virtual bool load(const std::string& key, std::string& payload) = 0;
    virtual HostStatus store(const std::string& key, const std::string& payload) = 0;
    virtual void erase(const std::string& key) = 0;
    virtual void erase_all() = 0;
    virtual std::vector<ArrayElement> snapshot() = 0; // in order of insertion
};

std::unique_ptr<HostArray> make_host_array(const plan::Global& global);
// Over a hash map of the kernel; `words` gives insertion numbers. One that wraps has its own, and the map `order_fd`
// (runtime/plan/wrap.h).
std::unique_ptr<HostArray> make_kernel_array(const plan::Global& global, int map_fd, plan::SessionWords* words,
                                             int order_fd);

// True if the keys selected by mask are equal.
bool matches_slice(const plan::Global& global, const std::string& key, uint64_t mask, const void* slice);

// Sorted stably as a foreach wants it; only as many are kept as its limit lets it visit.
void sort_elements(const plan::Global& global, uint32_t max_string, const HostForeach& spec,
                   std::vector<ArrayElement>& elements);

} // namespace sonde
