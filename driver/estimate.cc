// An example of the output:
//
//     5,103 hits a second in 2.0 s
//       hits/s  ns each  trap  handler  processor  probe
//        5,103    1,310  1,020      290     0.67 %  process("./shop").function("price") at shop.stp:1:7
//     The script will cost about 0.67 % of one processor, and 34 MB of memory: 17 MB in maps, 17 MB in sonde.
//
// The sample has the script's probes without their conditions, because conditions can depend on what handlers do.
#include "driver/estimate.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/fd.h"
#include "driver/handler_cost.h"
#include "driver/pass.h"
#include "runtime/engine/overload.h"
#include "runtime/engine/session.h"
#include "runtime/kernel/features.h"
#include "runtime/kernel/kernel_memory.h"
#include "runtime/load/map_memory.h"
#include "runtime/plan/kinds.h"
#include "runtime/text/messages.h"
#include "runtime/values/hit_report.h"
#include "runtime/values/session_data.h"

namespace sonde {
namespace {

constexpr double second_ns = 1e9;

// What the sample has counted at one probe.
struct Rate {
    uint64_t hits = 0;
    double handler_ns = 0; // of an empty handler
};
struct Sample {
    double seconds = 0;
    std::vector<Rate> probes; // of the sampled plan
};

// Reads the counts when the sample ends. The probes still are attached then.
class RateCounter final : public Sink {
  public:
    RateCounter(SessionData& data, Sample& out) : data_(data), out_(out) {}
    void start() override { began_ns_ = now_ns(); }
    void stop() override {
        out_.seconds = static_cast<double>(now_ns() - began_ns_) / second_ns;
        for (const plan::Probe& probe : data_.plan.probes) {
            plan::ProbeTiming timing{};
            for (const plan::Point& point : probe.points)
                if (data_.kernel)
                    add_timing(timing, timing_of(*data_.kernel, point.row));
            const double hits = static_cast<double>(std::max<uint64_t>(1, timing.hits));
            out_.probes.push_back({timing.hits, static_cast<double>(timing.total_ns) / hits});
        }
    }

  private:
    SessionData& data_;
    Sample& out_;
    int64_t began_ns_ = 0;
};

// The script's handlers in the kernel, with empty bodies. `indexes` gets their positions in the script's program.
hir::Program without_bodies(const hir::Program& program, Arena& arena, std::vector<size_t>& indexes) {
    hir::Program out = program;
    out.globals.clear();
    out.functions.clear();
    out.handlers.clear();
    out.texts.clear();
    out.c_blocks.clear();
    out.counters.clear();
    out.locks = 0;
    for (size_t i = 0; i < program.handlers.size(); i++) {
        const hir::Handler& handler = *program.handlers[i];
        if (!plan::is_event(handler.kind))
            continue;
        auto* empty = arena.make<hir::Handler>(handler);
        empty->name = fmt::format("probe_{}", out.handlers.size());
        empty->in_kernel = true;
        empty->body = arena.make<hir::Block>(handler.range);
        empty->condition = empty->entry_stack = nullptr;
        empty->entry_values.clear();
        empty->locals.clear();
        empty->lock = -1;
        empty->locked_for.clear();
        out.handlers.push_back(empty);
        indexes.push_back(i);
    }
    return out;
}

std::string with_commas(double number) {
    std::string out = fmt::format("{:.0f}", number);
    for (size_t at = out.size(); at > 3; at -= 3)
        out.insert(at - 3, ",");
    return out;
}
// Two digits, or more before the point.
std::string percents(double share) {
    const double number = 100 * share;
    return fmt::format("{:.{}f} %", number, number >= 9.95 ? 0 : number >= 0.995 ? 1 : 2);
}
std::string megabytes(uint64_t bytes) {
    const double number = static_cast<double>(bytes) / (1 << 20);
    return fmt::format("{:.{}f} MB", number, number >= 9.95 ? 0 : 1);
}

// The memory of this process, in bytes.
uint64_t own_memory() {
    const Result<std::string> statm = read_file("/proc/self/statm");
    unsigned long long size = 0, resident = 0;
    if (!statm || std::sscanf(statm->c_str(), "%llu %llu", &size, &resident) != 2)
        return 0;
    return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

struct Line {
    double hits_a_second, trap_ns, handler_ns;
    bool is_measured; // the trap
    std::string name;

    double each_ns() const { return trap_ns + handler_ns; }
    double share() const { return hits_a_second * each_ns() / second_ns; }
};

std::string name_of(const plan::Probe& probe) {
    if (probe.points.empty())
        return probe.place;
    const size_t others = probe.points.size() - 1;
    return fmt::format("{}{} at {}", probe.points[0].pn, others ? fmt::format(" and {} more points", others) : "",
                       probe.place);
}

void print_lines(std::vector<Line> lines) {
    constexpr size_t most = 30;
    std::ranges::stable_sort(lines, std::greater<>(), &Line::share);
    std::vector<std::vector<std::string>> rows = {{"hits/s", "ns each", "trap", "handler", "processor", "probe"}};
    for (const Line& line : lines) {
        if (rows.size() > most)
            break;
        const bool any = line.hits_a_second > 0;
        rows.push_back({with_commas(line.hits_a_second), any ? with_commas(line.each_ns()) : "",
                        any ? with_commas(line.trap_ns) : "", any ? with_commas(line.handler_ns) : "",
                        any ? percents(line.share()) : "", line.name});
    }
    for (const std::vector<std::string>& row : rows) {
        for (size_t i = 0; i + 1 < row.size(); i++) {
            size_t width = 0;
            for (const std::vector<std::string>& other : rows)
                width = std::max(width, other[i].size());
            fmt::print("{:>{}}  ", row[i], width + (i == 0 ? 2 : 0));
        }
        fmt::print("{}\n", row.back());
    }
    if (lines.size() > most)
        fmt::print("  and {} probes with fewer hits\n", lines.size() - most);
}

// Loads the script's programs, which the kernel then verifies, and returns the memory of their maps. Attaches nothing.
Result<MapMemory> load_for_memory(const plan::Plan& plan, const Options& options) {
    if (plan.bpf_object.empty())
        return MapMemory{};
    KernelMemory memory;
    ProcessNumbers numbers;
    if (Result<void> opened = numbers.open(memory); !opened)
        return std::move(opened).error();
    const bool perf_only = options.translate.attach == "perf_event";
    Result<std::unique_ptr<KernelObject>> kernel =
        KernelObject::load(plan, find_link_kinds(plan, perf_only), numbers, nullptr);
    if (!kernel)
        return std::move(kernel).error();
    return memory_of_maps(**kernel);
}

Result<Sample> take_sample(const plan::Plan& plan, const Options& options, const Translate& translate) {
    Sample out;
    SessionOptions session = options.session;
    session.time_limit_s = *options.driver.estimate_s;
    session.overload = std::numeric_limits<double>::infinity();
    session.output = OutputFile();
    session.tells_cost = false;
    session.tolerated = LossKinds();
    SessionHooks hooks;
    hooks.is_sample = true;
    hooks.make_sinks = [&](SessionData& data, Output&) { return one_sink(std::make_unique<RateCounter>(data, out)); };
    if (Result<int> status = run_session(plan, session, translate, hooks); !status)
        return std::move(status).error();
    return out;
}

} // namespace

int estimate(const hir::Program& program, const plan::Plan& plan, const Options& options, const GeneratePlan& generate,
             Arena& arena) {
    const auto fail = [](const Error& error) {
        say_error(error.message);
        return say_failed(5);
    };
    const Result<MapMemory> maps = load_for_memory(plan, options);
    if (!maps)
        return fail(maps.error());
    std::vector<size_t> indexes;
    const hir::Program empty = without_bodies(program, arena, indexes);
    Sample sample;
    std::vector<Line> lines;
    bool has_loops = false, has_conditions = false;
    size_t unmeasured = 0;
    if (!empty.handlers.empty()) {
        Translate translate = options.translate;
        translate.keeps_times = true;
        translate.tells_hits = translate.tells_context = translate.timing = false;
        Result<plan::Plan> sampled = generate(empty, translate);
        if (!sampled)
            return fail(sampled.error());
        Result<Sample> taken = take_sample(*sampled, options, translate);
        if (!taken)
            return fail(taken.error());
        sample = *std::move(taken);
        for (size_t i = 0; i < sampled->probes.size() && i < sample.probes.size(); i++) {
            const HandlerCost cost = cost_of(*program.handlers[indexes[i]]);
            const Rate& rate = sample.probes[i];
            const plan::Probe& scripts = plan.probes[indexes[i]];
            const TrapTime trap = rate.hits ? trap_of(scripts) : TrapTime{0, true};
            lines.push_back({static_cast<double>(rate.hits) / std::max(sample.seconds, 1e-3), trap.ns,
                             rate.handler_ns * (scripts.entry_program.empty() ? 1 : 2) + cost.ns, trap.is_measured,
                             name_of(scripts)});
            has_loops = has_loops || (cost.has_loops && rate.hits);
            has_conditions = has_conditions || (scripts.has_condition && rate.hits);
            unmeasured += rate.hits && !trap.is_measured;
        }
    }
    double hits = 0, share = 0;
    size_t without_hits = 0;
    for (const Line& line : lines) {
        hits += line.hits_a_second;
        share += line.share();
        without_hits += line.hits_a_second == 0;
    }
    if (!lines.empty()) {
        fmt::print("{} hits a second in {:.1f} s\n", with_commas(hits), sample.seconds);
        print_lines(lines);
    }
    const uint64_t own = own_memory();
    fmt::print("The script will cost about {} of one processor, and {} of memory: {} in maps{}, {} in sonde.\n",
               percents(share), megabytes(maps->now + own), megabytes(maps->now),
               maps->most > maps->now ? fmt::format(" (up to {} when its arrays are full)", megabytes(maps->most)) : "",
               megabytes(own));
    if (without_hits)
        fmt::print("{} of {} probes had no hit in the sample: what they will cost is unknown.\n", without_hits,
                   lines.size());
    if (has_conditions)
        fmt::print("Conditions count as true.\n");
    if (has_loops)
        fmt::print("A loop counts as {} rounds.\n", usual_rounds);
    if (unmeasured)
        fmt::print("The traps of {} probes have usual values, which were not measured here.\n", unmeasured);
    return 0;
}

} // namespace sonde
