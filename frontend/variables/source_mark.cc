// `$arg1` and its relatives at a mark (USDT); every other name is a variable of the program, as in a `.statement`
// there.
#include <charconv>

#include <fmt/format.h>

#include "frontend/variables/binding.h"

namespace sonde {
namespace {

// Notes give sizes and signs; floats are handed on as their bits.
const Type* type_of(const UsdtArgument& argument) {
    static const std::vector<Type> types = [] {
        std::vector<Type> out;
        const char* const names[] = {"char", "short", "int", "long"};
        for (bool is_signed : {false, true})
            for (uint64_t i = 0; i < 4; i++)
                out.push_back(integer_type(std::string(is_signed ? "" : "unsigned ") + names[i], 1ull << i, is_signed));
        return out;
    }();
    size_t index = argument.size == 1 ? 0 : argument.size == 2 ? 1 : argument.size == 4 ? 2 : 3;
    return &types[index + (argument.is_signed ? 4 : 0)];
}

} // namespace

std::optional<Place> TargetBinder::mark_argument(size_t index) {
    const UsdtArgument& argument = point_.mark->arguments[index];
    std::string why;
    std::optional<Place> place = place_at(argument.location, type_of(argument), why);
    if (!place)
        fail(DiagId::VariableUnavailable, base_range(), fmt::format("`$arg{}` is not available: {}", index + 1, why));
    return place;
}

std::optional<Place> TargetBinder::mark_variable() {
    size_t count = point_.mark->arguments.size(), number = 0;
    std::string_view name = expr_.name;
    bool is_argument = false;
    if (name.starts_with("$arg")) {
        name.remove_prefix(4);
        auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
        is_argument = error == std::errc() && end == name.data() + name.size();
        if (is_argument && number >= 1 && number <= count)
            return mark_argument(number - 1);
    }
    if (!is_argument && point_.function.has_debug_info)
        return variable(expr_.name.substr(1));
    DiagBuilder report = binder_.diags.report(DiagId::UnknownVariable, base_range(),
                                              fmt::format("the mark `{}` has no `{}`", point_.mark->name, expr_.name));
    if (!is_argument)
        report.help("variables of the program need its debug information");
    else if (count == 0)
        report.help("it has no arguments");
    else
        report.help(fmt::format("it has `$arg1`{}", count > 1 ? fmt::format(" to `$arg{}`", count) : ""));
    return std::nullopt;
}

// `$$name`, `$$provider`, `$$vars`, which is `$$parms`, and the function's `$$locals`.
hir::Expr* TargetBinder::mark_summary() {
    if (expr_.name == "$$name")
        return make<hir::ConstString>(expr_.range, point_.mark->name);
    if (expr_.name == "$$provider")
        return make<hir::ConstString>(expr_.range, point_.mark->provider);
    if (expr_.name == "$$locals" && point_.function.has_debug_info)
        return all_variables();
    Text text;
    if (expr_.name == "$$vars" || expr_.name == "$$parms")
        for (size_t i = 0; i < point_.mark->arguments.size(); i++)
            add_variable(text, fmt::format("$arg{}", i + 1), [&] { return mark_argument(i); });
    return finish(std::move(text));
}

} // namespace sonde
