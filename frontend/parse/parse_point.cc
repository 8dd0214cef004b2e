// Probe points. `{a,b}` alternatives multiply: every combination is a point of its own.
#include <fmt/format.h>

#include "frontend/parse/parser_impl.h"

namespace sonde {

using namespace ast;

namespace {
constexpr size_t max_points = 10000;   // of one point with alternatives
constexpr size_t max_components = 100; // of one point
} // namespace

std::vector<ProbePoint*> Parser::parse_points_only() {
    std::vector<ProbePoint*> points;
    if (parse_points(points) && !at_end())
        fail_expected("`,` or the end of the probe points");
    return points;
}

bool Parser::parse_points(std::vector<ProbePoint*>& points) {
    do {
        if (!parse_point(points))
            return false;
    } while (accept(","));
    return true;
}

bool Parser::parse_point(std::vector<ProbePoint*>& points) {
    Range begin = peek().range;
    std::vector<Components> alternatives{{}};
    if (!parse_component_list(alternatives))
        return false;
    Range range = since(begin);
    bool optional = accept("?");
    bool sufficient = !optional && accept("!");
    Expr* condition = nullptr;
    if (accept_keyword("if") && !(condition = parse_condition("if")))
        return false;
    for (Components& components : alternatives) {
        auto* point = arena_.make<ProbePoint>();
        point->components = std::move(components);
        // The mark of one alternative is its points' mark.
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

// Appends each of `tails` to each of `heads`.
bool Parser::multiply(std::vector<Components>& heads, const std::vector<Components>& tails) {
    if (heads.size() * tails.size() > max_points) {
        fail(peek().range, fmt::format("these alternatives give more than {} probe points", max_points));
        return false;
    }
    for (const Components& tail : tails)
        if (heads[0].size() + tail.size() > max_components) {
            fail(tail.back().range, fmt::format("a probe point has at most {} components", max_components));
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

bool Parser::parse_component_list(std::vector<Components>& alternatives) {
    DepthGuard guard(*this);
    if (too_deep())
        return false;
    do {
        std::vector<Components> steps;
        Range open = peek().range;
        if (accept("{")) {
            do {
                std::vector<Components> inner{{}};
                if (!parse_component_list(inner))
                    return false;
                bool optional = accept("?"), sufficient = !optional && accept("!");
                for (Components& alternative : inner) {
                    alternative.back().optional |= optional;
                    alternative.back().sufficient |= sufficient;
                }
                steps.insert(steps.end(), inner.begin(), inner.end());
                if (steps.size() > max_points)
                    return multiply(alternatives, steps);
            } while (accept(","));
            if (!expect_close("}", open, "after the alternatives"))
                return false;
        } else {
            PointComponent component;
            if (!parse_component(component))
                return false;
            steps.push_back({component});
        }
        if (!multiply(alternatives, steps))
            return false;
    } while (accept("."));
    return true;
}

// name, possibly with wildcards: names, numbers, `*` and `**` without a blank between them are one component; then an
// argument.
bool Parser::parse_component(PointComponent& component) {
    Range begin = peek().range;
    while (true) {
        const Token& token = peek();
        bool part = (token.kind == TokenKind::Identifier && token.text[0] != '$' && token.text[0] != '@') ||
                    token.kind == TokenKind::Keyword || token.kind == TokenKind::Number || token.is("*") ||
                    token.is("**");
        if (!part || (!component.name.empty() && !token.glued))
            break;
        component.name += take().text;
    }
    if (component.name.empty()) {
        fail_expected("a probe point");
        return false;
    }
    component.range = since(begin);
    Range open = peek().range;
    if (!accept("("))
        return true;
    const Token& arg = peek();
    if (arg.kind == TokenKind::String) {
        take();
        component.arg = PointComponent::String;
        component.text = arg.text;
    } else if (arg.kind == TokenKind::Number || (arg.is("-") && peek(1).kind == TokenKind::Number)) {
        component.arg = PointComponent::Number;
        component.number = *parse_literal_number();
        component.text = (arg.is("-") ? "-" : "") + tokens_[at_ - 1].text;
    } else {
        fail_expected("a literal number or string as the probe point's argument");
        return false;
    }
    component.arg_range = since(arg.range);
    return expect_close(")", open, "after the probe point's argument");
}

} // namespace sonde
