// `$$vars`, `$$parms`, `$$locals` and `$$return`: all of them as one text, `a=0x1 b=?`.
#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/hir/walk.h"
#include "frontend/variables/binding.h"

namespace sonde {

void TargetBinder::Text::literal(const std::string& text) {
    if (format.directives.empty() || format.directives.back().kind != plan::Directive::Literal)
        format.directives.emplace_back();
    format.directives.back().text += text;
}

std::string result_name(const std::vector<Variable>& results, size_t index) {
    if (!results[index].name.empty())
        return results[index].name;
    return results.size() == 1 ? "return" : fmt::format("return{}", index);
}

void TargetBinder::add_integer(Text& text, hir::Expr* value, char conversion, char flag) {
    plan::Directive directive;
    directive.kind = plan::Directive::Integer;
    directive.conversion = conversion;
    directive.flag = flag;
    text.format.directives.push_back(directive);
    text.args.push_back(value);
}

hir::Expr* TargetBinder::finish(Text text) {
    if (text.format.directives.empty())
        return make<hir::ConstString>(expr_.range, "");
    if (text.args.empty() && text.format.directives.size() == 1)
        return make<hir::ConstString>(expr_.range, text.format.directives[0].text);
    return make<hir::Print>(expr_.range, std::move(text.format), std::move(text.args), true);
}

hir::Expr* TargetBinder::finish_guarded(Text text) {
    bool reads = false;
    for (const hir::Expr* arg : text.args)
        for_each_expr(*arg, [&](const hir::Expr& expr) { reads = reads || expr.kind == hir::ExprKind::Load; });
    hir::Expr* whole = finish(std::move(text));
    return reads ? make<hir::Guarded>(expr_.range, whole, string("?")) : whole;
}

void TargetBinder::add_variable(Text& text, const std::string& name,
                                const std::function<std::optional<Place>()>& find) {
    text.literal((text.format.directives.empty() ? "" : " ") + name + "=");
    if (text.full())
        return text.literal("...");
    // What cannot be read is a `?` among the others.
    Diagnostics::Suppress quiet(binder_.diags);
    std::optional<Place> place = find();
    if (!place)
        return text.literal("?");
    Text one;
    if (int depth = pretty_depth()) {
        add_value(one, *std::move(place), depth == 2);
        return add_text(text, finish_guarded(std::move(one)));
    }
    std::optional<Place> target = without_references(*place, expr_.range);
    if (target && is_record(target->type))
        return text.literal("{...}");
    hir::Expr* value = target ? to_long(*target, expr_.range) : nullptr;
    if (!value)
        return text.literal("?");
    if (strip(place->type)->kind != Type::Reference)
        return add_integer(text, value, 'x', '#');
    add_integer(one, value, 'x', '#');
    add_text(text, finish_guarded(std::move(one)));
}

hir::Expr* TargetBinder::all_variables() {
    static const std::vector<std::string> names = {"$$vars", "$$parms", "$$locals", "$$return"};
    for (const ast::Component& component : expr_.components)
        if (component.kind == ast::Component::Member || component.kind == ast::Component::Index)
            return fail(DiagId::TypeMismatch, component.range,
                        fmt::format("`{}` is text, which has no members", expr_.name));
    bool vars = expr_.name == "$$vars";
    bool parameters = vars || expr_.name == "$$parms";
    bool locals = vars || expr_.name == "$$locals";
    if (!parameters && !locals && expr_.name != "$$return") {
        binder_.diags.report(DiagId::UnknownVariable, base_range(), fmt::format("unknown variable `{}`", expr_.name))
            .suggest(nearest_name(expr_.name, names));
        return nullptr;
    }
    // So that a pattern over many libraries, of which some have none, works.
    if (point_.module && !point_.function.has_debug_info) {
        const std::string& path = point_.module->path();
        const bool beside_others = point_.module->has_debug_info(); // start-up code, which patterns find too
        if (!beside_others && binder_.env.told_no_variables.insert(path).second)
            binder_.diags
                .report(DiagId::NoVariables, expr_.range,
                        fmt::format("`{}` is empty where `{}` has no debug information", expr_.name, path))
                .help(debug_information_advice(point_.is_go));
        return make<hir::ConstString>(expr_.range, "");
    }
    if (!has_variables())
        return nullptr;
    Text text;
    if (!parameters && !locals) {
        std::vector<Variable> results;
        if (point_.is_return)
            results = point_.module->results(point_.function);
        for (size_t i = 0; i < results.size(); i++)
            add_variable(text, result_name(results, i), [&] { return result(i); });
        return finish(std::move(text));
    }
    std::vector<Variable> variables = visible(false);
    for (bool wanted : {true, false})
        for (const Variable& variable : variables)
            if (!variable.is_result && variable.is_parameter == wanted && (wanted ? parameters : locals))
                add_variable(text, variable.name, [&] { return place_of(variable); });
    return finish(std::move(text));
}

} // namespace sonde
