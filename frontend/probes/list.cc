// -l and -L: one line a probe point.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "frontend/probes/kind_process.h"
#include "frontend/variables/binding.h"

namespace sonde {
namespace {

std::string syscall_variables_text(const ResolvedPoint& point) {
    std::string out = point.is_exit ? " $return:long int" : "";
    for (const SyscallVariable& variable : syscall_variables(point))
        out += fmt::format(" ${}:{}", variable.name, type_name(variable.type));
    return out;
}

std::string kernel_variables_text(const ResolvedPoint& point) {
    std::string out;
    if (point.is_return && point.prototype->target)
        out += fmt::format(" $return:{}", type_name(point.prototype->target));
    for (const KernelVariable& variable : kernel_variables(point))
        out += fmt::format(" ${}:{}", variable.name, type_name(variable.type));
    return out;
}

bool is_in_program(const ResolvedPoint& point) { return point.module && !point.kernel; }

// What an address is counted from, in the words of the kernel modules that others make of scripts.
const char* relocated_section(const ResolvedPoint& point) {
    return point.module->position_independent() ? ".dynamic" : ".absolute";
}

Address probed_address(const ResolvedPoint& point) {
    return point.is_return && !point.at_return_instruction && point.function.entry != 0 ? point.function.entry
                                                                                        : point.address;
}

} // namespace

std::string list_variables(const ResolvedPoint& point) {
    if (!point.listed.empty())
        return point.listed.substr(std::min(point.listed.find(" $"), point.listed.size()));
    std::string line;
    if (plan::is_about(point.kind, plan::Subject::SystemCall))
        for (const std::string& name : process_syscall_variables(point.kind))
            line += fmt::format(" {}:long", name);
    else if (plan::is_file(point.kind))
        line += " $value:string";
    else if (plan::is_about(point.kind, plan::Subject::Packet))
        line += " $hooknum:unsigned char $skb:struct sk_buff* $in:struct net_device* $out:struct net_device*";
    else if (point.mark)
        for (size_t i = 0; i < point.mark->arguments.size(); i++)
            line += fmt::format(" $arg{}:long", i + 1);
    else if (point.syscall)
        line += syscall_variables_text(point);
    else if (point.prototype)
        line += kernel_variables_text(point);
    else if (!point.plt && point.module && point.function.has_debug_info) {
        Address address = point.is_return ? point.entry_address : point.address;
        std::vector<Variable> results;
        if (point.is_return)
            results = point.module->results(point.function);
        for (size_t i = 0; i < results.size(); i++)
            line += fmt::format(" ${}:{}", result_name(results, i), type_name(results[i].type));
        for (const Variable& variable : point.module->variables_to_list(point.function, address))
            if (!variable.is_result && point.module->locate(variable, address).kind != Location::Unavailable)
                line += fmt::format(" ${}:{}", variable.name, type_name(variable.type));
    }
    return line;
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
    // A statement's own line stands in the point only.
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
