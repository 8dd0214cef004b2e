// `$arg1` and others at a mark (USDT). All other names are variables of the program, as in a `.statement` at this
// address.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "frontend/variables/location.h"
#include "frontend/variables/source_program.h"
#include "frontend/variables/sources.h"
#include "frontend/variables/summary.h"

namespace sonde {
namespace {

// The note in the program has sizes and signs, and marks floating point numbers. An argument `-4@%eax` is an int,
// `8@16(%rsp)` an unsigned long, and `8f@%xmm0` a double.
const Type* type_of(const UsdtArgument& argument) {
    static const std::array<Type, 2> floats = [] {
        std::array<Type, 2> out;
        const char* const names[] = {"float", "double"};
        for (size_t i = 0; i < out.size(); i++) {
            out[i].kind = Type::Float;
            out[i].name = names[i];
            out[i].size = 4u << i;
        }
        return out;
    }();
    if (argument.is_float && argument.size >= floats[0].size)
        return &floats[argument.size == floats[0].size ? 0 : 1];
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

std::optional<Place> mark_argument(Binding& b, size_t index) {
    const UsdtArgument& argument = b.point.mark->arguments[index];
    std::string why;
    std::optional<Place> place = place_at(b, argument.location, type_of(argument), why);
    if (!place)
        b.fail(DiagId::VariableUnavailable, b.base_range(), unavailable_text(fmt::format("$arg{}", index + 1), why));
    return place;
}

std::optional<Place> mark_variable(Binding& b) {
    size_t count = b.point.mark->arguments.size(), number = 0;
    std::string_view name = b.expr.name;
    bool is_argument = false;
    if (name.starts_with("$arg")) {
        name.remove_prefix(4);
        auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
        is_argument = error == std::errc() && end == name.data() + name.size();
        if (is_argument && number >= 1 && number <= count)
            return mark_argument(b, number - 1);
    }
    if (!is_argument && b.point.function.has_debug_info)
        return named_variable(b, b.expr.name.substr(1));
    DiagBuilder report =
        b.binder.diags.report(DiagId::UnknownVariable, b.base_range(),
                              fmt::format("the mark `{}` has no `{}`", b.point.mark->name, b.expr.name));
    if (!is_argument)
        report.help("reading the program's variables needs its debug information");
    else if (count == 0)
        report.help("it has no arguments");
    else
        report.help(fmt::format("it has `$arg1`{}", count > 1 ? fmt::format(" to `$arg{}`", count) : ""));
    return std::nullopt;
}

// `$$name`, `$$provider`, `$$vars` (the same as `$$parms`), and the function's `$$locals`.
hir::Expr* mark_summary(Binding& b) {
    static const std::vector<std::string> names = {"$$name", "$$provider", "$$vars", "$$parms", "$$locals"};
    if (std::ranges::find(names, b.expr.name) == names.end())
        return refuse_summary(b, names);
    if (b.expr.name == "$$name")
        return b.string(b.point.mark->name);
    if (b.expr.name == "$$provider")
        return b.string(b.point.mark->provider);
    if (b.expr.name == "$$locals" && b.point.function.has_debug_info)
        return program_summary(b);
    Text text;
    if (b.expr.name == "$$vars" || b.expr.name == "$$parms")
        for (size_t i = 0; i < b.point.mark->arguments.size(); i++)
            add_variable(b, text, fmt::format("$arg{}", i + 1), [&] { return mark_argument(b, i); });
    return std::move(text).finish(b);
}

std::string list_mark_arguments(const ResolvedPoint& point) {
    std::string line;
    for (size_t i = 0; i < point.mark->arguments.size(); i++)
        line += fmt::format(" $arg{}:long", i + 1);
    return line;
}

} // namespace

const VariableSource mark_source = {.find = mark_variable, .summary = mark_summary, .list = list_mark_arguments};

} // namespace sonde
