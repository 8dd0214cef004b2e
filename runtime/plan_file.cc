// One function lists every field, for writing and for reading alike, so that the two cannot drift.
#include "runtime/plan_file.h"

#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/replace_file.h"

namespace sonde::plan {
namespace {

constexpr char magic[8] = {'s', 'o', 'n', 'd', 'e', 'p', '4', '\n'};

class Writer {
  public:
    static constexpr bool reading = false;
    std::vector<uint8_t> out;
    template <typename T> void number(T& value) {
        const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
        out.insert(out.end(), bytes, bytes + sizeof value);
    }
    uint64_t count(uint64_t size) {
        number(size);
        return size;
    }
    void bytes(void* data, uint64_t size) {
        if (size == 0)
            return;
        out.insert(out.end(), static_cast<uint8_t*>(data), static_cast<uint8_t*>(data) + size);
    }
    bool ok() const { return true; }
};

class Reader {
  public:
    static constexpr bool reading = true;
    explicit Reader(std::span<const uint8_t> in) : in_(in) {}
    template <typename T> void number(T& value) { bytes(&value, sizeof value); }
    // Bounded by what is left: every element takes at least a byte.
    uint64_t count(uint64_t) {
        uint64_t size = 0;
        number(size);
        if (size > in_.size())
            ok_ = false;
        return ok_ ? size : 0;
    }
    void bytes(void* data, uint64_t size) {
        if (size == 0)
            return;
        if (!ok_ || size > in_.size()) {
            ok_ = false;
            if (size < 64)
                std::memset(data, 0, size);
            return;
        }
        std::memcpy(data, in_.data(), size);
        in_ = in_.subspan(size);
    }
    bool ok() const { return ok_; }
    bool at_end() const { return in_.empty(); }

  private:
    std::span<const uint8_t> in_;
    bool ok_ = true;
};

template <typename A, typename T> void fields(A& a, T& value);

template <typename A> void field(A& a, std::string& text) {
    text.resize(a.count(text.size()));
    a.bytes(text.data(), text.size());
}
template <typename A> void field(A& a, bool& flag) {
    uint8_t byte = flag;
    a.number(byte);
    flag = byte != 0;
}
template <typename A, typename T> void field(A& a, std::vector<T>& list) {
    uint64_t count = a.count(list.size());
    if constexpr (std::is_same_v<T, uint8_t>) {
        list.resize(count);
        a.bytes(list.data(), list.size());
    } else if constexpr (A::reading) {
        // One by one, so that a false count takes no more memory than the file has data for.
        for (uint64_t i = 0; i < count && a.ok(); i++)
            fields(a, list.emplace_back());
    } else {
        for (T& item : list)
            fields(a, item);
    }
}
template <typename A, typename T> void field(A& a, T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
        a.number(value);
    else
        fields(a, value);
}
template <typename A, typename... T> void all(A& a, T&... values) { (field(a, values), ...); }

template <typename A> void members(A& a, StatsNeeds& v) {
    all(a, v.variance, v.histogram, v.low, v.high, v.width, v.variance_shift, v.elision, v.bar_width);
}
template <typename A> void members(A& a, Directive& v) {
    all(a, v.kind, v.conversion, v.flag, v.width_is_arg, v.precision_is_arg, v.width, v.precision, v.text, v.stats);
}
template <typename A> void members(A& a, Format& v) { all(a, v.directives); }
template <typename A> void members(A& a, Site& v) { all(a, v.message, v.near); }
template <typename A> void members(A& a, Value& v) { all(a, v); }
template <typename A> void members(A& a, std::string& v) { field(a, v); }
template <typename A> void members(A& a, KeyPart& v) { all(a, v.type, v.offset, v.size, v.is_signed, v.is_text); }
template <typename A> void members(A& a, Global& v) {
    all(a, v.name, v.type, v.keys, v.stats, v.offset, v.in_kernel, v.map, v.capacity, v.wrap, v.key_size, v.value_size,
        v.initial_long, v.initial_string, v.address_of, v.auto_print, v.print_as_pointer);
}
template <typename A> void members(A& a, PerfSpec& v) { all(a, v.type, v.config, v.sample, v.is_frequency); }
template <typename A> void members(A& a, Counter& v) { all(a, v.name, v.perf); }
template <typename A> void members(A& a, WatchSpec& v) {
    all(a, v.address, v.length, v.reads, v.is_kernel, v.is_relative, v.is_symbol);
}
template <typename A> void members(A& a, HookSpec& v) { all(a, v.family, v.hook, v.priority); }
template <typename A> void members(A& a, FileSpec& v) { all(a, v.mode, v.max_size); }
template <typename A> void members(A& a, Point& v) {
    all(a, v.pp, v.pn, v.function, v.path, v.symbol, v.module, v.number, v.build_id, v.offset, v.entry_offset,
        v.ref_ctr_offset, v.program, v.pid, v.perf, v.watch, v.hook, v.file, v.row);
}
template <typename A> void members(A& a, TimerSpec& v) { all(a, v.interval_ns, v.random_ns); }
template <typename A> void members(A& a, Probe& v) {
    all(a, v.name, v.place, v.kind, v.in_kernel, v.symbol, v.entry_program, v.entry_map, v.at_instruction,
        v.reads_registers, v.is_session, v.sleepable, v.order, v.timer, v.lock, v.locked_for, v.frame_size, v.points);
}
template <typename A> void members(A& a, Plan& v) {
    all(a, v.script, v.bpf_object, v.host_object, v.data_size, v.max_string, v.max_errors, v.max_skipped, v.max_action,
        v.max_nesting, v.max_backtrace, v.ring_bytes, v.tables, v.writes, v.filter_target, v.timing);
    all(a, v.globals, v.formats, v.sites, v.rows, v.probes, v.lines, v.counters, v.texts, v.module, v.kernel,
        v.kernel_types);
}
template <typename A, typename T> void fields(A& a, T& value) { members(a, value); }

// What the runtime relies on without looking again.
bool consistent(const StatsNeeds& stats) {
    if (stats.histogram > StatsNeeds::Linear)
        return false;
    if (stats.histogram != StatsNeeds::Linear)
        return true;
    uint64_t range = static_cast<uint64_t>(stats.high) - static_cast<uint64_t>(stats.low);
    return stats.width > 0 && stats.high > stats.low && range <= INT64_MAX &&
           range / static_cast<uint64_t>(stats.width) < (1 << 16);
}

bool consistent(const Global& global, const Plan& plan) {
    if (global.type > Value::Stats || !consistent(global.stats))
        return false;
    auto size_of = [&](Value type) -> uint64_t {
        if (type == Value::Stats)
            return sizeof(StatsBlock) + 8ull * global.stats.buckets();
        return type == Value::String ? plan.max_string : 8;
    };
    if (global.keys.empty())
        return global.offset >= sizeof(SessionWords) && global.offset <= plan.data_size &&
               size_of(global.type) <= plan.data_size - global.offset;
    uint64_t key_size = 0;
    for (bool narrow : {false, true})
        for (const KeyPart& key : global.keys) {
            bool is_narrow = key.type == Value::Long && key.size == 4;
            if (is_narrow != narrow)
                continue;
            bool fits = key.type == Value::Long ? is_narrow || key.size == 8
                                                : key.size >= 8 && key.size <= plan.max_string && key.size % 8 == 0;
            if (key.type > Value::String || !fits || key.offset != key_size || (key.is_text && key.type != Value::Long))
                return false;
            key_size += key.size;
        }
    return global.key_size == key_size && global.value_size == 8 + size_of(global.type);
}

bool consistent(const Plan& plan) {
    if (plan.max_string < 8 || plan.max_string > 65536 || (plan.max_string & (plan.max_string - 1)) ||
        plan.data_size < sizeof(SessionWords) || plan.data_size > (1ull << 30))
        return false;
    for (const Global& global : plan.globals)
        if (!consistent(global, plan) || (global.in_kernel && plan.bpf_object.empty()))
            return false;
    for (const Format& format : plan.formats)
        for (const Directive& directive : format.directives)
            if (directive.kind > Directive::Addresses || !consistent(directive.stats))
                return false;
    for (const Probe& probe : plan.probes)
        if (probe.kind > ProbeKind::Lsm || probe.frame_size > (4u << 20) ||
            (probe.in_kernel && plan.bpf_object.empty()))
            return false;
    return true;
}

} // namespace

std::vector<uint8_t> save(const Plan& plan) {
    Writer writer;
    writer.out.assign(std::begin(magic), std::end(magic));
    Plan copy = plan;
    fields(writer, copy);
    return std::move(writer.out);
}

Result<Plan> load(std::span<const uint8_t> bytes) {
    if (bytes.size() < sizeof magic || std::memcmp(bytes.data(), magic, sizeof magic) != 0)
        return Error("this is no saved plan of this version");
    Reader reader(bytes.subspan(sizeof magic));
    Plan plan;
    fields(reader, plan);
    if (!reader.ok() || !reader.at_end() || !consistent(plan))
        return Error("the saved plan is truncated or corrupt");
    return plan;
}

Result<void> save_file(const Plan& plan, const std::string& path) {
    std::vector<uint8_t> bytes = save(plan);
    return replace_file(path, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Result<Plan> load_file(const std::string& path) {
    Result<std::string> text = read_file(path);
    if (!text)
        return std::move(text).error();
    Result<Plan> plan = load(std::span(reinterpret_cast<const uint8_t*>(text->data()), text->size()));
    if (!plan)
        return std::move(plan).error().in(fmt::format("cannot run `{}`", path));
    return plan;
}

} // namespace sonde::plan
