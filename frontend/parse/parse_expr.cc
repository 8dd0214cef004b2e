// Expressions, by precedence from loose to tight (the language reference's operator table, with its two surprises: `&`,
// `|` and `^` bind looser than comparisons, and `.` looser than `+`). Target variables and @operators: parse_target.cc.
#include <fmt/format.h>

#include "frontend/parse/format.h"
#include "frontend/parse/parser_impl.h"

namespace sonde {

using namespace ast;

namespace {

// Levels of the binary operators, loosest first; all group from the left. `in` has a level, but no expression at its
// right.
enum Level {
    OrLevel,
    AndLevel,
    BitOrLevel,
    BitXorLevel,
    BitAndLevel,
    InLevel,
    CompareLevel,
    ShiftLevel,
    ConcatLevel,
    AddLevel,
    MulLevel
};

struct BinaryRow {
    std::string_view text;
    BinaryOp op;
    int level;
};

constexpr BinaryRow binary_rows[] = {
    {"||", BinaryOp::Or, OrLevel},
    {"&&", BinaryOp::And, AndLevel},
    {"|", BinaryOp::BitOr, BitOrLevel},
    {"^", BinaryOp::BitXor, BitXorLevel},
    {"&", BinaryOp::BitAnd, BitAndLevel},
    {"<", BinaryOp::Lt, CompareLevel},
    {"<=", BinaryOp::Le, CompareLevel},
    {"==", BinaryOp::Eq, CompareLevel},
    {"!=", BinaryOp::Ne, CompareLevel},
    {">=", BinaryOp::Ge, CompareLevel},
    {">", BinaryOp::Gt, CompareLevel},
    {"=~", BinaryOp::Match, CompareLevel},
    {"!~", BinaryOp::NotMatch, CompareLevel},
    {"<<", BinaryOp::Shl, ShiftLevel},
    {">>", BinaryOp::Shr, ShiftLevel},
    {">>>", BinaryOp::ShrLogical, ShiftLevel},
    {".", BinaryOp::Concat, ConcatLevel},
    {"+", BinaryOp::Add, AddLevel},
    {"-", BinaryOp::Sub, AddLevel},
    {"*", BinaryOp::Mul, MulLevel},
    {"/", BinaryOp::Div, MulLevel},
    {"%", BinaryOp::Mod, MulLevel},
};

const BinaryRow* find_binary(const Token& token) {
    if (token.kind == TokenKind::Operator)
        for (const BinaryRow& row : binary_rows)
            if (token.text == row.text)
                return &row;
    return nullptr;
}

struct AssignRow {
    std::string_view text;
    std::optional<BinaryOp> op;
};

constexpr AssignRow assign_rows[] = {
    {"=", std::nullopt},      {"<<<", std::nullopt},   {"+=", BinaryOp::Add},    {"-=", BinaryOp::Sub},
    {"*=", BinaryOp::Mul},    {"/=", BinaryOp::Div},   {"%=", BinaryOp::Mod},    {"&=", BinaryOp::BitAnd},
    {"^=", BinaryOp::BitXor}, {"|=", BinaryOp::BitOr}, {".=", BinaryOp::Concat}, {"<<=", BinaryOp::Shl},
    {">>=", BinaryOp::Shr},
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

void Parser::check_assignable(const Expr& target, std::string_view op) {
    if (target.kind == ExprKind::Name || target.kind == ExprKind::Index || target.kind == ExprKind::Target ||
        target.kind == ExprKind::Member)
        return;
    diags_
        .hold(DiagId::NotAssignable, target.range, fmt::format("`{}` cannot be changed by `{}`", to_source(target), op))
        .help("a variable, an array element or a target variable can");
}

Expr* Parser::parse_assignment() {
    Expr* left = parse_ternary();
    if (!left || peek().kind != TokenKind::Operator)
        return left;
    const Token& op = peek();
    const auto* row = std::find_if(std::begin(assign_rows), std::end(assign_rows),
                                   [&](const AssignRow& candidate) { return op.text == candidate.text; });
    if (row == std::end(assign_rows))
        return left;
    take();
    DepthGuard guard(*this);
    Expr* value = too_deep() ? nullptr : parse_assignment();
    if (!value)
        return nullptr;
    check_assignable(*left, op.text);
    auto* assign = arena_.make<AssignExpr>(Range::join(left->range, value->range), left, value);
    assign->op = row->op;
    assign->aggregate = op.is("<<<");
    return grow(assign, {left, value});
}

// Between `?` and `:` anything can stand, as between parentheses. After the `:` an assignment was part of the value in
// SystemTap before 4.0.
Expr* Parser::parse_ternary() {
    Expr* condition = parse_binary(OrLevel);
    if (!condition || !accept("?"))
        return condition;
    Expr* then_value = parse_expr();
    if (!then_value || !expect(":", "between the two values of `?`"))
        return nullptr;
    DepthGuard guard(*this);
    Expr* else_value = too_deep() ? nullptr : options_.older_than("4.0") ? parse_assignment() : parse_ternary();
    if (!else_value)
        return nullptr;
    return grow(
        arena_.make<TernaryExpr>(Range::join(condition->range, else_value->range), condition, then_value, else_value),
        {condition, then_value, else_value});
}

// Operators of the level `loosest` and tighter ones (precedence climbing).
Expr* Parser::parse_binary(int loosest) {
    int tightest = MulLevel; // what comes next may not be tighter than what was read: `a in b + c`
    bool brackets = loosest <= InLevel && peek().is("[");
    if (brackets)
        tightest = InLevel;
    Expr* left = brackets ? parse_bracket_in() : parse_unary();
    while (left) {
        if (peek().is_keyword("in") && loosest <= InLevel && tightest >= InLevel) {
            take();
            tightest = InLevel;
            if (peek().kind == TokenKind::Identifier && peek().text.starts_with("@hist_")) {
                Expr* histogram = parse_primary();
                if (!histogram || histogram->kind != ExprKind::Statistic)
                    return nullptr;
                auto* in = arena_.make<InExpr>(Range::join(left->range, histogram->range), std::vector<Expr*>{left}, "",
                                               histogram->range);
                in->histogram = static_cast<StatisticExpr*>(histogram);
                left = grow(in, {left, histogram});
                continue;
            }
            const Token* array = expect_name("an array after `in`");
            if (!array)
                return nullptr;
            left = grow(arena_.make<InExpr>(Range::join(left->range, array->range), std::vector<Expr*>{left},
                                            array->text, array->range),
                        {left});
            continue;
        }
        const BinaryRow* row = find_binary(peek());
        if (!row || row->level < loosest || row->level > tightest)
            return left;
        Range op_range = take().range;
        Expr* right = parse_binary(row->level + 1);
        if (!right)
            return nullptr;
        if ((row->op == BinaryOp::Match || row->op == BinaryOp::NotMatch) && right->kind != ExprKind::String)
            diags_.report(DiagId::Syntax, right->range,
                          fmt::format("the right side of `{}` has to be a string literal", row->text));
        left = grow(arena_.make<BinaryExpr>(Range::join(left->range, right->range), row->op, op_range, left, right),
                    {left, right});
        tightest = row->level;
    }
    return nullptr;
}

// [k1, k2] in a
Expr* Parser::parse_bracket_in() {
    Range begin = take().range;
    std::vector<Expr*> keys;
    if (!parse_keys(keys, begin))
        return nullptr;
    if (!accept_keyword("in")) {
        fail_expected("`in` after the keys in brackets");
        return nullptr;
    }
    const Token* array = expect_name("an array after `in`");
    if (!array)
        return nullptr;
    auto* expr = arena_.make<InExpr>(since(begin), keys, array->text, array->range);
    return grow(expr, keys);
}

bool Parser::parse_keys(std::vector<Expr*>& keys, Range open) {
    do {
        if (peek().is("*") && (peek(1).is(",") || peek(1).is("]")))
            keys.push_back(arena_.make<WildcardExpr>(take().range));
        else if (Expr* key = parse_expr())
            keys.push_back(key);
        else
            return false;
    } while (accept(","));
    return expect_close("]", open, "after the keys");
}

Expr* Parser::parse_unary() {
    const Token& token = peek();
    static constexpr std::pair<std::string_view, UnaryOp> operators[] = {
        {"-", UnaryOp::Minus}, {"+", UnaryOp::Plus}, {"!", UnaryOp::Not}, {"~", UnaryOp::BitNot}};
    const std::pair<std::string_view, UnaryOp>* op = nullptr;
    for (const auto& row : operators)
        if (token.is(row.first))
            op = &row;
    bool step = token.is("++") || token.is("--"), address = token.is("&");
    if (!op && !step && !address)
        return parse_postfix();
    take();
    DepthGuard guard(*this);
    Expr* operand = too_deep() ? nullptr : parse_unary();
    if (!operand)
        return nullptr;
    Range range = Range::join(token.range, operand->range);
    if (op)
        return grow(arena_.make<UnaryExpr>(range, op->second, operand), {operand});
    if (step) {
        check_assignable(*operand, token.text);
        return grow(arena_.make<IncDecExpr>(range, token.is("++"), true, operand), {operand});
    }
    if (operand->kind != ExprKind::Target && operand->kind != ExprKind::Member)
        diags_.hold(DiagId::Syntax, operand->range, fmt::format("`{}` has no address", to_source(*operand)))
            .help("`&` takes a target variable, as in `&$x->y`");
    return grow(arena_.make<AddressOfExpr>(range, operand), {operand});
}

Expr* Parser::parse_postfix() {
    Expr* expr = parse_primary();
    // One of them: what comes after it begins the next statement, as in `x++ ++y`.
    if (expr && (peek().is("++") || peek().is("--"))) {
        const Token& op = take();
        check_assignable(*expr, op.text);
        expr = grow(arena_.make<IncDecExpr>(Range::join(expr->range, op.range), op.is("++"), false, expr), {expr});
    }
    return expr;
}

Expr* Parser::parse_primary() {
    const Token& token = peek();
    switch (token.kind) {
    case TokenKind::Number:
        take();
        return with_components(arena_.make<NumberExpr>(token.range, token.number));
    case TokenKind::String:
        take();
        return with_components(arena_.make<StringExpr>(token.range, token.text));
    case TokenKind::Identifier:
        return parse_name();
    case TokenKind::Embedded:
        take();
        if (!privileged_)
            refuse_embedded(token);
        else
            diags_.hold(DiagId::EmbeddedCode, token.range, no_embedded_code);
        return arena_.make<NameExpr>(token.range, fmt::format("%{{{}%}}", token.text));
    default:
        break;
    }
    if (accept("(")) {
        Expr* inner = parse_expr();
        if (!inner || !expect_close(")", token.range, "to close the parenthesis"))
            return nullptr;
        return with_components(inner);
    }
    fail_expected("an expression");
    return nullptr;
}

Expr* Parser::parse_name() {
    const Token& name = take();
    if (name.text[0] == '@')
        return parse_at(name);
    if (name.text[0] == '$')
        return parse_target(name);
    Range open = peek().range;
    if (is_print(name.text) && peek().is("("))
        return parse_print(name);
    if (accept("(")) {
        std::vector<Expr*> args;
        if (!parse_arguments(args, open))
            return nullptr;
        auto* call = arena_.make<CallExpr>(since(name.range), name.text, name.range, args);
        return with_components(grow(call, args));
    }
    if (accept("[")) {
        std::vector<Expr*> keys;
        if (!parse_keys(keys, open))
            return nullptr;
        auto* element = arena_.make<IndexExpr>(since(name.range), name.text, name.range, keys);
        return with_components(grow(element, keys));
    }
    return with_components(arena_.make<NameExpr>(name.range, name.text));
}

bool Parser::parse_arguments(std::vector<Expr*>& args, Range open) {
    if (accept(")"))
        return true;
    do {
        Expr* arg = parse_expr();
        if (!arg)
            return false;
        args.push_back(arg);
    } while (accept(","));
    return expect_close(")", open, "after the arguments");
}

// The place of a bad directive is the directive, not the literal.
void Parser::check_format(const Token& literal) {
    size_t begin = 0;
    if (auto parsed = parse_format(literal.text, &begin); !parsed) {
        size_t end = literal.text.find_first_of(" \n%", begin + 1);
        // Up to its conversion letter, where it has one.
        size_t letter = literal.text.find_first_not_of("0123456789+- #.*l", begin + 1);
        end = letter == std::string::npos ? std::min(end, literal.text.size()) : letter + 1;
        diags_.report(DiagId::BadFormat, range_in_string(literal.range, begin, end, diags_.sources()),
                      parsed.error().message);
    }
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
    Range open = take().range;
    if (print->has_format || print->has_delimiter) {
        const Token& literal = peek();
        if (literal.kind != TokenKind::String) {
            fail_expected(fmt::format("a string literal as the first argument of `{}`", name.text));
            return nullptr;
        }
        take();
        print->format = literal.text;
        print->format_range = literal.range;
        if (print->has_format)
            check_format(literal);
        if (!accept(",")) {
            if (!expect_close(")", open, "after the format"))
                return nullptr;
        } else if (!parse_arguments(print->args, open)) {
            return nullptr;
        }
    } else if (!parse_arguments(print->args, open)) {
        return nullptr;
    }
    print->range = since(name.range);
    size_t least = print->has_delimiter ? 2 : print->has_format || print->newline ? 0 : 1;
    if (print->args.size() < least)
        diags_.report(DiagId::Arity, print->range,
                      fmt::format("`{}` needs at least {} argument{}{}, got {}", name.text, least,
                                  least == 1 ? "" : "s", print->has_delimiter ? " after the delimiter" : "",
                                  print->args.size()));
    return with_components(grow(print, print->args));
}

} // namespace sonde
