// Resolves netfilter.hook("H").pf("P") with an optional .priority("N"): packets in the network stack.
//
// Sources of names and numbers: include/uapi/linux/netfilter.h, netfilter_ipv4.h and netfilter_ipv6.h. Programs are
// attached by BPF links for netfilter (Linux 6.4, commit "bpf: add bpf_link support for BPF_NETFILTER programs"), which
// support IPv4 and IPv6.
#include <algorithm>
#include <charconv>
#include <span>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/probes/kind_kernel.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

using ast::PointComponent;

struct Name {
    const char* name;
    int32_t number;
};
enum : int32_t { ipv4 = 2, arp = 3, bridge = 7, ipv6 = 10 };
constexpr Name families[] = {
    {"NFPROTO_IPV4", ipv4}, {"NFPROTO_IPV6", ipv6}, {"NFPROTO_ARP", arp}, {"NFPROTO_BRIDGE", bridge}};
constexpr Name hooks[] = {{"NF_INET_PRE_ROUTING", 0}, {"NF_INET_LOCAL_IN", 1},     {"NF_INET_FORWARD", 2},
                          {"NF_INET_LOCAL_OUT", 3},   {"NF_INET_POST_ROUTING", 4}, {"NF_IP_PRE_ROUTING", 0},
                          {"NF_IP_LOCAL_IN", 1},      {"NF_IP_FORWARD", 2},        {"NF_IP_LOCAL_OUT", 3},
                          {"NF_IP_POST_ROUTING", 4},  {"NF_IP6_PRE_ROUTING", 0},   {"NF_IP6_LOCAL_IN", 1},
                          {"NF_IP6_FORWARD", 2},      {"NF_IP6_LOCAL_OUT", 3},     {"NF_IP6_POST_ROUTING", 4}};
constexpr Name priorities[] = {{"RAW_BEFORE_DEFRAG", -450},
                               {"CONNTRACK_DEFRAG", -400},
                               {"RAW", -300},
                               {"SELINUX_FIRST", -225},
                               {"CONNTRACK", -200},
                               {"MANGLE", -150},
                               {"NAT_DST", -100},
                               {"FILTER", 0},
                               {"SECURITY", 50},
                               {"NAT_SRC", 100},
                               {"SELINUX_LAST", 225},
                               {"CONNTRACK_HELPER", 300}};

std::optional<int32_t> number_of(const std::string& text) {
    int32_t number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

// Returns the number for a component's argument, or nullopt after reporting an error.
std::optional<int32_t> read_name(Resolving& resolving, const PointComponent& component, std::span<const Name> names,
                                 const char* what) {
    std::vector<std::string> all;
    for (const Name& one : names) {
        all.emplace_back(one.name);
        if (component.text == one.name)
            return one.number;
    }
    if (std::optional<int32_t> number = number_of(component.text); number && resolving.env.guru)
        return number;
    std::string near = nearest_name(component.text, all);
    DiagBuilder report = resolving.diags.report(DiagId::UnknownProbePoint, component.arg_range,
                                                fmt::format("unknown {} `{}`", what, component.text));
    if (!near.empty())
        report.suggest(near);
    else
        report.help(fmt::format("for example `{}`", names[0].name));
    return std::nullopt;
}

// Reads a priority: a number, or a name in the kernel's sources. Handlers of a hook run in the order of their
// priorities, the lowest first.
std::optional<int32_t> read_priority(Resolving& resolving, const PointComponent& component, int32_t family) {
    if (std::optional<int32_t> number = number_of(component.text)) {
        if (*number != INT32_MIN && *number != INT32_MAX)
            return number;
        resolving.diags.report(DiagId::BadNumber, component.arg_range,
                               "the first and the last priority belong to the kernel's own hooks");
        return std::nullopt;
    }
    std::string prefix = family == ipv6 ? "NF_IP6_PRI_" : "NF_IP_PRI_";
    std::vector<std::string> all;
    for (const Name& one : priorities) {
        all.push_back(prefix + one.name);
        if (component.text == all.back())
            return one.number;
    }
    DiagBuilder report =
        resolving.diags.report(DiagId::BadNumber, component.arg_range,
                               fmt::format("`{}` is neither a number nor a priority of that family", component.text));
    if (std::string near = nearest_name(component.text, all); !near.empty())
        report.suggest(near);
    else
        report.help(fmt::format("write `priority(\"0\")` or `priority(\"{}FILTER\")`", prefix));
    return std::nullopt;
}

// The components after `netfilter`.
struct PacketPattern {
    const PointComponent *hook = nullptr, *family = nullptr, *priority = nullptr; // a missing priority means 0
};

// Returns nullopt after reporting an error.
std::optional<PacketPattern> read_pattern(Resolving& resolving) {
    PacketPattern out;
    for (size_t i = 1; const PointComponent* one = resolving.at(i); i++) {
        std::vector<std::string> allowed;
        if (!out.hook)
            allowed.emplace_back("hook");
        if (!out.family)
            allowed.emplace_back("pf");
        if (out.hook && out.family && !out.priority)
            allowed.emplace_back("priority");
        if (std::find(allowed.begin(), allowed.end(), one->name) == allowed.end()) {
            report_component(resolving, i, allowed);
            return std::nullopt;
        }
        // Accepts the names in the kernel's sources, and numbers.
        bool number = one->name == "priority" && one->arg == PointComponent::Number;
        if (!number && !expect_argument(resolving, *one, PointComponent::String))
            return std::nullopt;
        (one->name == "hook" ? out.hook : one->name == "pf" ? out.family : out.priority) = one;
    }
    if (out.hook && out.family)
        return out;
    report_component(resolving, resolving.components().size(), {out.hook ? "pf" : "hook"});
    return std::nullopt;
}

// Reads the protocol family. Two families have hooks in the kernel, but none for BPF; the advice names a function that
// sees the same packets.
std::optional<int32_t> read_family(Resolving& resolving, const PointComponent& component) {
    std::optional<int32_t> family = read_name(resolving, component, families, "protocol family");
    if (!family || (*family != arp && *family != bridge))
        return family;
    resolving.diags
        .report(DiagId::Unsupported, component.arg_range,
                fmt::format("BPF programs see only packets of IPv4 and IPv6, not of `{}`", component.text))
        .help(*family == arp ? "`kernel.function(\"arp_rcv\")` sees incoming ARP packets"
                             : "`kernel.function(\"br_handle_frame_finish\")` sees packets that a bridge receives");
    return std::nullopt;
}

// Returns false after reporting that the family does not have this hook.
bool expect_hook(Resolving& resolving, const PacketPattern& pattern, int32_t number, int32_t family) {
    const std::string& name = pattern.hook->text;
    if (name.starts_with(family == ipv6 ? "NF_IP_" : "NF_IP6_")) {
        resolving.diags
            .report(DiagId::UnknownProbePoint, pattern.hook->arg_range,
                    fmt::format("`{}` is not a hook of `{}`", name, pattern.family->text))
            .suggest(fmt::format("NF_INET_{}", name.substr(name.find('_', 3) + 1)));
        return false;
    }
    if (number < 0 || number > 4) {
        resolving.diags.report(DiagId::BadNumber, pattern.hook->arg_range, "a hook must be from 0 to 4");
        return false;
    }
    return true;
}

} // namespace

std::vector<ResolvedPoint> resolve_netfilter(Resolving& resolving) {
    if (!expect_argument(resolving, resolving.components()[0], PointComponent::None))
        return {};
    std::optional<PacketPattern> pattern = read_pattern(resolving);
    std::optional<int32_t> family = pattern ? read_family(resolving, *pattern->family) : std::nullopt;
    if (!family)
        return {};
    std::optional<int32_t> number = read_name(resolving, *pattern->hook, hooks, "hook");
    if (number && !expect_hook(resolving, *pattern, *number, *family))
        return {};
    std::optional<int32_t> order = 0;
    if (pattern->priority && pattern->priority->arg == PointComponent::Number) {
        order = static_cast<int32_t>(pattern->priority->number);
        if (*order != pattern->priority->number) {
            resolving.diags.report(DiagId::BadNumber, pattern->priority->arg_range,
                                   fmt::format("a priority must be from {} to {}", INT32_MIN, INT32_MAX));
            return {};
        }
    }
    if (pattern->priority && pattern->priority->arg != PointComponent::Number)
        order = read_priority(resolving, *pattern->priority, *family);
    if (!number || !order)
        return {};
    const std::string why = resolving.env.kernel_facts->why_no_decision(plan::ProbeKind::Netfilter, "");
    if (!why.empty() && !resolving.env.listing) {
        resolving.diags
            .report(DiagId::Unsupported, resolving.components()[0].range,
                    fmt::format("packets cannot be probed on this kernel: {}", why))
            .help("`kernel.trace(\"net:*\")` and `kernel.function(\"ip_rcv\")` see packets too");
        return {};
    }
    KernelTypes* kernel = open_kernel(resolving);
    if (!kernel)
        return {};
    ResolvedPoint resolved;
    resolved.kind = plan::ProbeKind::Netfilter;
    resolved.in_kernel = true;
    resolved.kernel = kernel;
    resolved.point.hook = {static_cast<uint32_t>(*family), static_cast<uint32_t>(*number), *order};
    resolved.point.symbol = pattern->hook->text;
    resolved.point.pp = point_text(resolving.point);
    resolved.sharing = {resolved.point.pp, resolved.point.pp};
    return {resolved};
}

} // namespace sonde
