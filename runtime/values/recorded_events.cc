#include "runtime/values/recorded_events.h"

#include <algorithm>

#include <fmt/format.h>

namespace sonde {

bool RecordedEvent::has(std::string_view name) const {
    return name == plan::user_stack_value     ? user_stack.has_value()
           : name == plan::kernel_stack_value ? kernel_stack.has_value()
                                              : values.contains(name);
}

std::string RecordedEvent::all_values() const {
    std::string out;
    for (const std::string_view name : names)
        out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, values.find(name)->second.text);
    return out;
}

std::string RecordedEvent::Stack::text(int64_t first, int64_t count, uint64_t size) const {
    const size_t begin = std::min(addresses.size(), static_cast<size_t>(std::max<int64_t>(0, first)));
    const size_t end = count < 0
                           ? addresses.size()
                           : std::min(addresses.size(), begin + std::min(addresses.size(), static_cast<size_t>(count)));
    std::string out;
    for (size_t i = begin; i < end; i++) {
        const std::string one = fmt::format("{}{:#x}", i == begin ? "" : " ", addresses[i]);
        if (out.size() + one.size() >= size)
            break;
        out += one;
    }
    return out;
}

} // namespace sonde
