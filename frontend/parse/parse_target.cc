// Parses target variables, the components that may follow any value (`->member`, `[index]`, `$`), and the @operators.
//
// The `$` has three meanings, which the position tells apart. In `$x->name$$`, the first one makes `x` a variable of
// the program, and the last two ask for the value as text, with all nested structures. The lexer cannot know this and
// reads `name$$` as one name, so the parser cuts the end off (cut_pretty()). Text has no members, so nothing may
// follow.
//
// Operators that exist only in newer versions of SystemTap are errors if --compatible names an older one.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/hints/foreign_words.h"
#include "frontend/parse/parse_expr.h"
#include "frontend/parse/parse_target.h"

namespace sonde {

using namespace ast;

namespace {

constexpr std::pair<std::string_view, Extractor> extractors[] = {
    {"@count", Extractor::Count},
    {"@sum", Extractor::Sum},
    {"@min", Extractor::Min},
    {"@max", Extractor::Max},
    {"@avg", Extractor::Avg},
    {"@variance", Extractor::Variance},
    {"@hist_log", Extractor::HistLog},
    {"@hist_linear", Extractor::HistLinear},
    {"@percentile", Extractor::Percentile},
};

// The version of SystemTap that introduced the operator.
constexpr std::pair<std::string_view, const char*> ages[] = {
    {"@kregister", "4.0"}, {"@uregister", "4.0"}, {"@kderef", "4.0"},
    {"@uderef", "4.0"},    {"@enum", "5.5"},      {"@enumname", "5.6"},
};

// The operators with arguments in parentheses. `literals` has one letter for each argument: `s` a non-empty string
// literal, `n` a number literal, `.` any expression.
struct Operator {
    std::string_view name;
    size_t least;
    std::string_view literals;
    std::string_view takes; // a description of the first literal
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
    {"@__argument", 1, ".", ""}, // only for the library
    {"@__async_walk", 1, ".", ""},
    {"@__async_own", 1, "n", "1 where the user stack can be printed"},
    {"@__async_line", 1, ".", ""},
    {"@__result", 0, "", ""},
};

// Removes `$` or `$$` from the end of a name, which the lexer reads as part of the name. Returns the number of `$`
// removed.
int cut_pretty(std::string& name, size_t least) {
    int signs = 0;
    while (signs < 2 && name.size() > least && name.ends_with('$')) {
        name.pop_back();
        signs++;
    }
    return signs;
}

// A separate `$` or `$$` is not a name, so it may follow a blank.
bool is_pretty(const Token& token) {
    return token.kind == TokenKind::Identifier && (token.text == "$" || token.text == "$$");
}

Component pretty(int signs, Range range) {
    return {signs == 1 ? Component::PrettyOne : Component::PrettyDeep, range, "", nullptr};
}

Expr* parse_var_or_cast(Parser& p, const Token& name);
Expr* parse_statistic(Parser& p, const Token& name, Extractor extractor);
void check_statistic(Parser& p, StatisticExpr& statistic, const Token& name);
void check_operator(Parser& p, const AtOperatorExpr& expr, Range name);

// Parses `->m`, `[e]`, and a final `$` or `$$`. Sets `height` to the height of the highest index expression.
bool parse_components(Parser& p, std::vector<Component>& components, int& height) {
    while (components.empty() || components.back().kind <= Component::Index) {
        const Token& token = p.peek();
        if (token.is("->")) {
            p.take();
            const Token& member = p.peek();
            const bool is_target = member.is("*"); // `->*`: the object to which the pointer leads
            bool named =
                is_target || (member.kind == TokenKind::Identifier && member.text[0] != '$' && member.text[0] != '@');
            if (!named && member.kind != TokenKind::Keyword) {
                p.fail_expected("a member's name after `->`");
                return false;
            }
            p.take();
            std::string name = member.text;
            int signs = cut_pretty(name, 1);
            components.push_back({Component::Member, Range::join(token.range, member.range), name, nullptr});
            if (signs)
                components.push_back(pretty(signs, member.range));
        } else if (token.is("[")) {
            p.take();
            Expr* index = parse_expr(p);
            if (!index || !p.expect_close("]", token.range, "after the index"))
                return false;
            height = std::max(height, index->height);
            components.push_back({Component::Index, p.since(token.range), "", index});
        } else if (is_pretty(token)) {
            p.take();
            components.push_back(pretty(token.text == "$" ? 1 : 2, token.range));
        } else {
            return true;
        }
    }
    return true;
}

} // namespace

// Parses a percentage such as 99 or 99.9, in millionths. The language has no fractions elsewhere, so the lexer gives
// two numbers and a period.
std::optional<int64_t> expect_percentage(Parser& p) {
    constexpr int64_t one = 10000;
    const Range begin = p.peek().range;
    std::optional<int64_t> whole = p.expect_number();
    if (!whole)
        return std::nullopt;
    std::string digits;
    if (p.peek().is(".") && p.peek(1).kind == TokenKind::Number) {
        p.take();
        digits = p.take().text;
    }
    const bool is_decimal = std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c); });
    if (*whole < 0 || *whole > 100 || digits.size() > 4 || !is_decimal ||
        (*whole == 100 && digits.find_first_not_of('0') != std::string::npos)) {
        p.diags
            .report(
                DiagId::BadStatistic, p.since(begin),
                fmt::format("a percentile must be from 0 to 100, with at most 4 digits after the period, not {}{}{}",
                            *whole, digits.empty() ? "" : ".", digits))
            .help("@percentile(s, 99), @percentile(s, 99.9)");
        return 0;
    }
    digits.resize(4, '0');
    return *whole * one + std::stoll(digits);
}

// Parses components after a value that is not a `$variable`. Components after a target or member expression, as in
// `($x->y)->z`, are appended to that expression.
Expr* with_components(Parser& p, Expr* base) {
    if (!base || !(p.peek().is("->") || p.peek().is("[") || is_pretty(p.peek())))
        return base;
    std::vector<Component>* components = nullptr;
    if (base->kind == ExprKind::Target)
        components = &static_cast<TargetExpr*>(base)->components;
    else if (base->kind == ExprKind::Member)
        components = &static_cast<MemberExpr*>(base)->components;
    if (components && !components->empty() && components->back().kind > Component::Index) {
        p.fail(p.peek().range, fmt::format("`{}` is text, which has no members", to_source(*base)));
        return nullptr;
    }
    Expr* expr = base;
    if (!components) {
        if (!check_age(p, p.peek().range, fmt::format("`{}` after a value", p.peek().text), "2.6"))
            return nullptr;
        auto* member = p.make<MemberExpr>(base->range, base);
        components = &member->components;
        member->height = base->height + 1;
        expr = member;
    }
    int index_height = 0;
    if (!parse_components(p, *components, index_height))
        return nullptr;
    expr->range = p.since(base->range);
    expr->height = std::max(expr->height, index_height + 1);
    return p.too_high(*expr) ? nullptr : expr;
}

Expr* parse_target_variable(Parser& p, const Token& name) {
    auto* target = p.make<TargetExpr>(name.range);
    target->name = name.text;
    int signs = cut_pretty(target->name, 2);
    if (target->name == "$" || target->name == "$$") {
        p.fail(name.range, fmt::format("expected a target variable's name after `{}`", target->name));
        return nullptr;
    }
    if (signs)
        target->components.push_back(pretty(signs, name.range));
    int index_height = 0;
    if (!parse_components(p, target->components, index_height))
        return nullptr;
    target->range = p.since(name.range);
    target->height = index_height + 1;
    return p.too_high(*target) ? nullptr : target;
}

const TargetExpr* parse_target_only(Parser& p) {
    Expr* expr = parse_expr(p);
    if (expr && !p.at_end()) {
        p.fail_expected("the end of the expression");
        return nullptr;
    }
    if (!expr || expr->kind == ExprKind::Target)
        return expr ? &ast::as<TargetExpr>(*expr) : nullptr;
    p.fail(expr->range, fmt::format("expected a `$variable`, got `{}`", ast::to_source(*expr)));
    return nullptr;
}

namespace {

// Parses @var("name@unit"[, "module"]) and @cast(pointer, "type"[, "module"]).
Expr* parse_var_or_cast(Parser& p, const Token& name) {
    auto* target = p.make<TargetExpr>(name.range);
    target->base = name.text == "@cast" ? TargetExpr::Cast : TargetExpr::Var;
    Range open = p.peek().range;
    if (!p.expect("(", fmt::format("after `{}`", name.text)))
        return nullptr;
    if (target->base == TargetExpr::Cast) {
        target->operand = parse_expr(p);
        if (!target->operand || !p.expect(",", "before the type of `@cast`"))
            return nullptr;
    }
    if (p.peek().kind != TokenKind::String) {
        p.fail_expected(target->base == TargetExpr::Cast ? "the type's name as a string literal"
                                                         : "the variable's name as a string literal");
        return nullptr;
    }
    if (p.peek().text.empty()) {
        p.fail(p.peek().range, fmt::format("`{}` needs a name that is not empty", name.text));
        return nullptr;
    }
    target->name = p.take().text;
    if (p.accept(",")) {
        if (p.peek().kind != TokenKind::String) {
            p.fail_expected("a module's name as a string literal");
            return nullptr;
        }
        target->module = p.take().text;
    } else if (target->base == TargetExpr::Cast && p.options.older_than("4.2")) {
        target->module = "kernel"; // since SystemTap 4.2 the default is the probed program
    }
    int height = target->operand ? target->operand->height : 0;
    if (!p.expect_close(")", open, fmt::format("to close `{}`", name.text)) ||
        !parse_components(p, target->components, height))
        return nullptr;
    target->range = p.since(name.range);
    target->height = height + 1;
    return p.too_high(*target) ? nullptr : target;
}

// Parses @count(x), @variance(x, bits), @percentile(x, 99.9), @hist_linear(x, low, high, width) and
// @hist_log(x)[bucket].
Expr* parse_statistic(Parser& p, const Token& name, Extractor extractor) {
    Range open = p.peek().range;
    if (!p.expect("(", fmt::format("after `{}`", name.text)))
        return nullptr;
    Expr* operand = parse_expr(p);
    if (!operand)
        return nullptr;
    auto* statistic = p.make<StatisticExpr>(name.range, extractor, operand);
    while (p.accept(",")) {
        std::optional<int64_t> param = extractor == Extractor::Percentile ? expect_percentage(p) : p.expect_number();
        if (!param)
            return nullptr;
        statistic->params.push_back(*param);
    }
    if (!p.expect_close(")", open, fmt::format("to close `{}`", name.text)))
        return nullptr;
    statistic->range = p.since(name.range);
    check_statistic(p, *statistic, name);
    if (!p.grow(statistic, {operand}))
        return nullptr;
    Range bracket = p.peek().range;
    bool histogram = extractor == Extractor::HistLog || extractor == Extractor::HistLinear;
    if (!histogram)
        return with_components(p, statistic);
    if (!p.accept("["))
        return statistic;
    Expr* index = parse_expr(p);
    if (!index || !p.expect_close("]", bracket, "after the bucket"))
        return nullptr;
    return p.grow(p.make<HistIndexExpr>(p.since(name.range), statistic, index), {statistic, index});
}

// Checks the operand and the parameters. After an error it replaces wrong parameters by valid ones, so that later
// phases can rely on their number and range.
void check_statistic(Parser& p, StatisticExpr& statistic, const Token& name) {
    if (statistic.operand->kind != ExprKind::Name && statistic.operand->kind != ExprKind::Index)
        p.diags.report(
            DiagId::BadStatistic, statistic.operand->range,
            fmt::format("`{}` takes a global or an array element, not `{}`", name.text, to_source(*statistic.operand)));
    std::vector<int64_t>& params = statistic.params;
    bool linear = statistic.extractor == Extractor::HistLinear, variance = statistic.extractor == Extractor::Variance;
    bool percentile = statistic.extractor == Extractor::Percentile;
    size_t least = linear ? 3 : percentile ? 1 : 0, most = linear ? 3 : variance || percentile ? 1 : 0;
    if (params.size() < least || params.size() > most) {
        p.diags.report(DiagId::Arity, statistic.range,
                       linear ? "`@hist_linear` takes a statistic, low, high and width"
                       : percentile
                           ? "`@percentile` takes a statistic and a percentage, as `@percentile(s, 99)`"
                           : fmt::format("`{}` takes a statistic{}", name.text, most ? " and a bit shift" : " only"));
        params.resize(most);
    } else if (variance && !params.empty() && (params[0] < 0 || params[0] > 62)) {
        p.diags.report(DiagId::BadStatistic, statistic.range,
                       fmt::format("the bit shift of `@variance` must be from 0 to 62, not {}", params[0]));
        params[0] = 0;
    } else if (!linear) {
        return;
    } else if (params[2] <= 0 || params[1] < params[0]) {
        p.diags.report(DiagId::BadStatistic, statistic.range,
                       "these are not a histogram's bounds: high must not be below low, and the width must be above 0");
    } else {
        return;
    }
    if (linear)
        params = {0, 1, 1};
}

} // namespace

bool check_age(Parser& p, Range range, std::string_view what, const char* since) {
    if (!p.options.older_than(since))
        return true;
    p.fail(range, fmt::format("{} is not in SystemTap {}", what, p.options.compatible))
        .help(fmt::format("it came with {}", since));
    return false;
}

// Operators are tried from special to general: statistics, @cast and @var, @defined and @entry, which have nodes of
// their own. All others have the form `@name(arguments)` and are checked by the table above.
Expr* parse_at(Parser& p, const Token& name) {
    for (const auto& [text, since] : ages)
        if (name.text == text && !check_age(p, name.range, fmt::format("`{}`", name.text), since))
            return nullptr;
    for (const auto& [text, extractor] : extractors)
        if (name.text == text)
            return parse_statistic(p, name, extractor);
    if (name.text == "@cast" || name.text == "@var")
        return parse_var_or_cast(p, name);
    Range open = p.peek().range;
    if (name.text == "@defined" || name.text == "@entry") {
        if (!p.expect("(", fmt::format("after `{}`", name.text)))
            return nullptr;
        Expr* operand = parse_expr(p);
        if (!operand || !p.expect_close(")", open, fmt::format("to close `{}`", name.text)))
            return nullptr;
        if (name.text == "@defined")
            return with_components(p, p.grow(p.make<DefinedExpr>(p.since(name.range), operand), {operand}));
        return with_components(p, p.grow(p.make<EntryExpr>(p.since(name.range), operand), {operand}));
    }
    auto* op = p.make<AtOperatorExpr>(name.range, name.text);
    if (p.accept("(") && !parse_arguments(p, op->args, open))
        return nullptr;
    op->range = p.since(name.range);
    check_operator(p, *op, name.range);
    return with_components(p, p.grow(op, op->args));
}

namespace {

// Checks the number of arguments, and that arguments are literals where the table says so. They are needed at compile
// time.
void check_operator(Parser& p, const AtOperatorExpr& expr, Range name) {
    const auto* row = std::ranges::find(operators, expr.name, &Operator::name);
    if (row == std::end(operators)) {
        std::vector<std::string> names;
        for (std::string_view one : at_operators)
            names.push_back(fmt::format("@{}", one));
        DiagBuilder report = p.diags.report(DiagId::UnknownOperator, expr.args.empty() ? name : expr.range,
                                            fmt::format("unknown operator `{}`", expr.name));
        // `@x = 1` and `@x[pid()]` are bpftrace syntax; `@htis_log(x)` is a misspelling.
        if (const std::string near = nearest_name(expr.name, names); !near.empty())
            report.suggest(near);
        else if (const std::string hint = hints::operator_hint(expr.name, !expr.args.empty()); !hint.empty())
            report.help(hint);
        return;
    }
    if (row->needs_guru && !p.options.privileged) {
        p.diags
            .report(DiagId::NeedsGuru, expr.range, fmt::format("`{}` needs -g: it is for trusted scripts", expr.name))
            .help("-g allows it");
        return;
    }
    const size_t most = row->literals.size();
    if (expr.args.size() < row->least || expr.args.size() > most) {
        std::string takes = row->least == most ? fmt::format("{}", most) : fmt::format("{} to {}", row->least, most);
        p.diags.report(DiagId::Arity, expr.range,
                       fmt::format("`{}` takes {} argument{}, not {}", expr.name, takes, takes == "1" ? "" : "s",
                                   expr.args.size()));
        return;
    }
    for (size_t i = 0; i < expr.args.size(); i++) {
        const Expr& arg = *expr.args[i];
        const bool first = row->literals.find_first_not_of('.') == i;
        if (row->literals[i] == 'n' && arg.kind != ExprKind::Number)
            p.diags.report(DiagId::Syntax, arg.range, fmt::format("`{}` takes {} as a literal", expr.name, row->takes));
        else if (row->literals[i] == 's' && (arg.kind != ExprKind::String || as<StringExpr>(arg).value.empty()))
            p.diags.report(DiagId::Syntax, arg.range,
                           fmt::format("`{}` takes {} as a string literal", expr.name,
                                       first ? row->takes : "a program's path, a header in `<>`, or `kernel`,"));
    }
}

} // namespace

} // namespace sonde
