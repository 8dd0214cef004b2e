// Expressions, by precedence from loose to tight (the language reference's operator table, with its two surprises: `&`,
// `|` and `^` bind looser than comparisons, and `.` looser than `+`).
#include <array>

#include <fmt/format.h>

#include "frontend/parse/format.h"
#include "frontend/parse/parser_impl.h"

namespace sonde {

using namespace ast;

namespace {

struct BinaryRow {
    std::string_view op;
    BinaryOp value;
};

// Levels of left-associative operators, loosest first. `in` stands between Xor-and-friends and the comparisons.
constexpr int in_level = 5;
const std::vector<std::vector<BinaryRow>>& binary_levels() {
    static const std::vector<std::vector<BinaryRow>> levels = {
        {{"||", BinaryOp::Or}},
        {{"&&", BinaryOp::And}},
        {{"|", BinaryOp::BitOr}},
        {{"^", BinaryOp::BitXor}},
        {{"&", BinaryOp::BitAnd}},
        {}, // in
        {{"<", BinaryOp::Lt},
         {"<=", BinaryOp::Le},
         {"==", BinaryOp::Eq},
         {"!=", BinaryOp::Ne},
         {">=", BinaryOp::Ge},
         {">", BinaryOp::Gt},
         {"=~", BinaryOp::Match},
         {"!~", BinaryOp::NotMatch}},
        {{"<<", BinaryOp::Shl}, {">>", BinaryOp::Shr}, {">>>", BinaryOp::ShrLogical}},
        {{".", BinaryOp::Concat}},
        {{"+", BinaryOp::Add}, {"-", BinaryOp::Sub}},
        {{"*", BinaryOp::Mul}, {"/", BinaryOp::Div}, {"%", BinaryOp::Mod}},
    };
    return levels;
}

constexpr std::pair<std::string_view, BinaryOp> assignment_ops[] = {
    {"+=", BinaryOp::Add},    {"-=", BinaryOp::Sub},    {"*=", BinaryOp::Mul},    {"/=", BinaryOp::Div},
    {"%=", BinaryOp::Mod},    {"&=", BinaryOp::BitAnd}, {"^=", BinaryOp::BitXor}, {"|=", BinaryOp::BitOr},
    {".=", BinaryOp::Concat}, {"<<=", BinaryOp::Shl},   {">>=", BinaryOp::Shr},
};

constexpr std::pair<std::string_view, Extractor> extractors[] = {
    {"@count", Extractor::Count},      {"@sum", Extractor::Sum},
    {"@min", Extractor::Min},          {"@max", Extractor::Max},
    {"@avg", Extractor::Avg},          {"@variance", Extractor::Variance},
    {"@hist_log", Extractor::HistLog}, {"@hist_linear", Extractor::HistLinear},
};

bool is_print(std::string_view name) {
    if (name.starts_with('s'))
        name.remove_prefix(1);
    return name == "print" || name == "println" || name == "printd" || name == "printdln" || name == "printf";
}

} // namespace

Expr* Parser::parse_expr() {
    DepthGuard guard(*this);
    return too_deep() ? nullptr : parse_assignment();
}

Expr* Parser::parse_assignment() {
    Expr* left = parse_ternary();
    if (!left)
        return nullptr;
    Token op = peek();
    std::optional<BinaryOp> compound;
    bool known = op.is("=") || op.is("<<<");
    for (const auto& [text, value] : assignment_ops)
        if (op.is(text)) {
            compound = value;
            known = true;
        }
    if (!known)
        return left;
    take();
    DepthGuard guard(*this);
    if (too_deep())
        return nullptr;
    Expr* value = parse_assignment();
    if (!value)
        return nullptr;
    bool assignable = left->kind == ExprKind::Name || left->kind == ExprKind::Index || left->kind == ExprKind::Target ||
                      left->kind == ExprKind::Member;
    if (!assignable) {
        diags_.report(DiagId::NotAssignable, left->range, fmt::format("cannot assign to `{}`", to_source(*left)))
            .help("a variable or an array element can stand left of an assignment");
        return left;
    }
    auto* assign = arena_.make<AssignExpr>(Range::join(left->range, value->range), left, value);
    assign->op = compound;
    assign->aggregate = op.is("<<<");
    return assign;
}

Expr* Parser::parse_ternary() {
    Expr* condition = parse_binary(0);
    if (!condition || !accept("?"))
        return condition;
    DepthGuard guard(*this);
    if (too_deep())
        return nullptr;
    Expr* then_value = parse_ternary();
    if (!then_value || !expect(":", "between the two values of `?`"))
        return nullptr;
    Expr* else_value = parse_ternary();
    if (!else_value)
        return nullptr;
    return arena_.make<TernaryExpr>(Range::join(condition->range, else_value->range), condition, then_value,
                                    else_value);
}

Expr* Parser::parse_binary(int level) {
    if (level == static_cast<int>(binary_levels().size()))
        return parse_unary();
    Expr* left = parse_binary(level + 1);
    if (!left)
        return nullptr;
    if (level == in_level)
        return parse_in(left);
    while (true) {
        const BinaryRow* row = nullptr;
        for (const BinaryRow& candidate : binary_levels()[static_cast<size_t>(level)])
            if (peek().is(candidate.op))
                row = &candidate;
        if (!row)
            return left;
        Range op_range = take().range;
        Expr* right = parse_binary(level + 1);
        if (!right)
            return nullptr;
        if ((row->value == BinaryOp::Match || row->value == BinaryOp::NotMatch) && right->kind != ExprKind::String)
            fail(right->range, fmt::format("the right side of `{}` has to be a string literal", row->op));
        left = arena_.make<BinaryExpr>(Range::join(left->range, right->range), row->value, op_range, left, right);
    }
}

Expr* Parser::parse_in(Expr* left) {
    while (peek().is_keyword("in")) {
        take();
        std::optional<Token> array = expect_name("an array after `in`");
        if (!array)
            return nullptr;
        left = arena_.make<InExpr>(Range::join(left->range, array->range), std::vector<Expr*>{left}, array->text,
                                   array->range);
    }
    return left;
}

Expr* Parser::parse_unary() {
    DepthGuard guard(*this);
    if (too_deep())
        return nullptr;
    Token token = peek();
    std::optional<UnaryOp> op;
    if (token.is("-"))
        op = UnaryOp::Minus;
    else if (token.is("+"))
        op = UnaryOp::Plus;
    else if (token.is("!"))
        op = UnaryOp::Not;
    else if (token.is("~"))
        op = UnaryOp::BitNot;
    if (op) {
        take();
        Expr* operand = parse_unary();
        if (!operand)
            return nullptr;
        return arena_.make<UnaryExpr>(Range::join(token.range, operand->range), *op, operand);
    }
    if (token.is("++") || token.is("--")) {
        take();
        Expr* operand = parse_unary();
        if (!operand)
            return nullptr;
        return arena_.make<IncDecExpr>(Range::join(token.range, operand->range), token.is("++"), true, operand);
    }
    if (token.is("&")) {
        take();
        Expr* operand = parse_unary();
        if (!operand)
            return nullptr;
        return arena_.make<AddressOfExpr>(Range::join(token.range, operand->range), operand);
    }
    return parse_postfix();
}

Expr* Parser::parse_postfix() {
    Expr* expr = parse_primary();
    while (expr && (peek().is("++") || peek().is("--"))) {
        Token op = take();
        expr = arena_.make<IncDecExpr>(Range::join(expr->range, op.range), op.is("++"), false, expr);
    }
    return expr;
}

// [k1, k2] in a
Expr* Parser::parse_bracket_in() {
    Range begin = take().range;
    std::vector<Expr*> keys;
    do {
        if (peek().is("*") && (peek(1).is(",") || peek(1).is("]")))
            keys.push_back(arena_.make<WildcardExpr>(take().range));
        else
            keys.push_back(parse_expr());
        if (!keys.back())
            return nullptr;
    } while (accept(","));
    if (!expect("]", "after the keys"))
        return nullptr;
    if (!accept_keyword("in")) {
        fail_expected("`in` after the bracketed keys");
        return nullptr;
    }
    std::optional<Token> array = expect_name("an array after `in`");
    if (!array)
        return nullptr;
    return arena_.make<InExpr>(Range::join(begin, array->range), std::move(keys), array->text, array->range);
}

Expr* Parser::parse_primary() {
    Token token = peek();
    switch (token.kind) {
    case TokenKind::Number:
        take();
        return arena_.make<NumberExpr>(token.range, token.number);
    case TokenKind::String:
        take();
        return arena_.make<StringExpr>(token.range, token.text);
    case TokenKind::Identifier:
        return parse_name();
    case TokenKind::Embedded:
        diags_.report(DiagId::EmbeddedCode, token.range, "embedded C code cannot run in BPF");
        take();
        return arena_.make<NumberExpr>(token.range, 0);
    default:
        break;
    }
    if (token.is("["))
        return parse_bracket_in();
    if (accept("(")) {
        Expr* inner = parse_expr();
        if (!inner || !expect(")", "to close the parenthesis"))
            return nullptr;
        return with_components(inner);
    }
    fail_expected("an expression");
    return nullptr;
}

Expr* Parser::parse_name() {
    Token name = take();
    if (name.text[0] == '@')
        return parse_at(name);
    if (name.text[0] == '$')
        return parse_target(name);
    if (is_print(name.text) && peek().is("("))
        return parse_print(name);
    if (accept("(")) {
        std::vector<Expr*> args;
        if (!parse_arguments(args))
            return nullptr;
        return with_components(arena_.make<CallExpr>(since(name.range), name.text, name.range, std::move(args)));
    }
    if (peek().is("[")) {
        take();
        std::vector<Expr*> keys;
        do {
            if (peek().is("*") && (peek(1).is(",") || peek(1).is("]")))
                keys.push_back(arena_.make<WildcardExpr>(take().range));
            else
                keys.push_back(parse_expr());
            if (!keys.back())
                return nullptr;
        } while (accept(","));
        if (!expect("]", "after the keys"))
            return nullptr;
        return with_components(arena_.make<IndexExpr>(since(name.range), name.text, name.range, std::move(keys)));
    }
    return with_components(arena_.make<NameExpr>(name.range, name.text));
}

// Behind `(`; takes the `)`.
bool Parser::parse_arguments(std::vector<Expr*>& args) {
    if (accept(")"))
        return true;
    do {
        Expr* arg = parse_expr();
        if (!arg)
            return false;
        args.push_back(arg);
    } while (accept(","));
    return expect(")", "after the arguments");
}

Expr* Parser::parse_print(const Token& name) {
    auto* print = arena_.make<PrintExpr>(name.range);
    std::string_view kind = name.text;
    print->name = name.text;
    if (kind.starts_with('s')) {
        print->to_string = true;
        kind.remove_prefix(1);
    }
    print->newline = kind.ends_with("ln");
    print->has_format = kind == "printf";
    print->has_delimiter = kind.starts_with("printd");
    take(); // (
    if (print->has_format || print->has_delimiter) {
        Token literal = peek();
        if (literal.kind != TokenKind::String) {
            fail_expected(fmt::format("a string literal as the first argument of `{}`", name.text));
            return nullptr;
        }
        take();
        print->format = literal.text;
        print->format_range = literal.range;
        if (print->has_format)
            if (auto parsed = parse_format(literal.text); !parsed)
                diags_.report(DiagId::BadFormat, literal.range, parsed.error().message);
        if (!accept(",")) {
            if (!expect(")", "after the format"))
                return nullptr;
        } else if (!parse_arguments(print->args)) {
            return nullptr;
        }
    } else if (!parse_arguments(print->args)) {
        return nullptr;
    }
    print->range = since(name.range);
    size_t least = print->has_delimiter ? 2 : print->has_format || print->newline ? 0 : 1;
    if (print->args.size() < least)
        diags_.report(DiagId::Arity, print->range,
                      fmt::format("`{}` needs at least {} argument{}{}", name.text, least, least == 1 ? "" : "s",
                                  print->has_delimiter ? " behind the delimiter" : ""));
    return print;
}

// ->m, [e], and a trailing $ or $$.
bool Parser::parse_components(std::vector<Component>& components, bool brackets) {
    while (true) {
        if (peek().is("->")) {
            Range begin = take().range;
            Token member = peek();
            if (member.kind != TokenKind::Identifier && member.kind != TokenKind::Keyword) {
                fail_expected("a member's name after `->`");
                return false;
            }
            take();
            Component component{Component::Member, Range::join(begin, member.range), member.text, nullptr};
            // `->m$` and `->m$$` are one identifier to the lexer.
            int pretty = 0;
            while (pretty < 2 && component.name.size() > 1 && component.name.ends_with('$')) {
                component.name.pop_back();
                pretty++;
            }
            components.push_back(component);
            if (pretty)
                components.push_back(
                    {pretty == 1 ? Component::PrettyOne : Component::PrettyDeep, member.range, "", nullptr});
        } else if (brackets && peek().is("[")) {
            Range begin = take().range;
            Expr* index = parse_expr();
            if (!index || !expect("]", "after the index"))
                return false;
            components.push_back({Component::Index, since(begin), "", index});
        } else if (peek().kind == TokenKind::Identifier && (peek().text == "$" || peek().text == "$$")) {
            Token pretty = take();
            components.push_back(
                {pretty.text == "$" ? Component::PrettyOne : Component::PrettyDeep, pretty.range, "", nullptr});
        } else {
            return true;
        }
    }
}

Expr* Parser::with_components(Expr* base) {
    if (!peek().is("->"))
        return base;
    auto* member = arena_.make<MemberExpr>(base->range, base);
    if (!parse_components(member->components, true))
        return nullptr;
    member->range = since(base->range);
    return member;
}

Expr* Parser::parse_target(const Token& name) {
    auto* target = arena_.make<TargetExpr>(name.range);
    target->name = name.text;
    // `$x$` and `$x$$` are one identifier to the lexer; `$$vars$` too.
    int pretty = 0;
    while (pretty < 2 && target->name.size() > 2 && target->name.ends_with('$')) {
        target->name.pop_back();
        pretty++;
    }
    if (pretty)
        target->components.push_back(
            {pretty == 1 ? Component::PrettyOne : Component::PrettyDeep, name.range, "", nullptr});
    if (!parse_components(target->components, true))
        return nullptr;
    target->range = since(name.range);
    return target;
}

std::optional<int64_t> Parser::parse_literal_number() {
    bool negative = accept("-");
    Token token = peek();
    if (token.kind != TokenKind::Number) {
        fail_expected("a literal number");
        return std::nullopt;
    }
    take();
    return negative ? static_cast<int64_t>(0 - static_cast<uint64_t>(token.number)) : token.number;
}

StatisticExpr* Parser::parse_statistic(const Token& name, Extractor extractor) {
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
    if (!expect(")", fmt::format("to close `{}`", name.text)))
        return nullptr;
    statistic->range = since(name.range);
    size_t least = extractor == Extractor::HistLinear ? 3 : 0;
    size_t most = extractor == Extractor::HistLinear ? 3 : extractor == Extractor::Variance ? 1 : 0;
    if (statistic->params.size() < least || statistic->params.size() > most)
        diags_.report(DiagId::Arity, statistic->range,
                      extractor == Extractor::HistLinear
                          ? "`@hist_linear` takes a statistic, low, high and width"
                          : fmt::format("`{}` takes a statistic{}", name.text, most ? " and a bit shift" : ""));
    else if (extractor == Extractor::HistLinear) {
        const std::vector<int64_t>& p = statistic->params;
        if (p[2] <= 0 || p[1] <= p[0] || (p[1] - p[0]) / p[2] + 3 > 128) {
            diags_.report(DiagId::BadStatistic, statistic->range,
                          "these bounds give no histogram: high must be above low, the width positive, and at most 126 "
                          "buckets between them");
            statistic->params = {0, 1, 1};
        }
    }
    return statistic;
}

Expr* Parser::parse_at(const Token& name) {
    for (const auto& [text, extractor] : extractors) {
        if (name.text != text)
            continue;
        StatisticExpr* statistic = parse_statistic(name, extractor);
        bool histogram = extractor == Extractor::HistLog || extractor == Extractor::HistLinear;
        if (!statistic || !histogram || !peek().is("["))
            return statistic;
        take();
        Expr* index = parse_expr();
        if (!index || !expect("]", "after the bucket"))
            return nullptr;
        return arena_.make<HistIndexExpr>(since(name.range), statistic, index);
    }
    if (name.text == "@defined" || name.text == "@entry") {
        if (!expect("(", fmt::format("after `{}`", name.text)))
            return nullptr;
        Expr* operand = parse_expr();
        if (!operand || !expect(")", fmt::format("to close `{}`", name.text)))
            return nullptr;
        if (name.text == "@defined")
            return arena_.make<DefinedExpr>(since(name.range), operand);
        return arena_.make<EntryExpr>(since(name.range), operand);
    }
    if (name.text == "@cast" || name.text == "@var") {
        auto* target = arena_.make<TargetExpr>(name.range);
        target->base = name.text == "@cast" ? TargetExpr::Cast : TargetExpr::Var;
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
        target->name = take().text;
        if (accept(",")) {
            if (peek().kind != TokenKind::String) {
                fail_expected("a module's name as a string literal");
                return nullptr;
            }
            target->module = take().text;
        }
        if (!expect(")", fmt::format("to close `{}`", name.text)) || !parse_components(target->components, true))
            return nullptr;
        target->range = since(name.range);
        return target;
    }
    auto* op = arena_.make<AtOperatorExpr>(name.range, name.text);
    if (accept("(") && !parse_arguments(op->args))
        return nullptr;
    op->range = since(name.range);
    return op;
}

} // namespace sonde
