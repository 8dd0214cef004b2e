// -l and -L: one line a probe point.
#include <set>

#include <fmt/format.h>

#include "frontend/probes/probe.h"

namespace sonde {

std::vector<std::string> list_points(const std::vector<ResolvedPoint>& points, bool with_variables) {
    std::set<std::string> lines;
    for (const ResolvedPoint& point : points) {
        std::string line = point.point.pp;
        if (with_variables && point.mark)
            for (size_t i = 0; i < point.mark->arguments.size(); i++)
                line += fmt::format(" $arg{}:long", i + 1);
        else if (with_variables && point.module && point.function.has_debug_info) {
            Address address = point.is_return ? point.entry_address : point.address;
            std::vector<Variable> results;
            if (point.is_return)
                results = point.module->results(point.function);
            for (size_t i = 0; i < results.size(); i++)
                line += fmt::format(" ${}:{}", result_name(results, i), type_name(results[i].type));
            for (const Variable& variable : point.module->variables_in(point.function, address))
                if (!variable.is_result && point.module->locate(variable, address).kind != Location::Unavailable)
                    line += fmt::format(" ${}:{}", variable.name, type_name(variable.type));
        }
        lines.insert(std::move(line));
    }
    return {lines.begin(), lines.end()};
}

} // namespace sonde
