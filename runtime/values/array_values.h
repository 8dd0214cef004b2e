// Elements of arrays as output shows them: keys and values with their meaning instead of bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/symbols/frames.h"
#include "runtime/values/host_arrays.h"

namespace sonde {

class ProcessNumbers;
class Symbols;

struct KeyValue {
    bool is_text = false;
    int64_t number = 0;
    std::string text; // of stacks the addresses
};
// A key's components.
std::vector<KeyValue> key_values(const plan::Plan& plan, const plan::Global& global, const ArrayElement& element);
KeyValue key_value(const plan::Plan& plan, const plan::KeyPart& part, const ArrayElement& element);

// The process whose user stacks the key has: the one that is a component of the key, else 0, whichever has something
// there. Numbered as the kernel does.
uint64_t process_of(const plan::Global& global, const std::vector<KeyValue>& key, const ProcessNumbers& numbers);
// The frames of a component that is a stack, the innermost first. `with_source` reads line tables.
std::vector<Frame> frames_of(Symbols& symbols, uint64_t process, const KeyValue& stack, bool with_source = false);

inline bool is_stack(plan::KeyRole role) {
    return role == plan::KeyRole::KernelStack || role == plan::KeyRole::UserStack;
}
// What a component is called: as the script writes it, else `key1`.
std::string name_of_key(const plan::Global& global, size_t index);

// A statistic's block and all of its buckets.
struct Statistic {
    plan::StatsBlock block{};
    std::vector<uint64_t> buckets;
};
Statistic statistic_of(const plan::StatsNeeds& needs, const char* payload);
// The characters of a string of at most `size` bytes.
std::string string_at(const char* bytes, size_t size);

} // namespace sonde
