// The functions that compiled host handlers call (runtime/plan/host_api.h documents them).
//
// Handlers in the kernel have equivalents of these functions in codegen/rtlib. A script may use a function in both
// kinds of handlers, so both must return the same results for the same arguments.
#include "runtime/plan/host_api.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include <sched.h>

#include "arch/architecture.h"
#include "arch/host/cycle_counter.h"
#include "base/clock.h"
#include "runtime/engine/session_state.h"
#include "runtime/plan/host_frames.h"
#include "runtime/values/histogram.h"

namespace sonde {
namespace {

Session& of(void* session) { return *static_cast<Session*>(session); }

std::string key_of(Session& session, uint32_t global, const void* key) {
    return {static_cast<const char*>(key), session.plan.globals[global].key_size};
}

uint64_t payload_size(Session& session, uint32_t global) { return session.plan.globals[global].value_size - 8; }

int64_t random_number() {
    static std::mt19937 random{std::random_device{}()};
    return static_cast<int64_t>(random());
}

// Computes the value of the kernel's jiffies_64.
int64_t jiffies_now() {
    timespec tick{};
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    // The kernel starts its counter five minutes before 32 bits overflow (INITIAL_JIFFIES).
    int64_t hz = 1000000000 / std::max(1l, tick.tv_nsec);
    return (1ll << 32) - 300 * hz + kernel_now_ns() / std::max(1l, tick.tv_nsec);
}

// Does the same as codegen/rtlib/stats.c, but on a copy of the statistic.
void add_to_stats(std::string& payload, const plan::StatsNeeds& needs, int64_t value) {
    plan::StatsBlock block{};
    std::memcpy(&block, payload.data(), sizeof block);
    uint64_t biased = static_cast<uint64_t>(value) + (1ull << 63);
    block.count++;
    block.sum = static_cast<int64_t>(static_cast<uint64_t>(block.sum) + static_cast<uint64_t>(value));
    block.max_biased = std::max(block.max_biased, biased);
    block.min_biased = std::max(block.min_biased, ~biased);
    uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    unsigned __int128 squares = static_cast<unsigned __int128>(block.squares_high) << 64 | block.squares_low;
    squares += static_cast<unsigned __int128>(magnitude) * magnitude;
    block.squares_low = static_cast<uint64_t>(squares);
    block.squares_high = static_cast<uint64_t>(squares >> 64);
    std::memcpy(payload.data(), &block, sizeof block);
    const auto count_in = [&](uint64_t offset, uint64_t bucket) {
        const size_t place = offset + 8 * bucket;
        uint64_t count = 0;
        if (place + 8 > payload.size())
            return;
        std::memcpy(&count, payload.data() + place, 8);
        count++;
        std::memcpy(payload.data() + place, &count, 8);
    };
    if (needs.quantiles)
        count_in(plan::quantiles_at(needs), sonde_quantile_bucket(value));
    if (needs.histogram == plan::StatsNeeds::None)
        return;
    uint64_t bucket = 0;
    if (needs.histogram == plan::StatsNeeds::Log) {
        auto bits = static_cast<uint64_t>(magnitude ? 64 - __builtin_clzll(magnitude) : 0);
        bucket = value < 0 ? 64 - bits : 64 + bits;
    } else if (value >= needs.low) {
        uint64_t inner = static_cast<uint64_t>(needs.high - needs.low) / static_cast<uint64_t>(needs.width);
        uint64_t at =
            (static_cast<uint64_t>(value) - static_cast<uint64_t>(needs.low)) / static_cast<uint64_t>(needs.width);
        bucket = at > inner ? inner + 2 : at + 1;
    }
    if (bucket < needs.buckets())
        count_in(sizeof block, bucket);
}

} // namespace

extern "C" {

void sonde_host_emit(void* session, const void* record, uint64_t size) {
    of(session).handle_record(static_cast<const uint8_t*>(record), size);
}

// Functions for arrays. A missing element reads as zeros; the result says if the element exists.
int64_t sonde_host_array_load(void* session, uint32_t global, const void* key, void* value) {
    Session& s = of(session);
    std::string payload;
    bool there = s.data.arrays[global]->load(key_of(s, global, key), payload);
    payload.resize(payload_size(s, global), '\0');
    std::memcpy(value, payload.data(), payload.size());
    return there;
}

int64_t sonde_host_array_store(void* session, uint32_t global, const void* key, const void* value) {
    Session& s = of(session);
    return s.data.arrays[global]->store(key_of(s, global, key),
                                        std::string(static_cast<const char*>(value), payload_size(s, global)));
}

// A missing element counts as 0. The addition wraps on overflow, as in the kernel.
int64_t sonde_host_array_add(void* session, uint32_t global, const void* key, int64_t delta, int64_t* old_value) {
    int64_t value = 0;
    sonde_host_array_load(session, global, key, &value);
    *old_value = value;
    value = static_cast<int64_t>(static_cast<uint64_t>(value) + static_cast<uint64_t>(delta));
    return sonde_host_array_store(session, global, key, &value);
}

int64_t sonde_host_array_stat_add(void* session, uint32_t global, const void* key, int64_t value) {
    Session& s = of(session);
    std::string name = key_of(s, global, key), payload;
    s.data.arrays[global]->load(name, payload);
    payload.resize(payload_size(s, global), '\0');
    add_to_stats(payload, s.plan.globals[global].stats, value);
    return s.data.arrays[global]->store(name, payload);
}

void sonde_host_array_delete(void* session, uint32_t global, const void* key) {
    Session& s = of(session);
    s.data.arrays[global]->erase(key_of(s, global, key));
}

// Deletes the elements that match in the masked components. An empty mask matches all elements.
void sonde_host_array_delete_slice(void* session, uint32_t global, uint64_t mask, const void* slice) {
    Session& s = of(session);
    if (mask == 0) {
        s.data.arrays[global]->erase_all();
        return;
    }
    for (const ArrayElement& element : s.data.arrays[global]->snapshot())
        if (matches_slice(s.plan.globals[global], element.key, mask, slice))
            s.data.arrays[global]->erase(element.key);
}

// A mask with all bits set means a complete key, which needs no search.
int64_t sonde_host_array_contains_slice(void* session, uint32_t global, uint64_t mask, const void* slice) {
    Session& s = of(session);
    std::string payload;
    if (mask == ~0ull)
        return s.data.arrays[global]->load(key_of(s, global, slice), payload);
    for (const ArrayElement& element : s.data.arrays[global]->snapshot())
        if (matches_slice(s.plan.globals[global], element.key, mask, slice))
            return 1;
    return 0;
}

// Iterates over a sorted snapshot, so the body may change the array.
void* sonde_host_foreach_begin(void* session, const HostForeach* spec) {
    Session& s = of(session);
    HostRun::Iterator& iterator = s.host.iterators.emplace_back();
    iterator.global = &s.plan.globals[spec->global];
    iterator.elements = s.data.arrays[spec->global]->snapshot();
    if (spec->slice_mask)
        std::erase_if(iterator.elements, [&](const ArrayElement& element) {
            return !matches_slice(*iterator.global, element.key, spec->slice_mask, spec->slice_key);
        });
    sort_elements(*iterator.global, s.plan.max_string, *spec, iterator.elements);
    iterator.end = iterator.elements.size();
    if (spec->limit >= 0)
        iterator.end = std::min(iterator.end, static_cast<size_t>(spec->limit));
    return &iterator;
}

int64_t sonde_host_foreach_next(void* opaque, void* key, void* value) {
    auto& iterator = *static_cast<HostRun::Iterator*>(opaque);
    if (iterator.next >= iterator.end)
        return 0;
    const ArrayElement& element = iterator.elements[iterator.next++];
    std::memcpy(key, element.key.data(), element.key.size());
    if (value)
        std::memcpy(value, element.payload.data(), element.payload.size());
    return 1;
}

// Nothing to do: the iterators belong to the session, since a handler that aborts does not end its loops.
void sonde_host_foreach_end(void*) {}

// Returns null if calls are nested too deeply. The handler then stops with an error.
char* sonde_host_push_frame(void* session, uint64_t size) {
    Session& s = of(session);
    char* frame = s.host.nesting < s.plan.translate.limits.max_nesting ? s.host.frames.push(size) : nullptr;
    s.host.nesting += frame != nullptr;
    return frame;
}
void sonde_host_pop_frame(void* session, char* frame) {
    Session& s = of(session);
    s.host.nesting--;
    s.host.frames.pop(frame);
}

void sonde_host_symbol(void* session, char* dst, uint64_t size, uint64_t address, uint64_t style) {
    Session& s = of(session);
    const RecordedEvent* event = s.host.event;
    const uint64_t process = event && event->user_stack ? event->user_stack->process : 0;
    std::snprintf(dst, size, "%s", s.data.symbolizer().text(process, address, style).c_str());
}

void sonde_host_file_value(void* session, char* dst, uint64_t size) {
    std::snprintf(dst, size, "%s", of(session).host.file_value.c_str());
}
// `$value` of a handler for a file, limited to the maximum size of the file.
void sonde_host_set_file_value(void* session, const char* text, int64_t append) {
    Session& s = of(session);
    std::string value = append ? s.host.file_value + text : text;
    value.resize(std::min<size_t>(value.size(), s.host.file_limit));
    s.host.file_value = std::move(value);
}

int64_t sonde_host_read_kernel(void* session, char* dst, uint64_t size, uint64_t address) {
    return of(session).kernel_memory.read(dst, size, address) ? 0 : 1;
}
int64_t sonde_host_read_kernel_block(void* session, char* dst, uint64_t size, uint64_t address) {
    // A string slot has space for another string after the first.
    size = std::min<uint64_t>(size, of(session).plan.max_string - 1);
    dst[0] = dst[size] = 0;
    return static_cast<int64_t>(address) < 0 ? sonde_host_read_kernel(session, dst, size, address)
                                             : sonde_host_read_user(session, dst, size, address);
}
int64_t sonde_host_read_kernel_string(void* session, char* dst, uint64_t size, uint64_t address) {
    return of(session).kernel_memory.read_string(dst, size, address) ? 0 : 1;
}

int64_t sonde_host_read_user(void* session, char* dst, uint64_t size, uint64_t address) {
    const plan::StackCopy* copy = of(session).data.symbols.copy();
    return copy && copy->read(address, dst, size) == size ? 0 : 1;
}
int64_t sonde_host_read_user_string(void* session, char* dst, uint64_t size, uint64_t address) {
    const plan::StackCopy* copy = of(session).data.symbols.copy();
    const uint64_t got = copy && size ? copy->read(address, dst, size - 1) : 0;
    dst[got] = 0;
    return got && (got == size - 1 || std::memchr(dst, 0, got)) ? 0 : (dst[0] = 0, 1);
}
int64_t sonde_host_register(void* session, int64_t number) {
    const Session& s = of(session);
    if (!s.data.symbols.copy() || !s.host.probe || s.host.probe->points.empty())
        return 0;
    const plan::StackCopy& copy = *s.data.symbols.copy();
    if (number == host_thread_pointer)
        return static_cast<int64_t>(copy.thread_pointer);
    const uint64_t at = s.host.probe->points[0].offset;
    const RegisterFile& registers = host_architecture().registers();
    const bool of_entry = number >= host_entry_registers;
    number -= of_entry ? host_entry_registers : 0;
    if (at >= copy.frames.size() || number < 0 || number >= registers.count())
        return 0;
    const plan::StackFrame& frame = copy.frames[at];
    const uint32_t index = registers.offset(static_cast<int>(number)) / 8;
    return static_cast<int64_t>(of_entry ? frame.registers_at_entry[index] : frame.registers[index]);
}
int64_t sonde_host_raise(int64_t) { return 1; }
int64_t sonde_host_loadavg(int64_t index) {
    double loads[3] = {};
    if (index < 0 || index > 2 || getloadavg(loads, 3) != 3)
        return -1;
    // The kernel's value has 11 fractional bits. getloadavg() provides only two decimals, and rounding keeps both.
    return std::lround(loads[index] * 2048);
}

int64_t sonde_host_memory_node(uint64_t address) {
    constexpr int64_t outside = -1, unknown = -2;
    if (address != 0 && !host_architecture().is_in_direct_map(address))
        return outside;
    return access("/sys/devices/system/node/node1", F_OK) != 0 ? 0 : unknown;
}
uint64_t sonde_host_append_histogram(void* session, char* dst, uint64_t length, uint32_t global,
                                     const uint64_t* stats) {
    const plan::Plan& plan = of(session).plan;
    const std::string text = render_histogram(plan.globals[global].stats, stats);
    const size_t room = plan.max_string - 1 - std::min<uint64_t>(length, plan.max_string - 1);
    const size_t taken = std::min(text.size(), room);
    std::memcpy(dst + length, text.data(), taken);
    dst[length + taken] = 0;
    return length + taken;
}

#define TASK_NUMBER(id, name, origin, helper, host, ...)                                                               \
    int64_t sonde_host_##name(void* opaque) {                                                                          \
        [[maybe_unused]] Session& session = of(opaque);                                                                \
        return static_cast<int64_t>(host);                                                                             \
    }
#include "runtime/plan/task_numbers.def"
#undef TASK_NUMBER
void sonde_host_execname(void* session, char* dst, uint64_t size) {
    const RecordedEvent* event = of(session).host.event;
    std::snprintf(dst, size, "%s", event ? event->task.c_str() : program_invocation_short_name);
}
void sonde_host_group_text(void* session, char* dst, uint64_t size, int64_t kind) {
    std::snprintf(dst, size, "%s", of(session).groups.own_text(static_cast<plan::GroupKind>(kind)).c_str());
}
int64_t sonde_host_monotonic_ns(void* session) { return of(session).data.kernel_time(); }
int64_t sonde_host_realtime_ns(void* session) { return of(session).data.real_time(); }

int64_t sonde_host_recorded(void* session, const char* name) {
    HostRun& host = of(session).host;
    const bool has = host.event && host.event->has(name);
    if (!has && host.event && host.probe)
        host.lacking[{host.probe, name}]++;
    return has;
}
int64_t sonde_host_recorded_number(void* session, const char* name) {
    const RecordedEvent::Value* value = of(session).host.recorded(name);
    return value ? value->number : 0;
}
void sonde_host_recorded_text(void* session, char* dst, uint64_t size, const char* name) {
    const RecordedEvent::Value* value = of(session).host.recorded(name);
    std::snprintf(dst, size, "%s", value ? value->text.c_str() : "");
}
void sonde_host_recorded_all(void* session, char* dst, uint64_t size) {
    const RecordedEvent* event = of(session).host.event;
    std::snprintf(dst, size, "%s", event ? event->all_values().c_str() : "");
}
int64_t sonde_host_recorded_row(void* session) { return of(session).host.row; }
int64_t sonde_host_recorded_stack(void* session, uint64_t* words, uint64_t most, int64_t of_kernel) {
    const RecordedEvent::Stack stack = of(session).host.recorded_stack(of_kernel != 0);
    const size_t count = std::min<size_t>(stack.addresses.size(), most);
    words[0] = stack.process;
    words[1] = stack.state;
    words[2] = count;
    std::copy_n(stack.addresses.begin(), count, words + 3);
    return static_cast<int64_t>(count);
}
int64_t sonde_host_recorded_address(void* session, int64_t of_kernel, int64_t index) {
    const RecordedEvent::Stack stack = of(session).host.recorded_stack(of_kernel != 0);
    const auto at = static_cast<uint64_t>(index);
    return at < stack.addresses.size() ? static_cast<int64_t>(stack.addresses[at]) : 0;
}
void sonde_host_recorded_addresses(void* session, char* dst, uint64_t size, int64_t of_kernel, int64_t first,
                                   int64_t count) {
    Session& s = of(session);
    const RecordedEvent::Stack stack = s.host.recorded_stack(of_kernel != 0);
    const std::string text = stack.text(first, count, size);
    std::snprintf(dst, size, "%s", text.c_str());
    if (s.host.note_stack)
        s.host.note_stack(text, stack.process);
}
int64_t sonde_host_cycles() { return static_cast<int64_t>(read_cycle_counter()); }

} // extern "C"

const HostSymbol* host_symbols(unsigned long* count) {
#define SYMBOL(name) {#name, reinterpret_cast<void*>(name)}
    static const HostSymbol symbols[] = {
        SYMBOL(sonde_host_emit),
        SYMBOL(sonde_host_array_load),
        SYMBOL(sonde_host_array_store),
        SYMBOL(sonde_host_array_add),
        SYMBOL(sonde_host_array_stat_add),
        SYMBOL(sonde_host_array_delete),
        SYMBOL(sonde_host_array_delete_slice),
        SYMBOL(sonde_host_array_contains_slice),
        SYMBOL(sonde_host_foreach_begin),
        SYMBOL(sonde_host_foreach_next),
        SYMBOL(sonde_host_foreach_end),
        SYMBOL(sonde_host_push_frame),
        SYMBOL(sonde_host_pop_frame),
        SYMBOL(sonde_host_symbol),
        SYMBOL(sonde_host_file_value),
        SYMBOL(sonde_host_set_file_value),
        SYMBOL(sonde_host_read_kernel),
        SYMBOL(sonde_host_read_kernel_block),
        SYMBOL(sonde_host_read_kernel_string),
        SYMBOL(sonde_host_read_user),
        SYMBOL(sonde_host_read_user_string),
        SYMBOL(sonde_host_register),
        SYMBOL(sonde_host_raise),
        SYMBOL(sonde_host_loadavg),
        SYMBOL(sonde_host_memory_node),
        SYMBOL(sonde_host_append_histogram),
#define TASK_NUMBER(id, name, ...) SYMBOL(sonde_host_##name),
#include "runtime/plan/task_numbers.def"
#undef TASK_NUMBER
        SYMBOL(sonde_host_execname),
        SYMBOL(sonde_host_recorded),
        SYMBOL(sonde_host_recorded_number),
        SYMBOL(sonde_host_recorded_text),
        SYMBOL(sonde_host_recorded_all),
        SYMBOL(sonde_host_recorded_row),
        SYMBOL(sonde_host_recorded_stack),
        SYMBOL(sonde_host_recorded_address),
        SYMBOL(sonde_host_recorded_addresses),
        SYMBOL(sonde_host_group_text),
        SYMBOL(sonde_host_monotonic_ns),
        SYMBOL(sonde_host_realtime_ns),
        SYMBOL(sonde_host_cycles),
        SYMBOL(memcpy),
        SYMBOL(memmove),
        SYMBOL(memset),
        SYMBOL(memcmp),
    };
#undef SYMBOL
    *count = std::size(symbols);
    return symbols;
}

} // namespace sonde
