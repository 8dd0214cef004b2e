// Statements. `;` ends a statement where it is written; nothing needs it.
#include <fmt/format.h>

#include "frontend/parse/parser_impl.h"

namespace sonde {

using namespace ast;

namespace {

bool begins_statement(const Token& token) {
    static constexpr std::string_view words[] = {"if",   "for",    "foreach", "while",    "break",
                                                 "next", "return", "delete",  "continue", "try"};
    return token.kind == TokenKind::Keyword &&
           std::find(std::begin(words), std::end(words), token.text) != std::end(words);
}

// A line that begins with a name after something complete is most likely the next statement.
bool begins_line(const Token& token, const Token& before) {
    return token.on_line && token.kind == TokenKind::Identifier &&
           (before.kind != TokenKind::Operator || before.is(")") || before.is("]") || before.is("}") ||
            before.is(";") || before.is("++") || before.is("--"));
}

} // namespace

// Skips to after the next `;` or `}` or to what ends or begins a statement, so that what follows an error is read
// again. `began` is where the statement began: at least one token is skipped.
void Parser::recover_in_block(size_t began) {
    int nesting = 0;
    for (size_t wrong = at_; !at_end() && !at_declaration();) {
        const Token& token = peek();
        if (nesting == 0 && !gave_up_) {
            // The token that was wrong begins a statement only where it begins a line, too.
            bool begins = begins_statement(token) && (at_ > wrong || token.on_line);
            if (token.is("}") || (at_ > began && (begins || begins_line(token, tokens_[at_ - 1]))))
                break;
        }
        nesting += token.is("{") ? 1 : token.is("}") ? -1 : 0;
        bool end = nesting == 0 && !gave_up_ && (token.is(";") || token.is("}"));
        take();
        if (end && !peek().is_keyword("else") && !peek().is_keyword("catch"))
            break;
    }
    failed_ = false;
}

// Null, or a block and failed_, after an error that ends the declaration.
BlockStmt* Parser::parse_block() {
    Range begin = peek().range;
    if (!expect("{", "to begin a block"))
        return nullptr;
    auto* block = arena_.make<BlockStmt>(begin);
    while (!accept("}")) {
        if (at_end() || at_declaration()) {
            fail_expected("a statement or `}`").note(begin, "the block begins here");
            return block;
        }
        size_t before = at_;
        if (Stmt* stmt = parse_stmt())
            block->body.push_back(stmt);
        if (!failed_)
            continue;
        recover_in_block(before);
        if (at_end() || at_declaration()) {
            failed_ = true; // reported already; the blocks around this one end here too
            return block;
        }
    }
    block->range = since(begin);
    return block;
}

Stmt* Parser::parse_body() { return peek().is("{") ? parse_block() : parse_stmt(); }

Stmt* Parser::parse_loop_body() {
    loops_++;
    Stmt* body = parse_body();
    loops_--;
    return body;
}

Stmt* Parser::parse_stmt() {
    DepthGuard guard(*this);
    if (too_deep())
        return nullptr;
    const Token& token = peek();
    if (token.is("{"))
        return parse_block();
    if (accept(";"))
        return arena_.make<EmptyStmt>(token.range);
    if (accept_keyword("if"))
        return parse_if(token.range);
    if (accept_keyword("while")) {
        Expr* condition = parse_condition("while");
        Stmt* body = condition ? parse_loop_body() : nullptr;
        return body ? arena_.make<WhileStmt>(since(token.range), condition, body) : nullptr;
    }
    if (accept_keyword("for"))
        return parse_for(token.range);
    if (accept_keyword("foreach"))
        return parse_foreach(token.range);
    if (accept_keyword("break") || accept_keyword("continue")) {
        if (loops_ == 0)
            diags_.hold(DiagId::Syntax, token.range, fmt::format("`{}` is in no loop", token.text));
        accept(";");
        if (token.text == "break")
            return arena_.make<BreakStmt>(token.range);
        return arena_.make<ContinueStmt>(token.range);
    }
    if (accept_keyword("next")) {
        accept(";");
        return arena_.make<NextStmt>(token.range);
    }
    if (accept_keyword("return"))
        return parse_return(token.range);
    if (accept_keyword("delete"))
        return parse_delete(token.range);
    if (accept_keyword("try"))
        return parse_try(token.range);
    Expr* expr = parse_expr();
    if (!expr)
        return nullptr;
    Range range = since(token.range);
    accept(";");
    return arena_.make<ExprStmt>(range, expr);
}

Stmt* Parser::parse_return(Range begin) {
    if (!in_function_)
        diags_.report(DiagId::Syntax, begin, "`return` is in no function").help("`next` leaves a probe handler");
    Expr* value = nullptr;
    if (!peek().is(";") && !peek().is("}") && !(value = parse_expr()))
        return nullptr;
    Range range = since(begin);
    accept(";");
    return arena_.make<ReturnStmt>(range, value);
}

Stmt* Parser::parse_delete(Range begin) {
    Expr* target = parse_expr();
    if (!target)
        return nullptr;
    Range range = since(begin);
    accept(";");
    if (target->kind != ExprKind::Name && target->kind != ExprKind::Index)
        diags_.hold(DiagId::Syntax, target->range,
                    fmt::format("`delete` takes an array, an element or a global, not `{}`", to_source(*target)));
    return arena_.make<DeleteStmt>(range, target);
}

Stmt* Parser::parse_try(Range begin) {
    Stmt* body = parse_block();
    if (!body || failed_)
        return nullptr;
    if (!accept_keyword("catch")) {
        fail_expected("`catch` after the block of `try`");
        return nullptr;
    }
    const Token* variable = nullptr;
    Range open = peek().range;
    if (accept("(") && (!(variable = expect_name("the message's variable")) ||
                        !expect_close(")", open, "after the message's variable")))
        return nullptr;
    Stmt* handler = parse_block();
    if (!handler)
        return nullptr;
    auto* attempt = arena_.make<TryStmt>(since(begin), body, handler);
    if (variable) {
        attempt->variable = variable->text;
        attempt->variable_range = variable->range;
    }
    return attempt;
}

// (e)
Expr* Parser::parse_condition(std::string_view keyword) {
    Range open = peek().range;
    if (!expect("(", fmt::format("after `{}`", keyword)))
        return nullptr;
    Expr* condition = parse_expr();
    return condition && expect_close(")", open, "after the condition") ? condition : nullptr;
}

Stmt* Parser::parse_if(Range begin) {
    Expr* condition = parse_condition("if");
    Stmt* then_body = condition ? parse_body() : nullptr;
    if (!then_body)
        return nullptr;
    Stmt* else_body = nullptr;
    // `if (a) { b }; else c`: a lone `;` may stand before else.
    if (peek().is(";") && peek(1).is_keyword("else"))
        take();
    if (!failed_ && accept_keyword("else") && !(else_body = parse_body()))
        return nullptr;
    return arena_.make<IfStmt>(since(begin), condition, then_body, else_body);
}

Stmt* Parser::parse_for(Range begin) {
    Expr *init = nullptr, *condition = nullptr, *step = nullptr;
    Range open = peek().range;
    if (!expect("(", "after `for`"))
        return nullptr;
    if (!peek().is(";") && !(init = parse_expr()))
        return nullptr;
    if (!expect(";", "after the loop's first part"))
        return nullptr;
    if (!peek().is(";") && !(condition = parse_expr()))
        return nullptr;
    if (!expect(";", "after the loop's condition"))
        return nullptr;
    if (!peek().is(")") && !(step = parse_expr()))
        return nullptr;
    if (!expect_close(")", open, "after the loop's step"))
        return nullptr;
    Stmt* body = parse_loop_body();
    return body ? arena_.make<ForStmt>(since(begin), init, condition, step, body) : nullptr;
}

// foreach ([value =] key | [k1, k2] in array[slice] [@extractor] [+-] [limit e]) body
Stmt* Parser::parse_foreach(Range begin) {
    auto* loop = arena_.make<ForeachStmt>(begin);
    Range open = peek().range;
    if (!expect("(", "after `foreach`") || !parse_foreach_keys(*loop))
        return nullptr;
    if (!accept_keyword("in")) {
        fail_expected("`in` after the keys");
        return nullptr;
    }
    if (!parse_foreach_collection(*loop))
        return nullptr;
    if (accept_keyword("limit") && !(loop->limit = parse_expr()))
        return nullptr;
    if (!expect_close(")", open, "after the head of `foreach`"))
        return nullptr;
    loop->body = parse_loop_body();
    loop->range = since(begin);
    return loop->body ? loop : nullptr;
}

void Parser::parse_sort_sign(ForeachStmt& loop, int column) {
    // `value+=` and `value-=`: the sign and the `=` after it are one token.
    bool with_assign = loop.keys.empty() && (peek().is("+=") || peek().is("-="));
    if (!peek().is("+") && !peek().is("-") && !with_assign)
        return;
    const Token& sign = take();
    if (loop.sort_direction)
        diags_.report(DiagId::Syntax, sign.range, "only one `+` or `-` can say how to sort");
    loop.sort_direction = sign.text[0] == '+' ? 1 : -1;
    loop.sort_column = column;
}

bool Parser::parse_foreach_keys(ForeachStmt& loop) {
    const Token& value = peek();
    bool signed_value = (peek(1).is("+") || peek(1).is("-")) && peek(2).is("=");
    if (value.kind == TokenKind::Identifier &&
        (peek(1).is("=") || peek(1).is("+=") || peek(1).is("-=") || signed_value)) {
        if (!expect_name("a variable for the value"))
            return false;
        loop.value = value.text;
        loop.value_range = value.range;
        parse_sort_sign(loop, 0);
        accept("=");
    }
    auto key = [&] {
        const Token* name = expect_name("a variable for the key");
        if (!name)
            return false;
        loop.keys.push_back(name->text);
        loop.key_ranges.push_back(name->range);
        parse_sort_sign(loop, static_cast<int>(loop.keys.size()));
        return true;
    };
    Range open = peek().range;
    if (!accept("["))
        return key();
    do {
        if (!key())
            return false;
    } while (accept(","));
    return expect_close("]", open, "after the keys");
}

bool Parser::parse_foreach_collection(ForeachStmt& loop) {
    const Token& array = peek();
    if (array.kind != TokenKind::Identifier) {
        fail_expected("an array");
        return false;
    }
    Expr* collection = loop.collection = parse_name();
    if (!collection)
        return false;
    bool histogram =
        collection->kind == ExprKind::Statistic && as<StatisticExpr>(*collection).extractor >= Extractor::HistLog;
    if (collection->kind != ExprKind::Name && collection->kind != ExprKind::Index && !histogram) {
        fail(collection->range,
             fmt::format("`foreach` takes an array or a histogram, not `{}`", to_source(*collection)));
        return false;
    }
    const Token& extractor = peek();
    if (extractor.kind == TokenKind::Identifier && extractor.text[0] == '@') {
        take();
        static constexpr std::pair<std::string_view, Extractor> sortable[] = {
            {"@count", Extractor::Count}, {"@sum", Extractor::Sum}, {"@min", Extractor::Min},
            {"@max", Extractor::Max},     {"@avg", Extractor::Avg}, {"@variance", Extractor::Variance}};
        for (const auto& [text, value] : sortable)
            if (extractor.text == text)
                loop.sort_extractor = value;
        if (!loop.sort_extractor)
            diags_.report(DiagId::UnknownOperator, extractor.range, fmt::format("cannot sort by `{}`", extractor.text))
                .help("@count, @sum, @min, @max, @avg or @variance");
        if (!peek().is("+") && !peek().is("-")) {
            fail_expected(fmt::format("`+` or `-` after `{}`", extractor.text));
            return false;
        }
    }
    parse_sort_sign(loop, 0);
    return true;
}

} // namespace sonde
