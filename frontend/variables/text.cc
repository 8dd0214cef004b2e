#include "frontend/variables/text.h"

#include <utility>

#include "frontend/hir/walk.h"

namespace sonde {

void Text::literal(const std::string& text) {
    if (format_.directives.empty() || format_.directives.back().kind != plan::Directive::Literal)
        format_.directives.emplace_back();
    format_.directives.back().text += text;
}

void Text::add(const plan::Directive& directive, hir::Expr* value) {
    format_.directives.push_back(directive);
    args_.push_back(value);
}

void Text::add(hir::Expr* value) {
    if (value->kind == hir::ExprKind::ConstString)
        return literal(hir::as<hir::ConstString>(*value).value);
    plan::Directive directive;
    directive.kind = plan::Directive::String;
    directive.conversion = 's';
    add(directive, value);
}

void Text::add_integer(hir::Expr* value, char conversion, char flag) {
    plan::Directive directive;
    directive.kind = plan::Directive::Integer;
    directive.conversion = conversion;
    directive.flag = flag;
    add(directive, value);
}

// A text without arguments is a constant, and a text of a single string is that string. Neither needs a sprintf.
hir::Expr* Text::finish(Binding& b) && {
    if (format_.directives.empty())
        return b.string("");
    if (args_.empty() && format_.directives.size() == 1)
        return b.string(format_.directives[0].text);
    if (const plan::Directive& only = format_.directives[0];
        format_.directives.size() == 1 && only.kind == plan::Directive::String && only.width <= 0 &&
        only.precision < 0 && args_[0]->type == hir::ValueType::String)
        return args_[0];
    return b.make<hir::Print>(b.expr.range, std::move(format_), std::move(args_), true);
}

hir::Expr* Text::finish_guarded(Binding& b) && {
    bool reads = false;
    for (const hir::Expr* arg : args_)
        for_each_expr(*arg, [&](const hir::Expr& expr) { reads = reads || expr.kind == hir::ExprKind::Load; });
    hir::Expr* whole = std::move(*this).finish(b);
    return reads ? b.make<hir::Guarded>(b.expr.range, whole, b.string("?")) : whole;
}

} // namespace sonde
