#include "runtime/sinks/live/live_values.h"
#include "runtime/plan/object_names.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/terminal_text.h"
#include "runtime/plan/counts.h"
#include "runtime/values/session_data.h"

namespace sonde {
namespace {

constexpr size_t most_rates = 60;          // rates that are kept for each value
constexpr size_t most_described = 100'000; // keys whose texts are cached
constexpr size_t most_functions = 4;       // functions that are shown of a stack

// Returns the innermost functions of a stack, separated by ` < `.
std::string stack_text(const std::vector<Frame>& frames) {
    std::string out;
    for (size_t i = 0; i < std::min(frames.size(), most_functions); i++)
        out += (i ? " < " : "") + frame_name(frames[i]);
    return frames.empty() ? "(no stack)" : frames.size() > most_functions ? out + " < ..." : out;
}

// Subtracts an earlier state from a statistic: a reset remembers the state of that time. Zeroing the statistic itself
// could leave a count that does not match the sum, because handlers may add to it at any time. Returns false if the
// script has emptied the statistic since then; the value is then unchanged.
bool take_off(LiveValue& value, const Statistic& then) {
    if (value.block.count < then.block.count)
        return false;
    value.block.count -= then.block.count;
    value.block.sum -= then.block.sum;
    value.number = static_cast<int64_t>(value.block.count);
    value.has_range = false;
    for (size_t i = 0; i < value.buckets.size(); i++)
        value.buckets[i] -= std::min(value.buckets[i], then.buckets[i]);
    return true;
}

} // namespace

std::vector<ArrayElement> LiveTable::elements() const {
    std::vector<ArrayElement> out;
    for (const LiveRow& row : rows)
        out.push_back({0, row.key, row.payload});
    return out;
}

LiveTables::LiveTables(SessionData& data) : data_(data) { picture_.began_ns = now_ns(); }

LiveValue LiveTables::value_of(const plan::Global& global, const char* payload) const {
    LiveValue out;
    if (global.type == plan::Value::String) {
        out.text = string_at(payload, data_.plan.max_string);
    } else if (global.type == plan::Value::Long) {
        std::memcpy(&out.number, payload, sizeof out.number);
    } else {
        Statistic statistic = statistic_of(global.stats, payload);
        out.block = statistic.block;
        out.buckets = std::move(statistic.buckets);
        out.number = static_cast<int64_t>(out.block.count);
        out.has_range = out.block.count != 0;
    }
    return out;
}

// Computes the rate of a row's number. At the first update, no earlier number exists, so no rate is shown.
void LiveTables::follow(size_t global, LiveRow& row, double seconds) {
    const auto [at, is_new] = followed_.try_emplace({global, row.key});
    Followed& followed = at->second;
    if (!is_new || looks_ > 1) {
        row.value.rate = seconds > 0 ? static_cast<double>(row.value.number - followed.number) / seconds : 0;
        followed.rates.push_back(row.value.rate);
        if (followed.rates.size() > most_rates)
            followed.rates.pop_front();
    }
    followed.number = row.value.number;
    followed.seen = looks_;
    row.value.rates = followed.rates;
}

// Copies the current values of a global. Subtracts the values at the last reset from a scalar statistic.
LiveTable LiveTables::look_at(size_t index) {
    const plan::Global& global = data_.global(index);
    LiveTable out;
    out.global = index;
    out.name = global.name;
    out.type = global.type;
    out.stats = global.stats;
    out.prints_as_pointer = global.print_as_pointer;
    for (size_t i = 0; i < global.keys.size(); i++) {
        out.keys.push_back(name_of_key(global, i));
        out.has_stack |= is_stack(global.keys[i].role);
    }
    if (out.is_scalar()) {
        const char* place = data_.scalar(global);
        const size_t size = global.type == plan::Value::Long     ? 8
                            : global.type == plan::Value::String ? data_.plan.max_string
                                                                 : plan::stats_bytes(global.stats);
        out.rows.push_back({"", std::string(place, size), value_of(global, place)});
        if (const auto before = reset_at_.find(index); before != reset_at_.end())
            if (!take_off(out.rows[0].value, before->second))
                reset_at_.erase(before);
        return out;
    }
    for (ArrayElement& element : data_.arrays[index]->snapshot()) {
        LiveValue value = value_of(global, element.payload.data());
        out.rows.push_back({std::move(element.key), std::move(element.payload), std::move(value)});
    }
    return out;
}

uint64_t LiveTables::lost_records() const {
    uint64_t lost = 0;
    const int counts = data_.kernel ? data_.kernel->map_fd(plan::maps::counts) : -1;
    for (uint32_t i = 0; counts >= 0 && i < data_.plan.probes.size(); i++) {
        plan::ProbeCounts row{};
        if (data_.plan.probes[i].in_kernel && bpf_map_lookup_elem(counts, &i, &row) == 0)
            lost += row.lost;
    }
    return lost;
}

// Elements that no longer exist are removed from followed_, so that it cannot grow without limit.
const LivePicture& LiveTables::look() {
    const int64_t now = now_ns();
    const double seconds = looks_ ? static_cast<double>(now - picture_.time_ns) / 1e9 : 0;
    looks_++;
    picture_.time_ns = now;
    picture_.errors = data_.words->errors;
    picture_.skipped = data_.words->skipped;
    picture_.lost = lost_records();
    picture_.tables.clear();
    for (size_t i = 0; i < data_.global_count(); i++) {
        if (!data_.global(i).is_own)
            continue;
        picture_.tables.push_back(look_at(i));
        if (picture_.tables.back().type != plan::Value::String)
            for (LiveRow& row : picture_.tables.back().rows)
                follow(i, row, seconds);
    }
    std::erase_if(followed_, [&](const auto& one) { return one.second.seen != looks_; });
    return picture_;
}

// Cached, because looking up the names of a stack is slow and keys rarely change.
const std::vector<std::string>& LiveTables::describe(const LiveTable& table, const LiveRow& row) {
    if (described_.size() > most_described)
        described_.clear();
    const auto [at, is_new] = described_.try_emplace({table.global, row.key});
    if (!is_new)
        return at->second;
    const plan::Global& global = data_.global(table.global);
    ArrayElement element;
    element.key = row.key;
    const std::vector<KeyValue> key = key_values(data_.plan, global, element);
    for (size_t i = 0; i < key.size(); i++)
        at->second.push_back(
            is_stack(global.keys[i].role)
                ? stack_text(frames_of(data_.symbolizer(), process_of(global, key, data_.numbers), key[i]))
            : key[i].is_text ? key[i].text
                             : std::to_string(key[i].number));
    return at->second;
}

// A string scalar keeps its value.
void LiveTables::reset(size_t index) {
    const plan::Global& global = data_.global(index);
    char* place = data_.scalar(global);
    if (!global.keys.empty())
        data_.arrays[index]->erase_all();
    else if (global.type == plan::Value::Long)
        __atomic_store_n(reinterpret_cast<int64_t*>(place), global.initial_long, __ATOMIC_RELAXED);
    else if (global.type == plan::Value::Stats)
        reset_at_[index] = statistic_of(global.stats, place);
    // The jump of the values must not count as a rate.
    std::erase_if(followed_, [&](const auto& one) { return one.first.first == index; });
}

} // namespace sonde
