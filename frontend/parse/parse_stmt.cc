// Parses statements. A `;` ends a statement, but the language does not require it.
//
// So the grammar alone cannot distinguish a missing operator from a new statement: `a b` is two statements. The parser
// uses line breaks as a hint for messages and for recovery:
//
//     x = f(1      # the parenthesis is not closed
//     y = 2        # a name at the beginning of a line: probably the next statement
//
// After an error, the parser skips to the next place where a statement probably begins, and goes on. The aim is that
// each mistake gives one message. Going on too early gives messages about the rest of the wrong statement; going on too
// late hides other mistakes.
#include <fmt/format.h>

#include "frontend/hints/foreign_words.h"
#include "frontend/parse/parse_expr.h"
#include "frontend/parse/parse_stmt.h"
#include "frontend/parse/parse_target.h"

namespace sonde {

using namespace ast;

namespace {

bool begins_statement(const Token& token) {
    static constexpr std::string_view words[] = {"if",   "for",    "foreach", "while",    "break",
                                                 "next", "return", "delete",  "continue", "try"};
    return token.kind == TokenKind::Keyword &&
           std::find(std::begin(words), std::end(words), token.text) != std::end(words);
}

// Whether the token probably begins the next statement: it is a name at the beginning of a line, and the text before it
// is complete.
bool begins_line(const Token& token, const Token& before) {
    return token.on_line && token.kind == TokenKind::Identifier &&
           (before.kind != TokenKind::Operator || before.is(")") || before.is("]") || before.is("}") ||
            before.is(";") || before.is("++") || before.is("--"));
}

// Detects statements of other languages, such as `int x = 1`, `print "a"` or `do {`. The rest of the line must show
// that the word is not a variable of the script. Returns whether it reported an error.
bool refuse_foreign_statement(Parser& p) {
    const Token &word = p.peek(), &next = p.peek(1);
    const bool can_be = word.kind == TokenKind::Identifier || word.is_keyword("long") || word.is_keyword("string");
    const bool goes_on = next.kind == TokenKind::Identifier || next.kind == TokenKind::String ||
                         next.kind == TokenKind::Number || next.is("{") ||
                         (next.is("*") && p.peek(2).kind == TokenKind::Identifier && p.peek(3).is("="));
    if (!can_be || !goes_on || next.on_line)
        return false;
    const std::string hint = hints::statement_hint(word.text);
    if (hint.empty())
        return false;
    p.fail(word.range, fmt::format("no statement begins with `{}`", word.text)).help(hint);
    return true;
}

Stmt* parse_stmt(Parser& p); // null after an error; the same holds for the functions below
Stmt* parse_body(Parser& p); // the body of an `if` or a loop; a block as the body adds no nesting level
Stmt* parse_return(Parser& p, Range begin);
Stmt* parse_delete(Parser& p, Range begin);
Stmt* parse_try(Parser& p, Range begin);
Stmt* parse_if(Parser& p, Range begin);
Stmt* parse_for(Parser& p, Range begin);
Stmt* parse_foreach(Parser& p, Range begin);
bool parse_foreach_keys(Parser& p, ForeachStmt& loop);
bool parse_foreach_collection(Parser& p, ForeachStmt& loop);
void parse_sort_sign(Parser& p, ForeachStmt& loop, int column);

// Skips tokens after an error so that parsing can go on: to after the next `;` or `}`, or to a token that ends or
// begins a statement. Skips at least one token after `began`, the beginning of the statement.
void recover_in_block(Parser& p, size_t began) {
    int nesting = 0;
    for (size_t wrong = p.taken(); !p.at_end() && !p.at_declaration();) {
        const Token& token = p.peek();
        if (nesting == 0 && !p.gave_up) {
            // The wrong token itself counts as the beginning of a statement only if it begins a line.
            bool begins = begins_statement(token) && (p.taken() > wrong || token.on_line);
            if (token.is("}") || (p.taken() > began && (begins || begins_line(token, p.last()))))
                break;
        }
        nesting += token.is("{") ? 1 : token.is("}") ? -1 : 0;
        bool end = nesting == 0 && !p.gave_up && (token.is(";") || token.is("}"));
        p.take();
        if (end && !p.peek().is_keyword("else") && !p.peek().is_keyword("catch"))
            break;
    }
    p.failed = false;
}

} // namespace

// Parses statements up to the `}`. After an error in a statement, skips to the next one and goes on, so that one run
// reports several errors.
BlockStmt* parse_block(Parser& p) {
    Range begin = p.peek().range;
    if (!p.expect("{", "to begin a block"))
        return nullptr;
    auto* block = p.make<BlockStmt>(begin);
    while (!p.accept("}")) {
        if (p.at_end() || p.at_declaration()) {
            const bool inside = !p.at_end() && !p.peek().on_line;
            DiagBuilder report = p.fail_expected("a statement or `}`");
            report.note(begin, "the block begins here");
            if (inside)
                report.help("declare probes, globals and functions at the top level");
            return block;
        }
        size_t before = p.taken();
        if (Stmt* stmt = parse_stmt(p))
            block->body.push_back(stmt);
        if (!p.failed)
            continue;
        recover_in_block(p, before);
        if (p.at_end() || p.at_declaration()) {
            p.failed = true; // already reported; the enclosing blocks end here as well
            return block;
        }
    }
    block->range = p.since(begin);
    return block;
}

Expr* parse_condition(Parser& p, std::string_view keyword) {
    Range open = p.peek().range;
    if (!p.expect("(", fmt::format("after `{}`", keyword)))
        return nullptr;
    Expr* condition = parse_expr(p);
    return condition && p.expect_close(")", open, "after the condition") ? condition : nullptr;
}

namespace {

Stmt* parse_body(Parser& p) { return p.peek().is("{") ? parse_block(p) : parse_stmt(p); }

Stmt* parse_loop_body(Parser& p) {
    p.loops++;
    Stmt* body = parse_body(p);
    p.loops--;
    return body;
}

Stmt* parse_stmt(Parser& p) {
    Parser::DepthGuard guard(p);
    if (p.too_deep())
        return nullptr;
    const Token& token = p.peek();
    if (token.is("{"))
        return parse_block(p);
    if (p.accept(";"))
        return p.make<EmptyStmt>(token.range);
    if (p.accept_keyword("if"))
        return parse_if(p, token.range);
    if (p.accept_keyword("while")) {
        Expr* condition = parse_condition(p, "while");
        Stmt* body = condition ? parse_loop_body(p) : nullptr;
        return body ? p.make<WhileStmt>(p.since(token.range), condition, body) : nullptr;
    }
    if (p.accept_keyword("for"))
        return parse_for(p, token.range);
    if (p.accept_keyword("foreach"))
        return parse_foreach(p, token.range);
    if (p.accept_keyword("break") || p.accept_keyword("continue")) {
        if (p.loops == 0)
            p.diags.hold(DiagId::Syntax, token.range, fmt::format("`{}` is not in a loop", token.text));
        p.accept(";");
        if (token.text == "break")
            return p.make<BreakStmt>(token.range);
        return p.make<ContinueStmt>(token.range);
    }
    if (p.accept_keyword("next")) {
        p.accept(";");
        return p.make<NextStmt>(token.range);
    }
    if (p.accept_keyword("return"))
        return parse_return(p, token.range);
    if (p.accept_keyword("delete"))
        return parse_delete(p, token.range);
    if (p.accept_keyword("try"))
        return parse_try(p, token.range);
    if (refuse_foreign_statement(p))
        return nullptr;
    Expr* expr = parse_expr(p);
    if (!expr)
        return nullptr;
    Range range = p.since(token.range);
    p.accept(";");
    return p.make<ExprStmt>(range, expr);
}

// A value follows `return` unless a `;` or `}` does, even on the next line. The language does not end a statement at a
// line break.
Stmt* parse_return(Parser& p, Range begin) {
    if (!p.in_function)
        p.diags.report(DiagId::Syntax, begin, "`return` is not in a function").help("`next` leaves a probe handler");
    Expr* value = nullptr;
    if (!p.peek().is(";") && !p.peek().is("}") && !(value = parse_expr(p)))
        return nullptr;
    Range range = p.since(begin);
    p.accept(";");
    return p.make<ReturnStmt>(range, value);
}

Stmt* parse_delete(Parser& p, Range begin) {
    Expr* target = parse_expr(p);
    if (!target)
        return nullptr;
    Range range = p.since(begin);
    p.accept(";");
    if (target->kind != ExprKind::Name && target->kind != ExprKind::Index) {
        DiagBuilder report =
            p.diags.hold(DiagId::Syntax, target->range,
                         fmt::format("`delete` takes an array, an element or a global, not `{}`", to_source(*target)));
        if (target->kind == ExprKind::Call)
            report.help("write an element as `array[key]`");
    }
    return p.make<DeleteStmt>(range, target);
}

Stmt* parse_try(Parser& p, Range begin) {
    Stmt* body = parse_block(p);
    if (!body || p.failed)
        return nullptr;
    if (!p.accept_keyword("catch")) {
        p.fail_expected("`catch` after the block of `try`")
            .help("`catch { ... }` catches errors, `catch (text) { ... }` with their messages");
        return nullptr;
    }
    const Token* variable = nullptr;
    Range open = p.peek().range;
    if (p.accept("(") && (!(variable = p.expect_name("the message's variable")) ||
                          !p.expect_close(")", open, "after the message's variable")))
        return nullptr;
    Stmt* handler = parse_block(p);
    if (!handler)
        return nullptr;
    auto* attempt = p.make<TryStmt>(p.since(begin), body, handler);
    if (variable) {
        attempt->variable = variable->text;
        attempt->variable_range = variable->range;
    }
    return attempt;
}

Stmt* parse_if(Parser& p, Range begin) {
    Expr* condition = parse_condition(p, "if");
    Stmt* then_body = condition ? parse_body(p) : nullptr;
    if (!then_body)
        return nullptr;
    Stmt* else_body = nullptr;
    // A single `;` may stand before `else`: `if (a) { b }; else c`.
    if (p.peek().is(";") && p.peek(1).is_keyword("else"))
        p.take();
    if (!p.failed && p.accept_keyword("else") && !(else_body = parse_body(p)))
        return nullptr;
    return p.make<IfStmt>(p.since(begin), condition, then_body, else_body);
}

Stmt* parse_for(Parser& p, Range begin) {
    Expr *init = nullptr, *condition = nullptr, *step = nullptr;
    Range open = p.peek().range;
    const size_t parenthesis = p.peek().is("(") ? 1 : 0;
    if (p.peek(parenthesis).kind == TokenKind::Identifier && p.peek(parenthesis + 1).is_keyword("in")) {
        p.fail(p.peek(parenthesis + 1).range, "a loop of `for` takes no `in`")
            .help("write a loop over an array as `foreach (key in array)`, one over numbers as `for (i = 0; i < 3; "
                  "i++)`");
        return nullptr;
    }
    if (!p.expect("(", "after `for`"))
        return nullptr;
    if (refuse_foreign_statement(p))
        return nullptr;
    if (!p.peek().is(";") && !(init = parse_expr(p)))
        return nullptr;
    if (!p.expect(";", "after the loop's first part"))
        return nullptr;
    if (!p.peek().is(";") && !(condition = parse_expr(p)))
        return nullptr;
    if (!p.expect(";", "after the loop's condition"))
        return nullptr;
    if (!p.peek().is(")") && !(step = parse_expr(p)))
        return nullptr;
    if (!p.expect_close(")", open, "after the loop's step"))
        return nullptr;
    Stmt* body = parse_loop_body(p);
    return body ? p.make<ForStmt>(p.since(begin), init, condition, step, body) : nullptr;
}

// Parses `foreach ([value =] key | [k1, k2] in array[slice] [@extractor] [+-] [limit e]) body`. The extractor takes no
// operand; for percentiles the percentage is its only argument: `@percentile(99)`.
Stmt* parse_foreach(Parser& p, Range begin) {
    auto* loop = p.make<ForeachStmt>(begin);
    Range open = p.peek().range;
    if (!p.expect("(", "after `foreach`") || !parse_foreach_keys(p, *loop))
        return nullptr;
    if (!p.accept_keyword("in")) {
        const bool second = p.peek().is(",");
        DiagBuilder report = p.fail_expected("`in` after the keys");
        if (second)
            report.help("`foreach (value = key in array)` also sets the value; write the parts of a key in brackets: "
                        "`foreach ([a, b] in array)`");
        return nullptr;
    }
    if (!parse_foreach_collection(p, *loop))
        return nullptr;
    if (p.accept_keyword("limit") && !(loop->limit = parse_expr(p)))
        return nullptr;
    if (!p.expect_close(")", open, "after the head of `foreach`"))
        return nullptr;
    loop->body = parse_loop_body(p);
    loop->range = p.since(begin);
    return loop->body ? loop : nullptr;
}

// Parses the `+` or `-` after a key, the value or the array. Column 0 is the value, and 1 is the first key.
void parse_sort_sign(Parser& p, ForeachStmt& loop, int column) {
    // In `value+=` and `value-=`, the lexer has joined the sort sign and the `=`.
    bool with_assign = loop.keys.empty() && (p.peek().is("+=") || p.peek().is("-="));
    if (!p.peek().is("+") && !p.peek().is("-") && !with_assign)
        return;
    const Token& sign = p.take();
    if (loop.sort_direction)
        p.diags.report(DiagId::Syntax, sign.range, "only one `+` or `-` can set the sort order");
    loop.sort_direction = sign.text[0] == '+' ? 1 : -1;
    loop.sort_column = column;
}

// `foreach (v = k in a)` and `foreach (k in a)` begin alike, so the token after the first name decides which of them it
// is. The sign of the sort order can stand between the two: `foreach (v- = k in a)`.
bool parse_foreach_keys(Parser& p, ForeachStmt& loop) {
    const Token& value = p.peek();
    bool signed_value = (p.peek(1).is("+") || p.peek(1).is("-")) && p.peek(2).is("=");
    if (value.kind == TokenKind::Identifier &&
        (p.peek(1).is("=") || p.peek(1).is("+=") || p.peek(1).is("-=") || signed_value)) {
        if (!p.expect_name("a variable for the value"))
            return false;
        loop.value = value.text;
        loop.value_range = value.range;
        parse_sort_sign(p, loop, 0);
        p.accept("=");
    }
    auto key = [&] {
        const Token* name = p.expect_name("a variable for the key");
        if (!name)
            return false;
        loop.keys.push_back(name->text);
        loop.key_ranges.push_back(name->range);
        parse_sort_sign(p, loop, static_cast<int>(loop.keys.size()));
        return true;
    };
    Range open = p.peek().range;
    if (!p.accept("["))
        return key();
    do {
        if (!key())
            return false;
    } while (p.accept(","));
    return p.expect_close("]", open, "after the keys");
}

// Parses the array, a slice of it (`a[*, 1]`) or a histogram (`@hist_log(x)`), and the extractor that elements are
// sorted by (`a @sum -`). An extractor without a sign would have no effect, so this is an error.
bool parse_foreach_collection(Parser& p, ForeachStmt& loop) {
    const Token& array = p.peek();
    if (array.kind != TokenKind::Identifier) {
        p.fail_expected("an array");
        return false;
    }
    Expr* collection = loop.collection = parse_name(p);
    if (!collection)
        return false;
    bool histogram =
        collection->kind == ExprKind::Statistic && as<StatisticExpr>(*collection).extractor >= Extractor::HistLog;
    if (collection->kind != ExprKind::Name && collection->kind != ExprKind::Index && !histogram) {
        p.fail(collection->range,
               fmt::format("`foreach` takes an array or a histogram, not `{}`", to_source(*collection)));
        return false;
    }
    const Token& extractor = p.peek();
    if (extractor.kind == TokenKind::Identifier && extractor.text[0] == '@') {
        p.take();
        static constexpr std::pair<std::string_view, Extractor> sortable[] = {{"@count", Extractor::Count},
                                                                              {"@sum", Extractor::Sum},
                                                                              {"@min", Extractor::Min},
                                                                              {"@max", Extractor::Max},
                                                                              {"@avg", Extractor::Avg},
                                                                              {"@variance", Extractor::Variance},
                                                                              {"@percentile", Extractor::Percentile}};
        for (const auto& [text, value] : sortable)
            if (extractor.text == text)
                loop.sort_extractor = value;
        if (!loop.sort_extractor)
            p.diags.report(DiagId::UnknownOperator, extractor.range, fmt::format("cannot sort by `{}`", extractor.text))
                .help("@count, @sum, @min, @max, @avg, @variance or @percentile(99)");
        if (loop.sort_extractor == Extractor::Percentile) {
            const Range open = p.peek().range;
            if (!p.expect("(", "after `@percentile`"))
                return false;
            std::optional<int64_t> percentile = expect_percentage(p);
            if (!percentile || !p.expect_close(")", open, "to close `@percentile`"))
                return false;
            loop.sort_percentile = *percentile;
        }
        if (!p.peek().is("+") && !p.peek().is("-")) {
            p.fail_expected(fmt::format("`+` or `-` after `{}`", extractor.text));
            return false;
        }
    }
    parse_sort_sign(p, loop, 0);
    return true;
}

} // namespace

} // namespace sonde
