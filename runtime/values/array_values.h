// Elements of arrays in the form that output needs: keys and values with their types instead of bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/symbols/frames.h"
#include "runtime/values/host_arrays.h"

namespace sonde {

class ProcessNumbers;
class Symbolizer;

// One component of a key.
struct KeyValue {
    bool is_text = false;
    int64_t number = 0;
    std::string text; // of a stack: its addresses, as addresses_in() reads them
};
// Returns the components of an element's key; key_value() returns one of them.
std::vector<KeyValue> key_values(const plan::Plan& plan, const plan::Global& global, const ArrayElement& element);
KeyValue key_value(const plan::Plan& plan, const plan::KeyPart& part, const ArrayElement& element);

// Returns the process that the user stacks in the key belong to: the key's component with the role Process. Returns 0
// if the key has no such component; a Symbolizer then searches all processes. The number is a PID in the initial PID
// namespace.
uint64_t process_of(const plan::Global& global, const std::vector<KeyValue>& key, const ProcessNumbers& numbers);
// Returns the frames of a component that is a stack, innermost first. `with_source` reads line tables.
std::vector<Frame> frames_of(Symbolizer& symbols, uint64_t process, const KeyValue& stack, bool with_source = false);

inline bool is_stack(plan::KeyRole role) {
    return role == plan::KeyRole::KernelStack || role == plan::KeyRole::UserStack;
}
// Returns the name of a component: the variable in the script's statement, else `key1`, `key2` and so on.
std::string name_of_key(const plan::Global& global, size_t index);

// A statistic with all of its buckets: first those of the histogram, then those of the percentiles.
struct Statistic {
    plan::StatsBlock block{};
    std::vector<uint64_t> buckets;
};
// Copies a statistic from the payload of an element, which needs no alignment.
Statistic statistic_of(const plan::StatsNeeds& needs, const char* payload);
// Returns a string in a field of `size` bytes, without the padding.
std::string string_at(const char* bytes, size_t size);

} // namespace sonde
