// -l and -L: one line a probe point.
#include <algorithm>

#include <fmt/format.h>

#include "frontend/probes/bind_impl.h"
#include "frontend/probes/kinds.h"

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

std::string list_point(const ResolvedPoint& point, bool with_variables) {
    if (!point.listed.empty())
        return point.listed;
    return point.point.pp + (with_variables ? list_variables(point) : "");
}

} // namespace sonde
