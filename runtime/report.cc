// What the end of a session says: globals that nobody read, errors, losses, times.
#include <bpf/bpf.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/terminal_text.h"
#include "runtime/histogram.h"
#include "runtime/session_state.h"
#include "runtime/symbols/no_stacks.h"

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

std::string string_at(const char* bytes, size_t size) { return {bytes, strnlen(bytes, size)}; }

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
    std::vector<uint64_t> words(sizeof(plan::StatsBlock) / 8 + global.stats.buckets());
    std::memcpy(words.data(), payload, words.size() * 8);
    plan::StatsBlock block{};
    std::memcpy(&block, words.data(), sizeof block);
    StatsView view{&block, words.data() + sizeof block / 8};
    if (block.count == 0)
        return fmt::format("{} @count=0\n", name);
    std::string out = fmt::format("{} @count={} @min={} @max={} @sum={} @avg={}\n", name, block.count, view.min(),
                                  view.max(), block.sum, view.avg());
    if (global.stats.buckets())
        out += render_histogram(global.stats, view.buckets);
    return out;
}

} // namespace

void Session::print_global(const plan::Global& global, size_t index) {
    auto shown = [&](const std::string& text) { return escapes() ? terminal_text(text) : text; };
    if (global.keys.empty()) {
        output.write(shown(render(global, global.name, data + global.offset, plan.max_string)));
        return;
    }
    std::vector<ArrayElement> elements = arrays[index]->snapshot();
    // By value, largest first.
    HostForeach order{static_cast<uint32_t>(index), -1, 0, 0, -1, 0, nullptr};
    sort_elements(global, plan.max_string, order, elements);
    for (const ArrayElement& element : elements) {
        std::string keys;
        for (const plan::KeyPart& key : global.keys) {
            keys += keys.empty() ? "" : ",";
            if (key.type == plan::Value::String) {
                keys += quoted(string_at(element.key.data() + key.offset, key.size));
                continue;
            }
            int64_t value = plan::number_in(key, element.key.data());
            auto index = static_cast<uint64_t>(value);
            if (key.is_text)
                keys += quoted(index < plan.texts.size() ? plan.texts[index] : "");
            else
                keys += std::to_string(value);
        }
        output.write(
            shown(render(global, fmt::format("{}[{}]", global.name, keys), element.payload.data(), plan.max_string)));
    }
}

void Session::print_globals() {
    if (options.suppress_auto_print)
        return;
    for (size_t i = 0; i < plan.globals.size(); i++)
        if (plan.globals[i].auto_print)
            print_global(plan.globals[i], i);
}

void Session::count_losses() {
    for (uint32_t i = 0; kernel && i < plan.probes.size(); i++) {
        plan::ProbeCounts row{};
        const plan::Probe& probe = plan.probes[i];
        if (bpf_map_lookup_elem(kernel->map_fd("sonde_counts"), &i, &row) != 0)
            continue;
        accounting.add(Loss::Records, row.lost, probe.place);
        accounting.add(Loss::Locked, row.waited, probe.place, probe.locked_for);
        accounting.add(Loss::NoFrame, row.skipped, probe.place);
    }
    if (kernel)
        count_no_stacks(plan, *kernel, accounting);
    // Of these nothing tells which handler was running.
    if (kernel)
        accounting.add(Loss::Missed, kernel->missed_by_programs());
    accounting.add(Loss::Speculations, speculations.dropped(), "", std::to_string(Speculations::max_bytes >> 20));
}

void Session::report() {
    accounting.say(options.warnings_off);
    uint64_t skipped = words->skipped;
    if (words->errors || skipped)
        say(fmt::format("WARNING: Number of errors: {}, skipped probes: {}", words->errors, skipped));
    if (!options.timing || !kernel)
        return;
    int timing = kernel->map_fd("sonde_timing");
    say("----- probe hit report:");
    for (uint32_t i = 0; i < plan.probes.size(); i++) {
        const plan::Probe& probe = plan.probes[i];
        plan::ProbeTiming row{};
        if (!probe.in_kernel || bpf_map_lookup_elem(timing, &i, &row) != 0)
            continue;
        uint64_t least = row.hits ? ~row.min_biased_ns : 0, mean = row.hits ? row.total_ns / row.hits : 0;
        say(fmt::format("{}, ({}), hits: {}, ns: {}min/{}avg/{}max, points: {}",
                        probe.points.empty() ? "" : probe.points[0].pn, probe.place, row.hits, least, mean, row.max_ns,
                        probe.points.size()));
    }
}

} // namespace sonde
