// -l and -L: prints one line for each probe point.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "frontend/probes/kind_process.h"
#include "frontend/variables/sources.h"

namespace sonde {
namespace {

bool is_in_program(const ResolvedPoint& point) { return point.module && !point.kernel; }

// The base of an address, in the terms that SystemTap's kernel modules use.
const char* relocated_section(const ResolvedPoint& point) {
    return point.module->file().position_independent() ? ".dynamic" : ".absolute";
}

Address probed_address(const ResolvedPoint& point) {
    return point.is_return && !point.at_return_instruction && point.function.entry != 0 ? point.function.entry
                                                                                        : point.address;
}

} // namespace

std::string list_variables(const ResolvedPoint& point) {
    if (!point.listed.empty())
        return point.listed.substr(std::min(point.listed.find(" $"), point.listed.size()));
    return point.variables->list ? point.variables->list(point) : "";
}

std::string list_point(const ResolvedPoint& point, const ProbeEnvironment& env) {
    if (!point.listed.empty())
        return point.listed;
    std::string line = point.point.pp;
    if (env.listing_addresses && is_in_program(point))
        line += fmt::format(" /* pc={}+{:#x} */", relocated_section(point), probed_address(point));
    return line + (env.listing_variables ? list_variables(point) : "");
}

std::string describe_place(const ResolvedPoint& point) {
    if (!is_in_program(point))
        return "";
    // For a statement, only pp() has the statement's line.
    constexpr std::string_view statement = ".statement(\"";
    const std::string& pp = point.point.pp;
    size_t begin = pp.rfind(statement);
    const FunctionInstance& function = point.function;
    std::string place = place_text(function.name, function.file, function.line);
    if (begin != std::string::npos) {
        begin += statement.size();
        place = pp.substr(begin, pp.find('"', begin) - begin);
    }
    return fmt::format("probe {} process={} reloc={} pc={:#x}", place, point.module->path(), relocated_section(point),
                       probed_address(point));
}

} // namespace sonde
