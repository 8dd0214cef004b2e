// Elements of arrays in the form that output needs.
//
// In memory, a key is bytes in the layout of plan::KeyPart. A component is a number of 4 or 8 bytes, a string that is
// padded with NULs, or the index of a text that the script knows at compile time. The last form makes keys short:
// `n["read"]++` has a key of 4 bytes.
#include "runtime/values/array_values.h"

#include <cstring>

#include <fmt/format.h>

#include "runtime/processes/process_numbers.h"
#include "runtime/symbols/symbolizer.h"

namespace sonde {

std::string string_at(const char* bytes, size_t size) { return {bytes, strnlen(bytes, size)}; }

// A component that the script knows at compile time is stored as an index into Plan::texts.
KeyValue key_value(const plan::Plan& plan, const plan::KeyPart& part, const ArrayElement& element) {
    if (part.type == plan::Value::String)
        return {true, 0, string_at(element.key.data() + part.offset, part.size)};
    const int64_t number = plan::number_in(part, element.key.data());
    if (!part.is_text)
        return {false, number, ""};
    const auto index = static_cast<uint64_t>(number);
    return {true, 0, index < plan.texts.size() ? plan.texts[index] : ""};
}

std::vector<KeyValue> key_values(const plan::Plan& plan, const plan::Global& global, const ArrayElement& element) {
    std::vector<KeyValue> out;
    for (const plan::KeyPart& part : global.keys)
        out.push_back(key_value(plan, part, element));
    return out;
}

uint64_t process_of(const plan::Global& global, const std::vector<KeyValue>& key, const ProcessNumbers& numbers) {
    for (size_t i = 0; i < key.size(); i++)
        if (global.keys[i].role == plan::KeyRole::Process)
            return static_cast<uint64_t>(numbers.in_kernel(key[i].number));
    return 0;
}

// The first address is where the hit happened. All others are return addresses.
std::vector<Frame> frames_of(Symbolizer& symbols, uint64_t process, const KeyValue& stack, bool with_source) {
    std::vector<Frame> out;
    bool after_call = false;
    if (process == 0)
        process = symbols.process_of_stack(stack.text);
    for (const uint64_t address : addresses_in(stack.text)) {
        for (Frame& frame : frames_at(symbols, process, address, after_call, with_source))
            out.push_back(std::move(frame));
        after_call = true;
    }
    return out;
}

std::string name_of_key(const plan::Global& global, size_t index) {
    const std::string& name = global.keys[index].name;
    return name.empty() ? fmt::format("key{}", index + 1) : name;
}

Statistic statistic_of(const plan::StatsNeeds& needs, const char* payload) {
    Statistic out;
    out.buckets.resize((plan::stats_bytes(needs) - sizeof out.block) / 8);
    std::memcpy(&out.block, payload, sizeof out.block);
    if (!out.buckets.empty())
        std::memcpy(out.buckets.data(), payload + sizeof out.block, out.buckets.size() * 8);
    return out;
}

} // namespace sonde
