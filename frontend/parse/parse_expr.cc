// Parses expressions by operator precedence (the operator table in the SystemTap language reference). Two levels may
// surprise: `&`, `|` and `^` bind looser than comparisons, and `.` (concatenation) binds looser than `+`. So `a & b ==
// c` is `a & (b == c)`, and `"x" . a + b` is `"x" . (a + b)`. Target variables and @operators are in parse_target.cc.
#include <fmt/format.h>

#include "frontend/parse/format.h"
#include "frontend/parse/parse_expr.h"
#include "frontend/parse/parse_target.h"

namespace sonde {

using namespace ast;

namespace {

// Levels of the binary operators, from loosest to tightest. All are left-associative. `in` has a level, but its right
// side is the name of an array, not an expression.
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

Expr* parse_assignment(Parser& p);
Expr* parse_ternary(Parser& p);
Expr* parse_binary(Parser& p, int loosest);
Expr* parse_bracket_in(Parser& p);
Expr* parse_unary(Parser& p);
Expr* parse_postfix(Parser& p);
Expr* parse_primary(Parser& p);
Expr* parse_print(Parser& p, const Token& name);
bool parse_keys(Parser& p, std::vector<Expr*>& keys, Range open); // after `[`; consumes the `]`; a key may be `*`

} // namespace

Expr* parse_expr(Parser& p) {
    Parser::DepthGuard guard(p);
    return p.too_deep() ? nullptr : parse_assignment(p);
}

namespace {

void check_assignable(Parser& p, const Expr& target, std::string_view op) {
    if (target.kind == ExprKind::Name || target.kind == ExprKind::Index || target.kind == ExprKind::Target ||
        target.kind == ExprKind::Member)
        return;
    p.diags
        .hold(DiagId::NotAssignable, target.range, fmt::format("`{}` cannot be changed by `{}`", to_source(target), op))
        .help("a variable, an array element or a target variable can");
}

// Assignments group to the right: `a = b = 1` sets both. The left side is parsed as any expression, and then it is
// checked whether it can be assigned to. So `f(x) = 1` gets a message about `f(x)` instead of one about an unexpected
// `=`.
Expr* parse_assignment(Parser& p) {
    Expr* left = parse_ternary(p);
    if (!left || p.peek().kind != TokenKind::Operator)
        return left;
    const Token& op = p.peek();
    const auto* row = std::find_if(std::begin(assign_rows), std::end(assign_rows),
                                   [&](const AssignRow& candidate) { return op.text == candidate.text; });
    if (row == std::end(assign_rows))
        return left;
    p.take();
    Parser::DepthGuard guard(p);
    Expr* value = p.too_deep() ? nullptr : parse_assignment(p);
    if (!value)
        return nullptr;
    check_assignable(p, *left, op.text);
    auto* assign = p.make<AssignExpr>(Range::join(left->range, value->range), left, value);
    assign->op = row->op;
    assign->aggregate = op.is("<<<");
    return p.grow(assign, {left, value});
}

// Any expression may stand between `?` and `:`, as in parentheses. An assignment after the `:` belongs to the third
// operand only before SystemTap 4.0.
Expr* parse_ternary(Parser& p) {
    Expr* condition = parse_binary(p, OrLevel);
    if (!condition || !p.accept("?"))
        return condition;
    Expr* then_value = parse_expr(p);
    if (!then_value || !p.expect(":", "between the two values of `?`"))
        return nullptr;
    Parser::DepthGuard guard(p);
    Expr* else_value = p.too_deep() ? nullptr : p.options.older_than("4.0") ? parse_assignment(p) : parse_ternary(p);
    if (!else_value)
        return nullptr;
    return p.grow(
        p.make<TernaryExpr>(Range::join(condition->range, else_value->range), condition, then_value, else_value),
        {condition, then_value, else_value});
}

// Parses operators of level `loosest` and tighter by precedence climbing. The right operand of an operator is parsed
// with the next tighter level, so `a - b - c` groups to the left.
//
// `tightest` exists because of `in`, whose right side is only a name. In `k in a + 1`, the `+` binds tighter than `in`,
// but its left operand cannot be the array: the loop returns at `+`.
Expr* parse_binary(Parser& p, int loosest) {
    int tightest = MulLevel; // the next operator must not bind tighter than the last one: `a in b + c`
    bool brackets = loosest <= InLevel && p.peek().is("[");
    if (brackets)
        tightest = InLevel;
    Expr* left = brackets ? parse_bracket_in(p) : parse_unary(p);
    while (left) {
        if (p.peek().is_keyword("in") && loosest <= InLevel && tightest >= InLevel) {
            p.take();
            tightest = InLevel;
            if (p.peek().kind == TokenKind::Identifier && p.peek().text.starts_with("@hist_")) {
                Expr* histogram = parse_primary(p);
                if (!histogram || histogram->kind != ExprKind::Statistic)
                    return nullptr;
                auto* in = p.make<InExpr>(Range::join(left->range, histogram->range), std::vector<Expr*>{left}, "",
                                          histogram->range);
                in->histogram = static_cast<StatisticExpr*>(histogram);
                left = p.grow(in, {left, histogram});
                continue;
            }
            const Token* array = p.expect_name("an array after `in`");
            if (!array)
                return nullptr;
            left = p.grow(p.make<InExpr>(Range::join(left->range, array->range), std::vector<Expr*>{left}, array->text,
                                         array->range),
                          {left});
            continue;
        }
        const BinaryRow* row = find_binary(p.peek());
        if (!row || row->level < loosest || row->level > tightest)
            return left;
        Range op_range = p.take().range;
        Expr* right = parse_binary(p, row->level + 1);
        if (!right)
            return nullptr;
        if ((row->op == BinaryOp::Match || row->op == BinaryOp::NotMatch) && right->kind != ExprKind::String)
            p.diags.report(DiagId::Syntax, right->range,
                           fmt::format("the right side of `{}` must be a string literal", row->text));
        left = p.grow(p.make<BinaryExpr>(Range::join(left->range, right->range), row->op, op_range, left, right),
                      {left, right});
        tightest = row->level;
    }
    return nullptr;
}

// Parses `[k1, k2] in a`. No other expression begins with a bracket.
Expr* parse_bracket_in(Parser& p) {
    Range begin = p.take().range;
    std::vector<Expr*> keys;
    if (!parse_keys(p, keys, begin))
        return nullptr;
    if (!p.accept_keyword("in")) {
        p.fail_expected("`in` after the keys in brackets");
        return nullptr;
    }
    const Token* array = p.expect_name("an array after `in`");
    if (!array)
        return nullptr;
    auto* expr = p.make<InExpr>(p.since(begin), keys, array->text, array->range);
    return p.grow(expr, keys);
}

// A `*` is a wildcard only if it is a whole key. `a[* ]` is a slice, `a[x * y]` a product.
bool parse_keys(Parser& p, std::vector<Expr*>& keys, Range open) {
    do {
        if (p.peek().is("*") && (p.peek(1).is(",") || p.peek(1).is("]")))
            keys.push_back(p.make<WildcardExpr>(p.take().range));
        else if (Expr* key = parse_expr(p))
            keys.push_back(key);
        else
            return false;
    } while (p.accept(","));
    return p.expect_close("]", open, "after the keys");
}

Expr* parse_unary(Parser& p) {
    const Token& token = p.peek();
    static constexpr std::pair<std::string_view, UnaryOp> operators[] = {
        {"-", UnaryOp::Minus}, {"+", UnaryOp::Plus}, {"!", UnaryOp::Not}, {"~", UnaryOp::BitNot}};
    const std::pair<std::string_view, UnaryOp>* op = nullptr;
    for (const auto& row : operators)
        if (token.is(row.first))
            op = &row;
    bool step = token.is("++") || token.is("--"), address = token.is("&");
    if (!op && !step && !address)
        return parse_postfix(p);
    p.take();
    Parser::DepthGuard guard(p);
    Expr* operand = p.too_deep() ? nullptr : parse_unary(p);
    if (!operand)
        return nullptr;
    Range range = Range::join(token.range, operand->range);
    if (op)
        return p.grow(p.make<UnaryExpr>(range, op->second, operand), {operand});
    if (step) {
        check_assignable(p, *operand, token.text);
        return p.grow(p.make<IncDecExpr>(range, token.is("++"), true, operand), {operand});
    }
    const bool is_variable = operand->kind == ExprKind::Target || operand->kind == ExprKind::Member;
    if (!is_variable && !check_age(p, token.range, "`&` before a value", "2.6"))
        return nullptr;
    if (!is_variable)
        p.diags.hold(DiagId::Syntax, operand->range, fmt::format("`{}` has no address", to_source(*operand)))
            .help("`&` takes a target variable, as in `&$x->y`");
    return p.grow(p.make<AddressOfExpr>(range, operand), {operand});
}

Expr* parse_postfix(Parser& p) {
    Expr* expr = parse_primary(p);
    // Accept one `++` or `--` only. In `x++ ++y`, the second one begins the next statement.
    if (expr && (p.peek().is("++") || p.peek().is("--"))) {
        const Token& op = p.take();
        check_assignable(p, *expr, op.text);
        expr = p.grow(p.make<IncDecExpr>(Range::join(expr->range, op.range), op.is("++"), false, expr), {expr});
    }
    return expr;
}

// Literals, names and parentheses can be followed by components, as in `(p)->next` or `f(x)[3]`, because their value
// can be a typed pointer.
Expr* parse_primary(Parser& p) {
    const Token& token = p.peek();
    switch (token.kind) {
    case TokenKind::Number:
        p.take();
        return with_components(p, p.make<NumberExpr>(token.range, token.number));
    case TokenKind::String:
        p.take();
        return with_components(p, p.make<StringExpr>(token.range, token.text));
    case TokenKind::Identifier:
        return parse_name(p);
    case TokenKind::Embedded:
        p.take();
        p.refuse_embedded(token);
        return with_components(p, p.make<EmbeddedExpr>(token.range, token.text));
    default:
        break;
    }
    if (p.accept("(")) {
        Expr* inner = parse_expr(p);
        if (!inner || !p.expect_close(")", token.range, "to close the parenthesis"))
            return nullptr;
        return with_components(p, inner);
    }
    p.fail_expected("an expression");
    return nullptr;
}

} // namespace

Expr* parse_name(Parser& p) {
    const Token& name = p.take();
    if (name.text[0] == '@')
        return parse_at(p, name);
    if (name.text[0] == '$')
        return parse_target_variable(p, name);
    Range open = p.peek().range;
    if (is_print(name.text) && p.peek().is("("))
        return parse_print(p, name);
    if (p.accept("(")) {
        std::vector<Expr*> args;
        if (!parse_arguments(p, args, open))
            return nullptr;
        auto* call = p.make<CallExpr>(p.since(name.range), name.text, name.range, args);
        return with_components(p, p.grow(call, args));
    }
    if (p.accept("[")) {
        std::vector<Expr*> keys;
        if (!parse_keys(p, keys, open))
            return nullptr;
        auto* element = p.make<IndexExpr>(p.since(name.range), name.text, name.range, keys);
        return with_components(p, p.grow(element, keys));
    }
    return with_components(p, p.make<NameExpr>(name.range, name.text));
}

bool parse_arguments(Parser& p, std::vector<Expr*>& args, Range open) {
    if (p.accept(")"))
        return true;
    do {
        Expr* arg = parse_expr(p);
        if (!arg)
            return false;
        args.push_back(arg);
    } while (p.accept(","));
    return p.expect_close(")", open, "after the arguments");
}

namespace {

// Checks a printf format. The error points at the directive, not at the whole literal.
void check_format(Parser& p, const Token& literal) {
    size_t begin = 0;
    if (auto parsed = parse_format(literal.text, &begin); !parsed) {
        size_t end = literal.text.find_first_of(" \n%", begin + 1);
        // The directive ends with its conversion letter, if it has one.
        size_t letter = literal.text.find_first_not_of("0123456789+- #.*l", begin + 1);
        end = letter == std::string::npos ? std::min(end, literal.text.size()) : letter + 1;
        p.diags.report(DiagId::BadFormat, range_in_string(literal.range, begin, end, p.diags.sources()),
                       parsed.error().message);
    }
}

// Parses the print family from the word: `sprintdln` is `s` (gives a string), `print`, `d` (a delimiter between values)
// and `ln` (a newline at the end). A delimiter or format must be a literal, because it becomes part of the compiled
// program.
Expr* parse_print(Parser& p, const Token& name) {
    auto* print = p.make<PrintExpr>(name.range);
    std::string_view kind = name.text;
    print->name = name.text;
    if (kind.starts_with('s')) {
        print->to_string = true;
        kind.remove_prefix(1);
    }
    print->newline = kind.ends_with("ln");
    print->has_format = kind == "printf";
    print->has_delimiter = kind.starts_with("printd");
    Range open = p.take().range;
    if (print->has_format || print->has_delimiter) {
        const Token& literal = p.peek();
        if (literal.kind != TokenKind::String) {
            DiagBuilder report =
                p.fail_expected(fmt::format("a string literal as the first argument of `{}`", name.text));
            if (kind == "printf")
                report.help(
                    "the format comes first: `printf(\"%d %s\\n\", number, text)`; `println(value)` needs no format");
            return nullptr;
        }
        p.take();
        print->format = literal.text;
        print->format_range = literal.range;
        if (print->has_format)
            check_format(p, literal);
        if (!p.accept(",")) {
            if (!p.expect_close(")", open, "after the format"))
                return nullptr;
        } else if (!parse_arguments(p, print->args, open)) {
            return nullptr;
        }
    } else if (!parse_arguments(p, print->args, open)) {
        return nullptr;
    }
    print->range = p.since(name.range);
    // println() alone ends a line, but print() alone would do nothing.
    size_t least = print->has_delimiter ? 2 : print->has_format || print->newline ? 0 : 1;
    if (print->args.size() < least)
        p.diags.report(DiagId::Arity, print->range,
                       fmt::format("`{}` needs at least {} argument{}{}, got {}", name.text, least,
                                   least == 1 ? "" : "s", print->has_delimiter ? " after the delimiter" : "",
                                   print->args.size()));
    return with_components(p, p.grow(print, print->args));
}

} // namespace

} // namespace sonde
