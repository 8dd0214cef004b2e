// What the end of a session says: globals that nobody read, errors, losses, times.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/terminal_text.h"
#include "runtime/containers/groups.h"
#include "runtime/engine/session_state.h"
#include "runtime/engine/unhit.h"
#include "runtime/symbols/no_stacks.h"
#include "runtime/text/messages.h"
#include "runtime/values/array_values.h"
#include "runtime/values/histogram.h"

namespace sonde {
namespace {

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)
            out += c;
        else if (c == '\n')
            out += "\\n";
        else if (c == '\t')
            out += "\\t";
        else
            out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
    return out + "\"";
}

// A value as `name=value`, or a statistic as its extractors and its histogram.
std::string render(const plan::Global& global, const std::string& name, const char* payload, uint32_t max_string) {
    if (global.type == plan::Value::String)
        return fmt::format("{}={}\n", name, quoted(string_at(payload, max_string)));
    if (global.type == plan::Value::Long) {
        int64_t value = 0;
        std::memcpy(&value, payload, sizeof value);
        return global.print_as_pointer ? fmt::format("{}={:#x}\n", name, static_cast<uint64_t>(value))
                                       : fmt::format("{}={}\n", name, value);
    }
    const Statistic statistic = statistic_of(global.stats, payload);
    const plan::StatsBlock& block = statistic.block;
    const StatsView view{&block, statistic.buckets.data()};
    if (block.count == 0)
        return fmt::format("{} @count=0\n", name);
    std::string out = fmt::format("{} @count={} @min={} @max={} @sum={} @avg={}\n", name, block.count, view.min(),
                                  view.max(), block.sum, view.avg());
    if (global.stats.buckets())
        out += render_histogram(global.stats, reinterpret_cast<const uint64_t*>(payload));
    return out;
}

} // namespace

void Session::print_global(const plan::Global& global, size_t index) {
    auto shown = [&](const std::string& text) { return escapes() ? terminal_text(text) : text; };
    const bool is_text = options.output.format == OutputFormat::Text;
    if (global.keys.empty()) {
        const char* payload = data.memory + global.offset;
        output.write(options.output.format == OutputFormat::Json
                         ? json_lines.scalar(global, payload)
                         : shown(render(global, global.name, payload, plan.max_string)));
        return;
    }
    std::vector<ArrayElement> elements = data.arrays[index]->snapshot();
    // By value, largest first.
    HostForeach order{static_cast<uint32_t>(index), -1, 0, 0, 0, -1, 0, nullptr};
    sort_elements(global, plan.max_string, order, elements);
    if (!is_text) {
        output.write(options.output.format == OutputFormat::Json
                         ? json_lines.array(global, elements)
                         : csv_table(plan, data.symbols, data.numbers, global, elements));
        return;
    }
    for (const ArrayElement& element : elements) {
        std::string keys;
        for (const KeyValue& key : key_values(plan, global, element))
            keys += (keys.empty() ? "" : ",") + (key.is_text ? quoted(key.text) : std::to_string(key.number));
        output.write(
            shown(render(global, fmt::format("{}[{}]", global.name, keys), element.payload.data(), plan.max_string)));
    }
}

void Session::print_globals() {
    if (options.suppress_auto_print)
        return;
    // What becomes a picture is not told as numbers, too.
    for (size_t i = 0; i < plan.globals.size(); i++)
        if (plan.globals[i].auto_print && std::find(pictured.begin(), pictured.end(), i) == pictured.end())
            print_global(plan.globals[i], i);
}

Result<void> Session::find_pictures() {
    for (const PictureRequest& request : options.pictures) {
        if (request.kind == PictureRequest::Timeline) {
            Result<std::unique_ptr<Timeline>> started = Timeline::start(plan, request.file);
            if (!started)
                return std::move(started).error();
            timelines.push_back(*std::move(started));
            continue;
        }
        Result<size_t> global = find_pictured(plan, request);
        if (!global)
            return std::move(global).error();
        if (request.kind == PictureRequest::Heatmap) {
            if (!plan::keeps_distribution(plan.globals[*global].stats))
                return Error(
                    fmt::format("--heatmap: the plan was saved without it, and `{}` keeps no histogram; save it "
                                "again with --heatmap",
                                plan.globals[*global].name));
            heatmaps.emplace_back(plan, *global);
            heatmap_files.push_back(request.file);
        } else {
            if (request.is_pushed() && options.pprof_interval_s > 0) {
                Result<std::unique_ptr<ProfilePusher>> pusher = ProfilePusher::start(
                    plan, *global, request.target, options.pprof_push, std::llround(options.pprof_interval_s * 1e9));
                if (!pusher)
                    return std::move(pusher).error();
                profile_pushers[drawn.size()] = *std::move(pusher);
            }
            pictured.push_back(*global);
            drawn.push_back(request);
        }
        if (request.file == "-" || request.is_pushed())
            continue;
        // It is known now that it can be written.
        if (Result<void> written = write_file(request.file, ""); !written)
            return written;
    }
    if (options.flame_base.empty())
        return {};
    Result<std::string> base = read_file(options.flame_base);
    if (!base)
        return std::move(base).error();
    Result<FoldedWeights> parsed = parse_folded(*base);
    if (!parsed)
        return Error(fmt::format("{}: {}", options.flame_base, parsed.error().message));
    flame_base = *std::move(parsed);
    return {};
}

Result<void> Session::draw_pictures(const std::function<bool()>& hurry) {
    for (size_t i = 0; i < pictured.size(); i++) {
        const std::vector<ArrayElement> elements = data.arrays[pictured[i]]->snapshot();
        const auto pusher = profile_pushers.find(i);
        Result<void> done =
            pusher != profile_pushers.end()
                ? pusher->second->finish(data.symbols, data.numbers, elements, hurry)
                : draw_picture(plan, data.symbols, data.numbers, pictured[i], elements, drawn[i],
                               flame_base ? &*flame_base : nullptr,
                               {options.pprof_push, hurry, [&](const std::string& text) { output.write(text); }});
        if (!done)
            return done;
    }
    return draw_heatmaps();
}

Result<void> Session::draw_heatmaps() {
    for (size_t i = 0; i < heatmaps.size(); i++) {
        const std::string& file = heatmap_files[i];
        if (heatmaps[i].values() == 0) {
            warn(fmt::format("--heatmap: `{}` got no values{}", plan.globals[heatmaps[i].global()].name,
                             file == "-" ? "" : fmt::format(", and {} is empty", file)),
                 Weight::Answer);
            continue;
        }
        if (file == "-")
            output.write(heatmaps[i].text());
        else if (Result<void> written =
                     write_file(file, file.ends_with(".svg") ? heatmaps[i].svg() : heatmaps[i].html());
                 !written)
            return written;
    }
    return {};
}

Result<void> Session::finish_timelines() {
    Result<void> out;
    for (const std::unique_ptr<Timeline>& timeline : timelines)
        if (Result<void> finished = timeline->finish(data.memory, accounting.count(Loss::Records)); out)
            out = std::move(finished);
    return out;
}

int64_t Session::until_pictures(int64_t now, int64_t most) const {
    for (const std::unique_ptr<Timeline>& timeline : timelines)
        most = std::min(most, timeline->until_sample(now));
    for (const Heatmap& heatmap : heatmaps)
        most = std::min(most, heatmap.until_look(now));
    for (const auto& [index, pusher] : profile_pushers)
        most = std::min(most, pusher->until_push(now));
    return most;
}

void Session::look_after_pictures(int64_t now, bool at_once) {
    for (const auto& [index, pusher] : profile_pushers)
        if (pusher->until_push(now) == 0)
            pusher->push(data.symbols, data.numbers, data.arrays[pusher->global()]->snapshot(), now);
    for (const std::unique_ptr<Timeline>& timeline : timelines)
        timeline->sample(now, data.memory);
    if (spans)
        spans->turn(now, data.words->realtime_offset_ns);
    for (Heatmap& heatmap : heatmaps) {
        if (!at_once && heatmap.until_look(now) > 0)
            continue;
        const plan::Global& global = plan.globals[heatmap.global()];
        if (global.keys.empty())
            heatmap.look(now, {{0, "", std::string(data.memory + global.offset, plan::stats_bytes(global.stats))}});
        else
            heatmap.look(now, data.arrays[heatmap.global()]->snapshot());
    }
}

namespace {

// Its numbers as the kernel's side counted them.
ProbeRow count_hits(const plan::Plan& plan, const KernelObject& kernel, uint32_t index, plan::ProbeCounts counts) {
    const plan::Probe& probe = plan.probes[index];
    ProbeRow out;
    out.point = probe.points.empty() ? "" : probe.points[0].pn;
    out.place = probe.place;
    out.points = probe.points.size();
    out.skipped = counts.skipped + counts.waited;
    out.failed = counts.errors;
    if (!plan.timing)
        return out;
    plan::ProbeTiming timing{};
    for (const plan::Point& point : probe.points)
        add_timing(timing, timing_of(kernel, point.row));
    out.counted = true;
    out.began = timing.hits;
    out.handled = timing.outcomes[plan::Handled];
    out.lost = timing.outcomes[plan::OutputLost];
    out.failed = timing.outcomes[plan::Failed];
    if (uint64_t ran = out.handled + out.lost + out.failed) {
        out.min_ns = ~timing.min_biased_ns;
        out.mean_ns = timing.total_ns / ran;
        out.max_ns = timing.max_ns;
    }
    return out;
}

// Whether a map that forgets what was not used for long may have had to. Processors keep some free elements each.
bool is_full(const KernelObject& kernel, const std::string& name) {
    const int map = kernel.map_fd(name);
    bpf_map_info info{};
    uint32_t size = sizeof info;
    if (map < 0 || bpf_obj_get_info_by_fd(map, &info, &size) != 0)
        return false;
    std::string key(info.key_size, 0), next = key;
    uint64_t elements = 0;
    for (void* at = nullptr; bpf_map_get_next_key(map, at, next.data()) == 0; at = key.data()) {
        key = next;
        elements++;
    }
    return elements >= info.max_entries / 4 * 3;
}

// Hits whose stack found no room among those that processes share.
uint64_t count_unshared(const KernelObject& kernel) {
    const int map = kernel.map_fd("sonde_unshared");
    uint32_t only = 0;
    uint64_t count = 0;
    return map >= 0 && bpf_map_lookup_elem(map, &only, &count) == 0 ? count : 0;
}

// What sonde's own programs, which follow tasks, have missed.
uint64_t count_unfollowed(const KernelObject& kernel) {
    uint64_t out = 0;
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, kernel.object()) {
        const std::string name = bpf_program__name(program);
        if (name.starts_with("sonde_"))
            out += kernel.missed_by(name);
    }
    return out;
}

} // namespace

void Session::count_losses() {
    for (uint32_t i = 0; i < plan.probes.size(); i++) {
        const plan::Probe& probe = plan.probes[i];
        if (auto seen = data.errors.find(&probe); plan.suppress_errors && !probe.in_kernel && seen != data.errors.end())
            accounting.add(Loss::Suppressed, seen->second.count, probe.place, seen->second.first);
        plan::ProbeCounts row{};
        if (!probe.in_kernel || bpf_map_lookup_elem(data.kernel->map_fd("sonde_counts"), &i, &row) != 0)
            continue;
        ProbeRow hits = count_hits(plan, *data.kernel, i, row);
        hits.missed = data.missed[i] + data.kernel->missed_by(probe.symbol) +
                      (probe.entry_program.empty() ? 0 : data.kernel->missed_by(probe.entry_program));
        accounting.add(Loss::Missed, hits.missed, probe.place);
        // A program at the entry knows which return the kernel will not follow; one at the return, that it may be so.
        const bool knows = probe.is_session || !probe.entry_program.empty();
        const uint64_t unsaved =
            row.unsaved && (probe.is_session || is_full(*data.kernel, probe.entry_map)) ? row.unsaved : 0;
        hits.missed += unsaved + (knows ? row.nested : 0);
        accounting.add(knows ? Loss::Nested : Loss::Full, row.nested, probe.place);
        accounting.add(Loss::Unsaved, unsaved, probe.place);
        accounting.add(Loss::Records, row.lost, probe.place);
        accounting.add(Loss::Locked, row.waited, probe.place, probe.locked_for);
        accounting.add(Loss::NoFrame, row.skipped, probe.place);
        if (plan.suppress_errors)
            accounting.add(Loss::Suppressed, row.errors, probe.place, data.errors[&probe].first);
        accounting.add_row(std::move(hits));
    }
    if (data.kernel)
        count_no_stacks(plan, *data.kernel, accounting);
    accounting.add(Loss::Tasks, data.words->lost_tasks);
    if (data.kernel) {
        accounting.add(Loss::Unfollowed, count_unfollowed(*data.kernel));
        accounting.add(Loss::Unshared, count_unshared(*data.kernel));
    }
    accounting.add(Loss::Speculations, speculations.dropped(), "", std::to_string(Speculations::max_bytes >> 20));
}

void Session::print_hits() {
    if (options.timing && options.output.format != OutputFormat::Json)
        output.write(data.hit_report.text(plan, data.kernel.get()));
}

// A script that ended the session has seen what it wanted, unless nothing at all was hit; and of all processes of a
// machine nobody expects that they come by everywhere.
void Session::say_unhit() {
    constexpr size_t most_lines = 10;
    const Marks marks(plan, data.memory);
    const bool has_target = !options.command.empty() || options.target_pid != 0;
    const bool everybody = !has_target && !plan.filter_groups;
    const bool was_any = any_hit(plan, marks);
    if (!data.kernel || failed || ((exited || everybody) && was_any))
        return;
    std::string whose = !options.command.empty() ? "the command" : fmt::format("process {}", options.target_pid);
    if (plan.filter_groups)
        whose = (has_target ? whose + " in " : "those of ") + describe_groups(plan.groups);
    if (everybody) {
        whose = "a process";
        if (!probed.empty())
            target_files.look_at_all();
    }
    std::vector<std::string> lines =
        explain_unhit({plan, marks, target_files, probed, whose, everybody, target_program, options.inlined_copies});
    if ((options.several_ways || everybody) && !lines.empty() && !was_any) {
        const size_t more = lines.size() - 1;
        const std::string others = more == 0   ? ""
                                   : more == 1 ? ", nor was 1 more point"
                                               : fmt::format(", nor were {} more points", more);
        return warn(fmt::format("nothing was seen: {}{}", lines[0], others),
                    options.several_ways ? Weight::Answer : Weight::Advice);
    }
    for (size_t i = 0; i < std::min(lines.size(), most_lines); i++)
        warn(lines[i]);
    if (lines.size() > most_lines)
        warn(fmt::format("and {} more points were never hit", lines.size() - most_lines));
}

void Session::report() {
    accounting.say();
    uint64_t skipped = data.words->skipped;
    if (data.words->errors || skipped)
        warn(fmt::format("Number of errors: {}, skipped probes: {}", data.words->errors, skipped), Weight::Answer);
    if (options.timing && data.kernel)
        accounting.say_hits();
}

} // namespace sonde
