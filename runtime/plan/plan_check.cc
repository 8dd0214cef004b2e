// Checks a plan from a file.
//
// A saved plan can be damaged, or made by another version of sonde. The runtime uses its numbers as offsets and indexes
// without further checks. So everything that could lead outside of memory is checked here: offsets of globals in the
// data area, indexes of rows, sizes of keys, values of enumerations.
//
// Sums are compared in a form that cannot overflow: `size <= total - offset`, after `offset <= total`.
#include "runtime/plan/plan_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "runtime/plan/counts.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/task_arrays.h"

namespace sonde::plan {
namespace {

constexpr uint64_t most_data = 1ull << 30;
constexpr uint32_t most_frame = 4u << 20;
constexpr uint64_t most_counters = 1 << 16;

Error wrong(const std::string& what) { return Error("the plan contradicts itself: " + what); }

bool consistent(const StatsNeeds& stats) {
    if (stats.histogram > StatsNeeds::Linear)
        return false;
    if (stats.histogram != StatsNeeds::Linear)
        return true;
    uint64_t range = static_cast<uint64_t>(stats.high) - static_cast<uint64_t>(stats.low);
    return stats.width > 0 && stats.high >= stats.low && range <= INT64_MAX &&
           range / static_cast<uint64_t>(stats.width) < (1 << 16);
}

bool consistent(const Global& global, const Plan& plan) {
    if (global.type > Value::Stats || !consistent(global.stats))
        return false;
    auto size_of = [&](Value type) -> uint64_t {
        if (type == Value::Stats)
            return stats_bytes(global.stats);
        return type == Value::String ? plan.max_string : 8;
    };
    if (global.keys.empty())
        return global.offset >= sizeof(SessionWords) && global.offset <= plan.data_size &&
               size_of(global.type) <= plan.data_size - global.offset;
    const bool has_counter = global.offset >= sizeof(SessionWords) && global.offset % 8 == 0 && plan.data_size >= 8 &&
                             global.offset <= plan.data_size - 8;
    if (is_in_tasks(global) &&
        (!global.in_kernel || global.wrap || global.type == Value::Stats || global.keys.size() != 1 || !has_counter))
        return false;
    uint64_t key_size = 0;
    for (bool narrow : {false, true})
        for (const KeyPart& key : global.keys) {
            bool is_narrow = key.type == Value::Long && key.size == 4;
            if (is_narrow != narrow)
                continue;
            bool fits = key.type == Value::Long ? is_narrow || key.size == 8
                                                : key.size >= 8 && key.size <= plan.max_string && key.size % 8 == 0;
            if (key.type > Value::String || key.role > KeyRole::Process || !fits || key.offset != key_size ||
                (key.is_text && key.type != Value::Long))
                return false;
            key_size += key.size;
        }
    // The components are adjacent, and the size is rounded up to 8 bytes by the last one. So the sum must equal the
    // size.
    return global.capacity > 0 && global.key_size == key_size && global.value_size == 8 + size_of(global.type);
}

bool in_data(const Plan& plan, uint64_t offset) {
    return offset >= sizeof(SessionWords) && offset % 8 == 0 && offset <= plan.data_size - 8;
}

bool known_row(const Plan& plan, const Point& point) { return point.row < plan.rows.size(); }

// Limits and choices of the options, which --relink takes as they are.
bool consistent(const Translate& translate) {
    const auto in_range = [](uint64_t value, uint64_t initial, int64_t least, int64_t most) {
        const auto number = static_cast<int64_t>(value);
        return value == initial || (number >= least && number <= most);
    };
    bool fits = translate.histogram <= HistogramStyle::Unicode && translate.host_probes <= HandlerPlace::Kernel &&
                translate.ring_bytes >= 1 << 20 && translate.ring_bytes <= 1 << 30;
#define LIMIT(member, initial, name, least, most)                                                                      \
    fits = fits && in_range(translate.limits.member, initial, least, most);
#include "options/translate.def"
    return fits && std::ranges::all_of(translate.groups,
                                       [](const GroupName& group) { return group.kind <= GroupKind::Cgroup; });
}

Result<void> check_probe(const Plan& plan, const Probe& probe) {
    auto wrong_probe = [&](const char* what) { return wrong(fmt::format("the probe at `{}` {}", probe.place, what)); };
    if (static_cast<uint64_t>(probe.kind) >= kind_count)
        return wrong_probe("has an unknown kind");
    if (probe.frame_size > most_frame)
        return wrong_probe("needs too large a frame");
    if (probe.in_kernel ? plan.bpf_object.empty() : is_event(probe.kind))
        return wrong_probe("has no code");
    if (probe.lock && !in_data(plan, probe.lock))
        return wrong_probe("has its lock outside of the data");
    if (probe.points.empty() && (is_event(probe.kind) || is_file(probe.kind)))
        return wrong_probe("has no points");
    for (const Point& point : probe.points)
        if (!known_row(plan, point))
            return wrong_probe("has a point without a row");
    return {};
}

// A replacement follows the instruction closely.
bool consistent(const ProbedCode& code, const Architecture& machine) {
    constexpr uint64_t most_away = 256;
    return static_cast<size_t>(code.hazard) < machine.hazards().size() &&
           (code.instead == 0 || (code.instead > code.offset && code.instead - code.offset <= most_away));
}

} // namespace

Result<void> check(const Plan& plan) {
    const Architecture* machine = architecture_of(plan.machine, false);
    if (!machine)
        return wrong("it is for an unknown machine");
    if (plan.max_string < 8 || plan.max_string > 65536 || (plan.max_string & (plan.max_string - 1)))
        return wrong(fmt::format("strings of {} bytes", plan.max_string));
    if (plan.data_size < sizeof(SessionWords) || plan.data_size > most_data)
        return wrong(fmt::format("{} bytes of data", plan.data_size));
    if (plan.marks && (plan.marks < sizeof(SessionWords) || plan.marks > plan.data_size ||
                       plan.data_size - plan.marks < mark_kinds * plan.marks_size()))
        return wrong("its marks do not fit");
    if (!consistent(plan.translate))
        return wrong("its options are out of range");
    if (plan.counters.size() > most_counters)
        return wrong("too many counters");
    for (const Global& global : plan.globals)
        if (!consistent(global, plan) || (global.in_kernel && plan.bpf_object.empty()))
            return wrong(fmt::format("the global `{}` does not fit its place", global.name));
    for (size_t i = 0; i < plan.formats.size(); i++)
        for (const Directive& directive : plan.formats[i].directives)
            if (directive.kind > Directive::Addresses || directive.about > About::TaskName ||
                !consistent(directive.stats))
                return wrong(fmt::format("format {} has an unknown form", i));
    for (size_t i = 0; i < plan.sites.size(); i++)
        if (static_cast<size_t>(plan.sites[i].message.id) >= error_count)
            return wrong(fmt::format("site {} has an unknown error", i));
    for (const ProbedFile& file : plan.files)
        for (const ProbedCode& code : file.code)
            if (!consistent(code, *machine))
                return wrong(fmt::format("`{}` has an invalid place", file.path));
    for (const Probe& probe : plan.probes)
        if (Result<void> checked = check_probe(plan, probe); !checked)
            return checked;
    return {};
}

} // namespace sonde::plan
