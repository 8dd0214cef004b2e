// Target variables, what may follow any value (`->member`, `[index]`, `$`), and the @operators.
#include <algorithm>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/parse/parser_impl.h"

namespace sonde {

using namespace ast;

namespace {

constexpr std::pair<std::string_view, Extractor> extractors[] = {
    {"@count", Extractor::Count},      {"@sum", Extractor::Sum},
    {"@min", Extractor::Min},          {"@max", Extractor::Max},
    {"@avg", Extractor::Avg},          {"@variance", Extractor::Variance},
    {"@hist_log", Extractor::HistLog}, {"@hist_linear", Extractor::HistLinear},
};

// The version of SystemTap that an operator came with.
constexpr std::pair<std::string_view, const char*> ages[] = {
    {"@kregister", "4.0"}, {"@uregister", "4.0"}, {"@kderef", "4.0"},
    {"@uderef", "4.0"},    {"@enum", "5.5"},      {"@enumname", "5.6"},
};

// The operators that take arguments as a function does. `literals` says by a letter for each argument what it is: `s` a
// string literal that is not empty, `n` a number literal, `.` any expression.
struct Operator {
    std::string_view name;
    size_t least;
    std::string_view literals;
    std::string_view takes; // the first literal, in words
    bool needs_guru = false;
};
constexpr Operator operators[] = {
    {"@choose_defined", 2, "..", ""},
    {"@const", 1, "s", "a constant expression of C", true},
    {"@enum", 1, "ss", "an enumerator's name"},
    {"@enumname", 1, ".ss", "an enumeration's name"},
    {"@probewrite", 1, ".", ""},
    {"@uregister", 1, "n", "a register's DWARF number"},
    {"@kregister", 1, "n", "a register's DWARF number", true},
    {"@uderef", 2, "n.", "a number of bytes"},
    {"@kderef", 2, "n.", "a number of bytes", true},
    {"@perf", 1, "s", "a counter's name"},
};

// Cuts the `$` or `$$` from the end of a name, which to the lexer is part of it; how many signs that were.
int cut_pretty(std::string& name, size_t least) {
    int signs = 0;
    while (signs < 2 && name.size() > least && name.ends_with('$')) {
        name.pop_back();
        signs++;
    }
    return signs;
}

Component pretty(int signs, Range range) {
    return {signs == 1 ? Component::PrettyOne : Component::PrettyDeep, range, "", nullptr};
}

} // namespace

// A `$` is the last component.
bool Parser::parse_components(std::vector<Component>& components, int& height) {
    while (components.empty() || components.back().kind <= Component::Index) {
        const Token& token = peek();
        if (token.is("->")) {
            take();
            const Token& member = peek();
            bool named = member.kind == TokenKind::Identifier && member.text[0] != '$' && member.text[0] != '@';
            if (!named && member.kind != TokenKind::Keyword) {
                fail_expected("a member's name after `->`");
                return false;
            }
            take();
            std::string name = member.text;
            int signs = cut_pretty(name, 1);
            components.push_back({Component::Member, Range::join(token.range, member.range), name, nullptr});
            if (signs)
                components.push_back(pretty(signs, member.range));
        } else if (token.is("[")) {
            take();
            Expr* index = parse_expr();
            if (!index || !expect_close("]", token.range, "after the index"))
                return false;
            height = std::max(height, index->height);
            components.push_back({Component::Index, since(token.range), "", index});
        } else if (token.kind == TokenKind::Identifier && token.glued && (token.text == "$" || token.text == "$$")) {
            take();
            components.push_back(pretty(token.text == "$" ? 1 : 2, token.range));
        } else {
            return true;
        }
    }
    return true;
}

// What follows a value that is no `$variable`. More components after a target's or a member's own ones, as in
// `($x->y)->z`, are its components.
Expr* Parser::with_components(Expr* base) {
    bool glued_pretty =
        peek().kind == TokenKind::Identifier && peek().glued && (peek().text == "$" || peek().text == "$$");
    if (!base || !(peek().is("->") || peek().is("[") || glued_pretty))
        return base;
    std::vector<Component>* components = nullptr;
    if (base->kind == ExprKind::Target)
        components = &static_cast<TargetExpr*>(base)->components;
    else if (base->kind == ExprKind::Member)
        components = &static_cast<MemberExpr*>(base)->components;
    if (components && !components->empty() && components->back().kind > Component::Index) {
        fail(peek().range, fmt::format("`{}` is text, which has no members", to_source(*base)));
        return nullptr;
    }
    Expr* expr = base;
    if (!components) {
        if (!check_age(peek().range, fmt::format("`{}` after a value", peek().text), "2.6"))
            return nullptr;
        auto* member = arena_.make<MemberExpr>(base->range, base);
        components = &member->components;
        member->height = base->height + 1;
        expr = member;
    }
    int index_height = 0;
    if (!parse_components(*components, index_height))
        return nullptr;
    expr->range = since(base->range);
    expr->height = std::max(expr->height, index_height + 1);
    return too_high(*expr) ? nullptr : expr;
}

Expr* Parser::parse_target(const Token& name) {
    auto* target = arena_.make<TargetExpr>(name.range);
    target->name = name.text;
    int signs = cut_pretty(target->name, 2);
    if (target->name == "$" || target->name == "$$") {
        fail(name.range, fmt::format("expected a target variable's name after `{}`", target->name));
        return nullptr;
    }
    if (signs)
        target->components.push_back(pretty(signs, name.range));
    int index_height = 0;
    if (!parse_components(target->components, index_height))
        return nullptr;
    target->range = since(name.range);
    target->height = index_height + 1;
    return too_high(*target) ? nullptr : target;
}

// @var("name@unit"[, "module"])  @cast(pointer, "type"[, "module"])
Expr* Parser::parse_var_or_cast(const Token& name) {
    auto* target = arena_.make<TargetExpr>(name.range);
    target->base = name.text == "@cast" ? TargetExpr::Cast : TargetExpr::Var;
    Range open = peek().range;
    if (!expect("(", fmt::format("after `{}`", name.text)))
        return nullptr;
    if (target->base == TargetExpr::Cast) {
        target->operand = parse_expr();
        if (!target->operand || !expect(",", "before the type of `@cast`"))
            return nullptr;
    }
    if (peek().kind != TokenKind::String) {
        fail_expected(target->base == TargetExpr::Cast ? "the type's name as a string literal"
                                                       : "the variable's name as a string literal");
        return nullptr;
    }
    if (peek().text.empty()) {
        fail(peek().range, fmt::format("`{}` needs a name that is not empty", name.text));
        return nullptr;
    }
    target->name = take().text;
    if (accept(",")) {
        if (peek().kind != TokenKind::String) {
            fail_expected("a module's name as a string literal");
            return nullptr;
        }
        target->module = take().text;
    }
    int height = target->operand ? target->operand->height : 0;
    if (!expect_close(")", open, fmt::format("to close `{}`", name.text)) ||
        !parse_components(target->components, height))
        return nullptr;
    target->range = since(name.range);
    target->height = height + 1;
    return too_high(*target) ? nullptr : target;
}

// @count(x)  @variance(x, bits)  @hist_linear(x, low, high, width)  @hist_log(x)[bucket]
Expr* Parser::parse_statistic(const Token& name, Extractor extractor) {
    Range open = peek().range;
    if (!expect("(", fmt::format("after `{}`", name.text)))
        return nullptr;
    Expr* operand = parse_expr();
    if (!operand)
        return nullptr;
    auto* statistic = arena_.make<StatisticExpr>(name.range, extractor, operand);
    while (accept(",")) {
        std::optional<int64_t> param = parse_literal_number();
        if (!param)
            return nullptr;
        statistic->params.push_back(*param);
    }
    if (!expect_close(")", open, fmt::format("to close `{}`", name.text)))
        return nullptr;
    statistic->range = since(name.range);
    check_statistic(*statistic, name);
    if (!grow(statistic, {operand}))
        return nullptr;
    Range bracket = peek().range;
    bool histogram = extractor == Extractor::HistLog || extractor == Extractor::HistLinear;
    if (!histogram || !accept("["))
        return statistic;
    Expr* index = parse_expr();
    if (!index || !expect_close("]", bracket, "after the bucket"))
        return nullptr;
    return grow(arena_.make<HistIndexExpr>(since(name.range), statistic, index), {statistic, index});
}

void Parser::check_statistic(StatisticExpr& statistic, const Token& name) {
    if (statistic.operand->kind != ExprKind::Name && statistic.operand->kind != ExprKind::Index)
        diags_.report(
            DiagId::BadStatistic, statistic.operand->range,
            fmt::format("`{}` takes a global or an array element, not `{}`", name.text, to_source(*statistic.operand)));
    std::vector<int64_t>& params = statistic.params;
    bool linear = statistic.extractor == Extractor::HistLinear, variance = statistic.extractor == Extractor::Variance;
    size_t least = linear ? 3 : 0, most = linear ? 3 : variance ? 1 : 0;
    if (params.size() < least || params.size() > most) {
        diags_.report(DiagId::Arity, statistic.range,
                      linear ? "`@hist_linear` takes a statistic, low, high and width"
                             : fmt::format("`{}` takes a statistic{}", name.text, most ? " and a bit shift" : " only"));
        params.resize(most);
    } else if (variance && !params.empty() && (params[0] < 0 || params[0] > 62)) {
        diags_.report(DiagId::BadStatistic, statistic.range,
                      fmt::format("the bit shift of `@variance` is from 0 to 62, not {}", params[0]));
        params[0] = 0;
    } else if (!linear) {
        return;
    } else if (params[2] <= 0 || params[1] < params[0]) {
        diags_.report(DiagId::BadStatistic, statistic.range,
                      "these bounds give no histogram: high must not be below low, and the width is above 0");
    } else {
        return;
    }
    if (linear)
        params = {0, 1, 1};
}

// Reports and returns false where --compatible asks for a language without that.
bool Parser::check_age(Range range, std::string_view what, const char* since) {
    if (!options_.older_than(since))
        return true;
    fail(range, fmt::format("{} is not in SystemTap {}", what, options_.compatible))
        .help(fmt::format("it came with {}", since));
    return false;
}

Expr* Parser::parse_at(const Token& name) {
    for (const auto& [text, since] : ages)
        if (name.text == text && !check_age(name.range, fmt::format("`{}`", name.text), since))
            return nullptr;
    for (const auto& [text, extractor] : extractors)
        if (name.text == text)
            return parse_statistic(name, extractor);
    if (name.text == "@cast" || name.text == "@var")
        return parse_var_or_cast(name);
    Range open = peek().range;
    if (name.text == "@defined" || name.text == "@entry") {
        if (!expect("(", fmt::format("after `{}`", name.text)))
            return nullptr;
        Expr* operand = parse_expr();
        if (!operand || !expect_close(")", open, fmt::format("to close `{}`", name.text)))
            return nullptr;
        if (name.text == "@defined")
            return grow(arena_.make<DefinedExpr>(since(name.range), operand), {operand});
        return with_components(grow(arena_.make<EntryExpr>(since(name.range), operand), {operand}));
    }
    auto* op = arena_.make<AtOperatorExpr>(name.range, name.text);
    if (accept("(") && !parse_arguments(op->args, open))
        return nullptr;
    op->range = since(name.range);
    check_operator(*op, name.range);
    return with_components(grow(op, op->args));
}

void Parser::check_operator(const AtOperatorExpr& expr, Range name) {
    const auto* row = std::ranges::find(operators, expr.name, &Operator::name);
    if (row == std::end(operators)) {
        std::vector<std::string> names;
        for (std::string_view one : at_operators)
            names.push_back(fmt::format("@{}", one));
        diags_
            .report(DiagId::UnknownOperator, expr.args.empty() ? name : expr.range,
                    fmt::format("unknown operator `{}`", expr.name))
            .suggest(nearest_name(expr.name, names));
        return;
    }
    if (row->needs_guru && !options_.privileged) {
        diags_.report(DiagId::NeedsGuru, expr.range, fmt::format("`{}` needs -g: it is for trusted scripts", expr.name))
            .help("-g allows it");
        return;
    }
    const size_t most = row->literals.size();
    if (expr.args.size() < row->least || expr.args.size() > most) {
        std::string takes = row->least == most ? fmt::format("{}", most) : fmt::format("{} to {}", row->least, most);
        diags_.report(DiagId::Arity, expr.range,
                      fmt::format("`{}` takes {} argument{}, not {}", expr.name, takes, takes == "1" ? "" : "s",
                                  expr.args.size()));
        return;
    }
    for (size_t i = 0; i < expr.args.size(); i++) {
        const Expr& arg = *expr.args[i];
        const bool first = row->literals.find_first_not_of('.') == i;
        if (row->literals[i] == 'n' && arg.kind != ExprKind::Number)
            diags_.report(DiagId::Syntax, arg.range, fmt::format("`{}` takes {} as a literal", expr.name, row->takes));
        else if (row->literals[i] == 's' && (arg.kind != ExprKind::String || as<StringExpr>(arg).value.empty()))
            diags_.report(DiagId::Syntax, arg.range,
                          fmt::format("`{}` takes {} as a string literal", expr.name,
                                      first ? row->takes : "a program's path, a header in `<>`, or `kernel`,"));
    }
}

const TargetExpr* Parser::parse_target_only() {
    Expr* expr = parse_expr();
    if (expr && !at_end()) {
        fail_expected("the end of the expression");
        return nullptr;
    }
    if (!expr || expr->kind == ExprKind::Target)
        return expr ? &ast::as<TargetExpr>(*expr) : nullptr;
    fail(expr->range, fmt::format("expected a `$variable`, got `{}`", ast::to_source(*expr)));
    return nullptr;
}

} // namespace sonde
