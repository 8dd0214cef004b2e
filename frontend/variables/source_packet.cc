// Variables of a netfilter hook: the hook's state, the packet, and `$verdict`.
#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/variables/source_prototype.h"
#include "frontend/variables/sources.h"

namespace sonde {
namespace {

struct PacketVariable {
    const char* name;
    const char* member; // of struct nf_hook_state; null: the packet
};
constexpr PacketVariable packet_variables[] = {
    {"$hooknum", "hook"}, {"$skb", nullptr}, {"$in", "in"},   {"$out", "out"},
    {"$pf", "pf"},        {"$sk", "sk"},     {"$net", "net"},
};

// nullopt without a report if the kernel's types lack it.
std::optional<Place> packet_place(Binding& b, const PacketVariable& variable) {
    b.needs_same_types = true;
    auto argument = [&](int number) { return b.make<hir::Argument>(b.expr.range, number); };
    Place place;
    if (!variable.member) {
        place = value_place(b.point.kernel->find_type("struct sk_buff*"), argument(1));
    } else {
        const Type* state = b.point.kernel->find_type("struct nf_hook_state");
        std::optional<TypeMember> member = state ? find_member(state, variable.member) : std::nullopt;
        if (!member)
            return std::nullopt;
        place = inside(b, object_at(argument(0), state), *member);
    }
    place.kernel = true;
    return place.type ? std::optional(place) : std::nullopt;
}

std::optional<Place> packet_variable(Binding& b) {
    std::string list;
    std::vector<std::string> names;
    for (const PacketVariable& one : packet_variables) {
        names.emplace_back(one.name);
        list += (list.empty() ? "" : " ") + names.back();
        if (b.expr.name == one.name)
            if (std::optional<Place> place = packet_place(b, one))
                return place;
    }
    if (b.expr.name == "$verdict") {
        b.fail(DiagId::WrongContext, b.base_range(), "`$verdict` can only be set",
               "with -g, `$verdict = 0` drops the packet");
        return std::nullopt;
    }
    DiagBuilder report = b.binder.diags.report(DiagId::UnknownVariable, b.base_range(),
                                               fmt::format("a packet's probe has no `{}`", b.expr.name));
    if (std::string near = nearest_name(b.expr.name, names); !near.empty())
        report.suggest(near);
    report.help(fmt::format("it has `{}`", list));
    return std::nullopt;
}

std::string list_packet_variables(const ResolvedPoint&) {
    return " $hooknum:unsigned char $skb:struct sk_buff* $in:struct net_device* $out:struct net_device*";
}

std::optional<hir::Expr*> assign_verdict(Binding& b, bool append, hir::Expr* value) {
    if (append || b.expr.name != "$verdict" || !b.expr.components.empty())
        return std::nullopt;
    if (!b.binder.env.guru)
        return b.fail(DiagId::NeedsGuru, b.expr.range, "setting `$verdict` changes the handling of packets",
                      "-g allows it");
    return b.binder.call("__set_verdict", {value});
}

} // namespace

// Summaries are those of a function without a prototype.
const VariableSource packet_source = {
    .find = packet_variable, .summary = prototype_summary, .list = list_packet_variables, .assign = assign_verdict};

} // namespace sonde
