// The Plan's derived values and its text form.
#include "runtime/plan.h"

#include <fmt/format.h>

namespace sonde::plan {

uint32_t StatsNeeds::buckets() const {
    if (histogram == Log)
        return 128;
    if (histogram == Linear)
        return static_cast<uint32_t>((high - low) / width + 3);
    return 0;
}

std::string dump(const Plan& plan) {
    std::string out = fmt::format("plan for {}: {} bytes of BPF, {} bytes of host code, {} bytes of data\n",
                                  plan.script, plan.bpf_object.size(), plan.host_object.size(), plan.data_size);
    for (const Global& global : plan.globals) {
        static const char* const types[] = {"long", "string", "stats"};
        std::string where = global.keys.empty() ? fmt::format("data+{}", global.offset)
                            : global.in_kernel  ? "map " + global.map
                                                : "host memory";
        out += fmt::format("global {}: {} with {} keys in {}{}\n", global.name, types[static_cast<int>(global.type)],
                           global.keys.size(), where, global.auto_print ? ", printed at the end" : "");
    }
    for (const Probe& probe : plan.probes) {
        out += fmt::format("probe {} ({}) at {}: {} in the {}, frame {}\n", probe.name, name_of(probe.kind),
                           probe.place, probe.symbol, probe.in_kernel ? "kernel" : "host", probe.frame_size);
        if (probe.lock)
            out += fmt::format("  locks data+{} for {}\n", probe.lock, probe.locked_for);
        for (const Point& point : probe.points)
            out += point.symbol.empty()
                       ? fmt::format("  row {}: {} {}+{:#x}\n", point.row, point.pp, point.path, point.offset)
                       : fmt::format("  row {}: {} {}{}{}\n", point.row, point.pp, point.module,
                                     point.module.empty() ? "" : ":", point.symbol);
    }
    for (size_t i = 0; i < plan.sites.size(); i++)
        out += fmt::format("site {}: {} near {}\n", i, plan.sites[i].message, plan.sites[i].near);
    return out;
}

} // namespace sonde::plan
