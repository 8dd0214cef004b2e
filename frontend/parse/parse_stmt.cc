// Statements.
#include <fmt/format.h>

#include "frontend/parse/parser_impl.h"

namespace sonde {

using namespace ast;

// Skips to behind the next `;` or to a `}` of this block, so that the statement after an error is read again.
void Parser::recover_in_block() {
    int nesting = 0;
    while (!at_end()) {
        if (peek().is_keyword("probe") || peek().is_keyword("function") || peek().is_keyword("global"))
            break;
        if (peek().is("{"))
            nesting++;
        if (peek().is("}") && nesting-- == 0)
            break;
        bool semicolon = peek().is(";") && nesting == 0;
        take();
        if (semicolon)
            break;
    }
    failed_ = false;
}

BlockStmt* Parser::parse_block() {
    DepthGuard guard(*this);
    Range begin = peek().range;
    if (!expect("{", "to begin a block") || too_deep())
        return nullptr;
    auto* block = arena_.make<BlockStmt>(begin);
    while (!peek().is("}")) {
        if (at_end() || peek().is_keyword("probe") || peek().is_keyword("function") || peek().is_keyword("global")) {
            fail_expected("a statement or `}`");
            diags_.report(DiagId::Syntax, begin, "this block is not closed");
            failed_ = true;
            return block;
        }
        size_t before = at_;
        Stmt* stmt = parse_stmt();
        if (stmt)
            block->body.push_back(stmt);
        if (failed_) {
            recover_in_block();
            if (at_ == before && !peek().is("}") && !at_end() && !peek().is_keyword("probe") &&
                !peek().is_keyword("function") && !peek().is_keyword("global"))
                take();
        }
    }
    take();
    block->range = since(begin);
    return block;
}

Stmt* Parser::parse_loop_body() {
    loops_++;
    Stmt* body = parse_stmt();
    loops_--;
    return body;
}

Stmt* Parser::parse_stmt() {
    DepthGuard guard(*this);
    if (too_deep())
        return nullptr;
    Token token = peek();
    if (token.is("{"))
        return parse_block();
    if (accept(";"))
        return arena_.make<EmptyStmt>(token.range);
    if (accept_keyword("if")) {
        if (!expect("(", "after `if`"))
            return nullptr;
        Expr* condition = parse_expr();
        if (!condition || !expect(")", "after the condition"))
            return nullptr;
        Stmt* then_body = parse_stmt();
        if (!then_body)
            return nullptr;
        Stmt* else_body = nullptr;
        // `if (a) b; else c`: the `;` ended the statement already; a lone one may stand before else.
        if (peek().is(";") && peek(1).is_keyword("else"))
            take();
        if (accept_keyword("else") && !(else_body = parse_stmt()))
            return nullptr;
        return arena_.make<IfStmt>(since(token.range), condition, then_body, else_body);
    }
    if (accept_keyword("while")) {
        if (!expect("(", "after `while`"))
            return nullptr;
        Expr* condition = parse_expr();
        if (!condition || !expect(")", "after the condition"))
            return nullptr;
        Stmt* body = parse_loop_body();
        return body ? arena_.make<WhileStmt>(since(token.range), condition, body) : nullptr;
    }
    if (accept_keyword("for"))
        return parse_for(token.range);
    if (accept_keyword("foreach"))
        return parse_foreach(token.range);
    if (accept_keyword("break") || accept_keyword("continue")) {
        if (loops_ == 0)
            diags_.report(DiagId::Syntax, token.range, fmt::format("`{}` is in no loop", token.text));
        accept(";");
        if (token.text == "break")
            return arena_.make<BreakStmt>(token.range);
        return arena_.make<ContinueStmt>(token.range);
    }
    if (accept_keyword("next")) {
        accept(";");
        return arena_.make<NextStmt>(token.range);
    }
    if (accept_keyword("return")) {
        if (!in_function_)
            diags_.report(DiagId::Syntax, token.range, "`return` is in no function")
                .help("`next` leaves a probe handler");
        Expr* value = nullptr;
        if (!peek().is(";") && !peek().is("}")) {
            value = parse_expr();
            if (!value)
                return nullptr;
        }
        accept(";");
        return arena_.make<ReturnStmt>(since(token.range), value);
    }
    if (accept_keyword("delete")) {
        Expr* target = parse_expr();
        if (!target)
            return nullptr;
        accept(";");
        if (target->kind != ExprKind::Name && target->kind != ExprKind::Index)
            diags_.report(DiagId::Syntax, target->range, "`delete` takes an array, an element or a global");
        return arena_.make<DeleteStmt>(since(token.range), target);
    }
    if (accept_keyword("try")) {
        Stmt* body = parse_block();
        if (!body)
            return nullptr;
        if (!accept_keyword("catch")) {
            fail_expected("`catch` after the block of `try`");
            return nullptr;
        }
        std::string variable;
        Range variable_range;
        if (accept("(")) {
            std::optional<Token> name = expect_name("the message's variable");
            if (!name || !expect(")", "after the variable"))
                return nullptr;
            variable = name->text;
            variable_range = name->range;
        }
        Stmt* handler = parse_block();
        if (!handler)
            return nullptr;
        auto* attempt = arena_.make<TryStmt>(since(token.range), body, handler);
        attempt->variable = variable;
        attempt->variable_range = variable_range;
        return attempt;
    }
    Expr* expr = parse_expr();
    if (!expr)
        return nullptr;
    accept(";");
    return arena_.make<ExprStmt>(since(token.range), expr);
}

Stmt* Parser::parse_for(Range begin) {
    Expr *init = nullptr, *condition = nullptr, *step = nullptr;
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
    if (!expect(")", "after the loop's step"))
        return nullptr;
    Stmt* body = parse_loop_body();
    return body ? arena_.make<ForStmt>(since(begin), init, condition, step, body) : nullptr;
}

// foreach ([value =] key | [k1, k2] in array[slice] [@extractor] [+-] [limit e]) body
Stmt* Parser::parse_foreach(Range begin) {
    auto* loop = arena_.make<ForeachStmt>(begin);
    if (!expect("(", "after `foreach`"))
        return nullptr;
    int signs = 0;
    auto sort_sign = [&](int column) {
        if (!peek().is("+") && !peek().is("-"))
            return;
        Token sign = take();
        if (++signs > 1)
            diags_.report(DiagId::Syntax, sign.range, "only one `+` or `-` can say how to sort");
        loop->sort_direction = sign.is("+") ? 1 : -1;
        loop->sort_column = column;
    };
    auto key = [&]() {
        std::optional<Token> name = expect_name("a variable for the key");
        if (!name)
            return false;
        loop->keys.push_back(name->text);
        loop->key_ranges.push_back(name->range);
        sort_sign(static_cast<int>(loop->keys.size()));
        return true;
    };
    if (peek().kind == TokenKind::Identifier && peek(1).is("=")) {
        Token value = take();
        take();
        loop->value = value.text;
        loop->value_range = value.range;
    }
    if (accept("[")) {
        do {
            if (!key())
                return nullptr;
        } while (accept(","));
        if (!expect("]", "after the keys"))
            return nullptr;
    } else if (!key()) {
        return nullptr;
    }
    if (!accept_keyword("in")) {
        fail_expected("`in` after the keys");
        return nullptr;
    }
    Token array = peek();
    if (array.kind != TokenKind::Identifier) {
        fail_expected("an array");
        return nullptr;
    }
    loop->collection = parse_name();
    if (!loop->collection)
        return nullptr;
    if (peek().kind == TokenKind::Identifier && peek().text[0] == '@') {
        Token extractor = take();
        static constexpr std::pair<std::string_view, Extractor> sortable[] = {
            {"@count", Extractor::Count}, {"@sum", Extractor::Sum}, {"@min", Extractor::Min},
            {"@max", Extractor::Max},     {"@avg", Extractor::Avg}, {"@variance", Extractor::Variance}};
        for (const auto& [text, value] : sortable)
            if (extractor.text == text)
                loop->sort_extractor = value;
        if (!loop->sort_extractor)
            diags_.report(DiagId::UnknownOperator, extractor.range, fmt::format("cannot sort by `{}`", extractor.text))
                .help("@count, @sum, @min, @max, @avg or @variance");
        if (!peek().is("+") && !peek().is("-"))
            fail_expected("`+` or `-` after the extractor");
    }
    sort_sign(0);
    if (accept_keyword("limit") && !(loop->limit = parse_expr()))
        return nullptr;
    if (!expect(")", "after the head of `foreach`"))
        return nullptr;
    loop->body = parse_loop_body();
    loop->range = since(begin);
    return loop->body ? loop : nullptr;
}

} // namespace sonde
