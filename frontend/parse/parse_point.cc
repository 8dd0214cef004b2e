// Parses probe points. Alternatives `{a,b}` are expanded: each combination becomes a point.
//
//     process("x").{function("f"),function("g")}.{call,return}       # gives four points
//
// A few braces can give millions of combinations, so max_points limits their number before they are stored.
//
// Names of components may contain wildcards, as in `syscall.open*`, and the lexer splits them into several tokens.
// Tokens without a blank between them form one name. A `?` or `!` can follow a whole point or an alternative; it
// belongs to the point in both cases, since the points are separate after expansion.
#include <fmt/format.h>

#include "frontend/parse/parse_point.h"
#include "frontend/parse/parse_stmt.h"

namespace sonde {

using namespace ast;

namespace {
constexpr size_t max_points = 10000;   // of one point with alternatives
constexpr size_t max_components = 100; // in one point

using Components = std::vector<PointComponent>;

bool parse_point(Parser& p, std::vector<ProbePoint*>& points);
bool parse_component_list(Parser& p, std::vector<Components>& alternatives);
bool multiply(Parser& p, std::vector<Components>& heads, const std::vector<Components>& tails);
bool parse_component(Parser& p, PointComponent& component);

} // namespace

std::vector<ProbePoint*> parse_points_only(Parser& p) {
    std::vector<ProbePoint*> points;
    if (parse_points(p, points) && !p.at_end()) {
        DiagBuilder report = p.fail_expected("`,` or the end of the probe points");
        if (points.size() == 1 && points[0]->components.size() == 1 && points[0]->components[0].name == "probe")
            report.help("pass only the probe point, without `probe` and the block in braces");
        else if (p.peek().is("{"))
            report.help("pass only the probe point, without the block in braces");
    }
    return points;
}

bool parse_points(Parser& p, std::vector<ProbePoint*>& points) {
    do {
        if (!parse_point(p, points))
            return false;
    } while (p.accept(","));
    return true;
}

namespace {

bool parse_point(Parser& p, std::vector<ProbePoint*>& points) {
    Range begin = p.peek().range;
    std::vector<Components> alternatives{{}};
    if (!parse_component_list(p, alternatives))
        return false;
    Range range = p.since(begin);
    bool optional = p.accept("?");
    bool sufficient = !optional && p.accept("!");
    Expr* condition = nullptr;
    if (p.accept_keyword("if") && !(condition = parse_condition(p, "if")))
        return false;
    for (Components& components : alternatives) {
        auto* point = p.make<ProbePoint>();
        point->components = std::move(components);
        // A `?` or `!` after an alternative applies to all points with that alternative.
        point->optional = optional;
        point->sufficient = sufficient;
        for (const PointComponent& component : point->components) {
            point->optional |= component.optional;
            point->sufficient |= component.sufficient;
        }
        point->condition = condition;
        point->range = range;
        points.push_back(point);
    }
    return true;
}

// Combines each of `heads` with each of `tails`, and stores the results in `heads`. A single tail is appended in place,
// since most points have no alternatives.
bool multiply(Parser& p, std::vector<Components>& heads, const std::vector<Components>& tails) {
    if (heads.size() * tails.size() > max_points) {
        p.fail(p.peek().range, fmt::format("these alternatives give more than {} probe points", max_points));
        return false;
    }
    for (const Components& tail : tails)
        if (heads[0].size() + tail.size() > max_components) {
            p.fail(tail.back().range, fmt::format("a probe point has at most {} components", max_components));
            return false;
        }
    if (tails.size() == 1) {
        for (Components& head : heads)
            head.insert(head.end(), tails[0].begin(), tails[0].end());
        return true;
    }
    std::vector<Components> product;
    product.reserve(heads.size() * tails.size());
    for (const Components& head : heads)
        for (const Components& tail : tails) {
            product.push_back(head);
            product.back().insert(product.back().end(), tail.begin(), tail.end());
        }
    heads = std::move(product);
    return true;
}

// Parses components separated by periods. `alternatives` are the combinations so far; each component, or each list in
// braces, multiplies them.
bool parse_component_list(Parser& p, std::vector<Components>& alternatives) {
    Parser::DepthGuard guard(p);
    if (p.too_deep())
        return false;
    do {
        std::vector<Components> steps;
        Range open = p.peek().range;
        if (p.accept("{")) {
            do {
                std::vector<Components> inner{{}};
                if (!parse_component_list(p, inner))
                    return false;
                bool optional = p.accept("?"), sufficient = !optional && p.accept("!");
                for (Components& alternative : inner) {
                    alternative.back().optional |= optional;
                    alternative.back().sufficient |= sufficient;
                }
                steps.insert(steps.end(), inner.begin(), inner.end());
                if (steps.size() > max_points)
                    return multiply(p, alternatives, steps);
            } while (p.accept(","));
            if (!p.peek().is("}")) {
                p.fail_expected("`}` after the alternatives")
                    .note(open, "opened here")
                    .help("write the block after the probe point: `probe begin { ... }`");
                return false;
            }
            p.take();
            // `{open,close}*` looks like shell syntax, but would need another meaning.
            if (const Token& next = p.peek(); next.glued && (next.is("*") || next.kind == TokenKind::Identifier)) {
                p.fail(next.range, fmt::format("`{}` cannot follow alternatives, which are whole words", next.text))
                    .help("write the suffix into each alternative: `syscall.{open*,close*}`");
                return false;
            }
        } else {
            PointComponent component;
            if (!parse_component(p, component))
                return false;
            steps.push_back({component});
        }
        if (!multiply(p, alternatives, steps))
            return false;
    } while (p.accept("."));
    return true;
}

// Parses one component of a point. Its name may contain wildcards: names, numbers, `*` and `**` that are not separated
// by blanks form one name. An argument in parentheses may follow.
bool parse_component(Parser& p, PointComponent& component) {
    Range begin = p.peek().range;
    while (true) {
        const Token& token = p.peek();
        bool part = (token.kind == TokenKind::Identifier && token.text[0] != '$' && token.text[0] != '@') ||
                    token.kind == TokenKind::Keyword || token.kind == TokenKind::Number || token.is("*") ||
                    token.is("**");
        if (!part || (!component.name.empty() && !token.glued))
            break;
        component.name += p.take().text;
    }
    if (component.name.empty()) {
        p.fail_expected("a probe point");
        return false;
    }
    component.range = p.since(begin);
    Range open = p.peek().range;
    if (!p.accept("("))
        return true;
    const Token& arg = p.peek();
    if (arg.kind == TokenKind::String) {
        p.take();
        component.arg = PointComponent::String;
        component.text = arg.text;
    } else if (arg.kind == TokenKind::Number || (arg.is("-") && p.peek(1).kind == TokenKind::Number)) {
        component.arg = PointComponent::Number;
        component.number = *p.expect_number();
        component.text = (arg.is("-") ? "-" : "") + p.last().text;
    } else {
        DiagBuilder report = p.fail_expected("a literal number or string as the probe point's argument");
        if (arg.is(")"))
            report.help(fmt::format("without an argument, write no parentheses: `{}`", component.name));
        else if (arg.kind == TokenKind::Identifier && p.peek(1).is(")"))
            report.help(fmt::format("write a string in quotes: `{}(\"{}\")`", component.name, arg.text));
        else if (arg.is(".") || arg.is("/") || arg.is("~") || arg.kind == TokenKind::Identifier)
            report.help("write a string in quotes: `process(\"./a.out\")`");
        return false;
    }
    component.arg_range = p.since(arg.range);
    return p.expect_close(")", open, "after the probe point's argument");
}

} // namespace

} // namespace sonde
