// `$variables` in a handler for recorded events: the values that handlers at the point have printed.
//
// A script writes a value as the recording's script has written it, or by its short name. For example, the recording's
// script has `printf("%d %s\n", $order->quantity, user_string($order->sku))`:
//
//     $order->quantity, $quantity    the first value
//     $sku                           the second one
//     $arg1, $arg2                   both, by their position
//     $$vars                         all values as text
#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/suggest.h"
#include "frontend/variables/recorded_values.h"
#include "frontend/variables/sources.h"

namespace sonde {
namespace {

using plan::RecordedPoint;
using plan::RecordedValue;

// Returns how a script can write the value.
std::string written(const RecordedPoint& point, const RecordedValue& value) {
    if (value.name.starts_with('$') && value.name.find_first_of(" (#") == std::string::npos)
        return value.name;
    if (!value.short_name.empty() && !value.has_twin)
        return "$" + value.short_name;
    return fmt::format("$arg{}", &value - point.values.data() + 1);
}

std::vector<std::string> all_written(const RecordedPoint& point) {
    std::vector<std::string> out;
    for (const RecordedValue& value : point.values)
        out.push_back(written(point, value));
    return out;
}

// Returns the value at the position of `$arg1`; null: it is another name.
const RecordedValue* at_position(const RecordedPoint& point, std::string_view name) {
    constexpr std::string_view prefix = "$arg";
    size_t number = 0;
    if (!name.starts_with(prefix))
        return nullptr;
    const auto [end, wrong] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
    return wrong == std::errc() && end == name.data() + name.size() && number >= 1 && number <= point.values.size()
               ? &point.values[number - 1]
               : nullptr;
}

hir::Expr* fail_unknown(Binding& b, const std::string& name) {
    const RecordedPoint& point = *b.point.recorded;
    DiagBuilder report = b.binder.diags.report(DiagId::UnknownVariable, b.expr.range,
                                               fmt::format("events of `{}` have no value `{}`", point.name, name));
    if (point.values.empty()) {
        report.help(point.events ? "handlers at this point have printed no values"
                                 : "the recording has no event of this point");
        return nullptr;
    }
    const std::vector<std::string> names = all_written(point);
    std::vector<std::string> similar = names;
    for (const RecordedValue& value : point.values)
        if (!value.short_name.empty())
            similar.push_back("$" + value.short_name);
    report.suggest(nearest_name(name, similar));
    constexpr size_t most = 20;
    const size_t shown = std::min(most, names.size());
    report.help(
        fmt::format("they have {}{}", fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), ", "),
                    shown < names.size() ? fmt::format(" and {} more, which -L lists", names.size() - shown) : ""));
    return nullptr;
}

hir::Expr* recorded_value(Binding& b) {
    const std::string name = ast::to_source(b.expr);
    if (name == "$$vars")
        return b.binder.call ? b.binder.call("__recorded_all", {}) : b.string("");
    const RecordedPoint& point = *b.point.recorded;
    const RecordedValue* value = find_recorded_value(point, name);
    if (!value && b.expr.components.empty()) {
        std::vector<std::string> same;
        for (const RecordedValue& one : point.values)
            if ("$" + one.short_name == name) {
                same.push_back(one.name);
                value = &one;
            }
        if (same.size() > 1) {
            b.binder.diags
                .report(DiagId::UnknownVariable, b.expr.range,
                        fmt::format("`{}` is ambiguous: events of `{}` have `{}`", name, point.name,
                                    fmt::join(same, "`, `")))
                .help(fmt::format("write the whole expression, or `{}` for the first one",
                                  fmt::format("$arg{}", std::ranges::find(point.values, same[0], &RecordedValue::name) -
                                                            point.values.begin() + 1)));
            return nullptr;
        }
        if (!value)
            value = at_position(point, name);
    }
    return value ? bind_recorded_value(b.binder, *value, b.expr.range) : fail_unknown(b, name);
}

std::optional<Place> recorded_place(Binding& b) {
    if (b.expr.base == ast::TargetExpr::Variable)
        b.fail(DiagId::WrongContext, b.expr.range,
               fmt::format("`{}` is a recorded value, which has no address", b.as_written()));
    return std::nullopt;
}

std::optional<hir::Expr*> fail_assignment(Binding& b, bool, hir::Expr*) {
    return b.fail(DiagId::NotAssignable, b.expr.range,
                  fmt::format("`{}` is a recorded value, which cannot be changed", b.as_written()),
                  "assign it to a variable of the script");
}

std::string list_values(const ResolvedPoint& point) {
    std::string out;
    for (const RecordedValue& value : point.recorded->values)
        out += fmt::format(" {}:{}", written(*point.recorded, value), value.is_text ? "string" : "long");
    return out;
}

} // namespace

const RecordedValue* find_recorded_value(const RecordedPoint& point, const std::string& expression) {
    const auto found = std::ranges::find(point.values, expression, &RecordedValue::name);
    return found == point.values.end() ? nullptr : &*found;
}

hir::Expr* bind_recorded_value(Binder& binder, const RecordedValue& value, Range range) {
    auto* name = binder.arena.make<hir::ConstString>(range, value.name);
    return binder.call ? binder.call(value.is_text ? "__recorded_text" : "__recorded_number", {name}) : name;
}

const VariableSource record_source = {
    .find = recorded_place, .list = list_values, .text = recorded_value, .assign = fail_assignment};

} // namespace sonde
