#include "frontend/variables/readable_lines.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace sonde {

std::optional<ReadableStatement> nearest_readable(DwarfModule& module, const FunctionInstance& function,
                                                  Address address, const std::vector<LocationRange>& ranges) {
    auto is_readable = [&](const Statement& one) {
        return std::ranges::any_of(ranges, [&](const LocationRange& range) {
            return one.address >= range.low && one.address < range.high && range.place.kind != Location::Unavailable;
        });
    };
    auto distance = [&](const Statement& one) {
        return one.address > address ? one.address - address : address - one.address;
    };
    FunctionPattern pattern;
    pattern.function = function.name;
    pattern.line_kind = FunctionPattern::Wildcard;
    std::optional<ReadableStatement> best;
    for (const Statement& one : module.statements(pattern))
        if (one.function.die == function.die && is_readable(one) &&
            (!best || distance(one) < distance(best->statement)))
            best = {one, false, {}};
    if (!best)
        return std::nullopt;
    // A probe of a line is at each of its statements.
    const std::string file = std::filesystem::path(best->statement.file).filename();
    pattern.file = file;
    pattern.line_kind = FunctionPattern::Absolute;
    pattern.line = best->statement.line;
    best->whole_line = std::ranges::all_of(module.statements(pattern), is_readable);
    best->place = best->whole_line ? fmt::format("{}@{}:{}", function.name, file, best->statement.line)
                                   : fmt::format("{:#x}", best->statement.address);
    return best;
}

} // namespace sonde
