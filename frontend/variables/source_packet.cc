// What a handler shares with whom it works for: `$value` of a control file, `$verdict` of a packet, `$return` of a
// security hook, and the variables of a packet.
#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/variables/binding.h"

namespace sonde {

bool TargetBinder::is_file_value() const {
    return plan::is_file(point_.kind) && expr_.base == ast::TargetExpr::Variable;
}

hir::Expr* TargetBinder::file_value() {
    if (expr_.name != "$value") {
        DiagBuilder report = binder_.diags.report(DiagId::UnknownVariable, base_range(),
                                                  fmt::format("a control file has no `{}`, only `$value`", expr_.name));
        if (std::string near = nearest_name(expr_.name, {"$value"}); !near.empty())
            report.suggest(near);
        return nullptr;
    }
    if (!expr_.components.empty())
        return fail(DiagId::TypeMismatch, expr_.range, "`$value` is text, which has no members");
    if (plan::traits(point_.kind).cause != plan::Cause::Write)
        return fail(DiagId::WrongContext, expr_.range, "`$value` is what a reader gets: it is set here, and not read",
                    "gather the text in a variable, and assign that; `$value .= TEXT` appends");
    return binder_.call ? binder_.call("__value", {}) : nullptr;
}

std::optional<hir::Expr*> bind_assignment(const ast::TargetExpr& expr, bool append, hir::Expr* value,
                                          const ResolvedPoint& point, Binder& binder) {
    if (expr.base != ast::TargetExpr::Variable)
        return std::nullopt;
    auto refuse = [&](DiagId id, const std::string& message, const std::string& help) -> hir::Expr* {
        DiagBuilder report = binder.diags.report(id, expr.range, message);
        if (!help.empty())
            report.help(help);
        return nullptr;
    };
    if (plan::is_file(point.kind)) {
        if (expr.name != "$value" || !expr.components.empty()) {
            TargetBinder(expr, point, binder).value(); // reports
            return nullptr;
        }
        if (plan::traits(point.kind).cause == plan::Cause::Write)
            return refuse(DiagId::NotAssignable, "`$value` is what was written to the file, and cannot be changed",
                          "a handler of `.read` sets it");
        return binder.call(append ? "__append_value" : "__set_value", {value});
    }
    bool packet = plan::traits(point.kind).decision == plan::Decision::Verdict;
    const char* name = packet ? "$verdict" : "$return";
    if (append || expr.name != name || !expr.components.empty())
        return std::nullopt;
    if (!binder.env.guru)
        return refuse(DiagId::NeedsGuru,
                      packet ? "setting `$verdict` decides about packets"
                             : "setting `$return` decides what programs may do",
                      "-g allows it");
    if (!packet && point.prototype) {
        const Type* result = strip(point.prototype->target);
        if (!result || result->kind == Type::Void || result->kind == Type::Boolean)
            return refuse(
                DiagId::WrongContext,
                fmt::format("the hook `{}` takes no error number, so there is no `$return` to set", point.point.symbol),
                "");
    }
    return binder.call(packet ? "__set_verdict" : "__set_return", {value});
}

// The arguments of a hook function: its state and the packet.
std::optional<Place> TargetBinder::hook_variable() {
    struct Variable {
        const char* name;
        const char* member; // of struct nf_hook_state; null: the packet
    };
    static constexpr Variable all[] = {
        {"$hooknum", "hook"}, {"$skb", nullptr}, {"$in", "in"},   {"$out", "out"},
        {"$pf", "pf"},        {"$sk", "sk"},     {"$net", "net"},
    };
    std::string list;
    std::vector<std::string> names;
    for (const Variable& one : all) {
        names.emplace_back(one.name);
        list += (list.empty() ? "" : " ") + names.back();
        if (expr_.name != one.name)
            continue;
        binder_.env.relies_on_kernel = true;
        const Type* state = point_.kernel->find_type("struct nf_hook_state");
        const Type* packet = point_.kernel->find_type("struct sk_buff*");
        Place place;
        place.kernel = true;
        if (!one.member) {
            place.type = packet;
            place.parts.push_back({0, 8, PlacePart::Value, make<hir::Argument>(expr_.range, 1), ""});
        } else {
            place.type = state;
            place.address = make<hir::Argument>(expr_.range, 0);
            std::optional<TypeMember> member = state ? find_member(state, one.member) : std::nullopt;
            if (!member)
                break;
            place = member_place(place, *member);
            place.address = plus(make<hir::Argument>(expr_.range, 0), static_cast<int64_t>(member->byte_offset));
        }
        if (!place.type)
            break;
        return place;
    }
    if (expr_.name == "$verdict") {
        fail(DiagId::WrongContext, base_range(), "`$verdict` can only be set",
             "with -g: `$verdict = 0` drops the packet");
        return std::nullopt;
    }
    DiagBuilder report = binder_.diags.report(DiagId::UnknownVariable, base_range(),
                                              fmt::format("a packet's probe has no `{}`", expr_.name));
    if (std::string near = nearest_name(expr_.name, names); !near.empty())
        report.suggest(near);
    report.help(fmt::format("it has `{}`", list));
    return std::nullopt;
}

} // namespace sonde
