// Helper functions and entry points of the parser.
//
// After an error most of them return null or false, and `failed` is set until some caller has skipped to a place where
// parsing can go on. While it is set, further errors are not reported (fail()): they would be consequences of the
// first.
//
// Two limits protect the recursion of the parser and of all later passes. max_nesting bounds the depth of calls in the
// parser. max_expr_height bounds the height of a tree, which can grow without recursion in the parser: `a + a + a ...`
// is parsed in a loop, but gives a tree that is as high as the chain is long.
#include "frontend/parse/parser.h"

#include <string.h>

#include <fmt/format.h>

#include "frontend/hints/foreign_words.h"
#include "frontend/parse/parse_decl.h"
#include "frontend/parse/parse_point.h"
#include "frontend/parse/parse_stmt.h"
#include "frontend/parse/parse_target.h"
#include "frontend/parse/parser_impl.h"
#include "frontend/parse/preprocess.h"
#include "frontend/parse/statements.h"

namespace sonde {

using namespace ast;

// ---- tokens -----------------------------------------------------------------------------------------------------

const Token& Parser::take() {
    const Token& token = peek();
    if (token.kind != TokenKind::End)
        at_++;
    return token;
}

// Whether a declaration probably begins here. The recovery after an error stops at declarations, so that one missing
// `}` does not swallow the rest of the script. Keywords can also be names of members (`$x->probe`) and of components,
// so the tokens before and after are considered too.
bool Parser::at_declaration() const {
    const Token &token = peek(), &next = peek(1);
    if (token.kind != TokenKind::Keyword || (at_ > 0 && (tokens_[at_ - 1].is(".") || tokens_[at_ - 1].is("->"))))
        return false;
    if (token.text == "probe")
        return next.kind == TokenKind::Identifier || next.kind == TokenKind::Keyword || next.is("{") || next.is("*");
    return (token.text == "function" || token.text == "global" || token.text == "private") &&
           (next.kind == TokenKind::Identifier || next.kind == TokenKind::Keyword);
}

bool Parser::accept(std::string_view op) {
    if (!peek().is(op))
        return false;
    at_++;
    return true;
}

bool Parser::accept_keyword(std::string_view word) {
    if (!peek().is_keyword(word))
        return false;
    at_++;
    return true;
}

bool Parser::expect(std::string_view op, std::string_view where) {
    if (accept(op))
        return true;
    fail_expected(fmt::format("`{}` {}", op, where));
    return false;
}

bool Parser::expect_close(std::string_view op, Range open, std::string_view where) {
    if (accept(op))
        return true;
    fail_expected(fmt::format("`{}` {}", op, where)).note(open, "opened here");
    return false;
}

const Token* Parser::expect_name(std::string_view what) {
    const Token& token = peek();
    if (token.kind == TokenKind::Identifier && token.text[0] != '@' && token.text[0] != '$')
        return &take();
    fail_expected(what);
    return nullptr;
}

std::optional<int64_t> Parser::expect_number() {
    bool negative = peek().is("-") && peek(1).kind == TokenKind::Number;
    if (negative)
        take();
    const Token& token = peek();
    if (token.kind != TokenKind::Number) {
        fail_expected("a literal number");
        return std::nullopt;
    }
    take();
    return negative ? static_cast<int64_t>(0 - static_cast<uint64_t>(token.number)) : token.number;
}

Range Parser::since(Range begin) const { return at_ == 0 ? begin : Range::join(begin, tokens_[at_ - 1].range); }

// ---- errors -----------------------------------------------------------------------------------------------------

DiagBuilder Parser::fail(Range range, const std::string& message) {
    if (failed)
        return DiagBuilder(nullptr);
    failed = true;
    return diags.report(DiagId::Syntax, range, message);
}

// Reports the expected and the actual token. If the wrong token is a habit from another language, the message says how
// to write it in this language.
DiagBuilder Parser::fail_expected(std::string_view what) {
    const Token& token = peek();
    std::string got = token.kind == TokenKind::End        ? "the end of the script"
                      : token.kind == TokenKind::String   ? "a string"
                      : token.kind == TokenKind::Embedded ? "embedded C code"
                      : token.kind == TokenKind::Keyword  ? fmt::format("the keyword `{}`", token.text)
                                                          : fmt::format("`{}`", token.text);
    DiagBuilder report = fail(token.range, fmt::format("expected {}, got {}", what, got));
    if (token.argument)
        report.help(fmt::format("`${0}` stands for the argument's characters, `@{0}` for the same as a string",
                                token.argument));
    else if (token.is(":") && what == "an expression")
        report.help("`:` is valid only in `c ? a : b`; the language has no labels and no `switch`, and `=` assigns");
    else if (const std::string hint = hints::syntax_hint(taken() > 0 ? last().text : "", token.text);
             token.kind != TokenKind::String && !hint.empty())
        report.help(hint);
    return report;
}

bool Parser::too_deep() {
    if (depth_ <= max_nesting)
        return false;
    gave_up = true;
    fail(peek().range, fmt::format("this is nested more than {} deep", max_nesting));
    return true;
}

bool Parser::refuse_embedded(const Token& token) {
    if (!privileged)
        diags.report(DiagId::EmbeddedCode, token.range, no_embedded_code);
    return !privileged;
}

bool Parser::too_high(const Expr& expr) {
    if (expr.height <= max_expr_height)
        return false;
    fail(peek().range, fmt::format("this expression has more than {} nested operators", max_expr_height))
        .help("compute the value in several steps");
    return true;
}

// ---- entry points -----------------------------------------------------------------------------------------------

bool ParseOptions::older_than(const char* version) const { return strverscmp(compatible.c_str(), version) < 0; }

namespace {
// Lexes and preprocesses. A missing argument (`$1`) is reported only now: it is allowed in a branch that is not taken.
std::vector<Token> read_tokens(FileId file, const Sources& sources, const ParseOptions& options, Diagnostics& diags) {
    std::vector<Token> tokens = lex(file, sources, options.args, diags, !options.older_than("2.3"));
    if (options.older_than("3.0"))
        for (Token& token : tokens)
            if (token.is_keyword("private"))
                token.kind = TokenKind::Identifier;
    tokens = preprocess(std::move(tokens), options, diags);
    for (const Token& token : tokens)
        report_missing_argument(token, options.args.size(), diags);
    return tokens;
}
} // namespace

File* parse_file(FileId file, const Sources& sources, const ParseOptions& options, Arena& arena, Diagnostics& diags) {
    Parser p(read_tokens(file, sources, options, diags), file, options, arena, diags);
    return parse_declarations(p);
}

std::vector<ProbePoint*> parse_probe_points(FileId file, const Sources& sources, const ParseOptions& options,
                                            Arena& arena, Diagnostics& diags) {
    Parser p(read_tokens(file, sources, options, diags), file, options, arena, diags);
    return parse_points_only(p);
}

// The text is the inside of a block, so the parser gets the braces that the text lacks.
ast::BlockStmt* parse_statements(FileId file, const Sources& sources, const ParseOptions& options, Arena& arena,
                                 Diagnostics& diags) {
    std::vector<Token> tokens = read_tokens(file, sources, options, diags);
    const auto brace = [](const char* text, Range range) {
        Token out;
        out.kind = TokenKind::Operator;
        out.text = text;
        out.range = range;
        return out;
    };
    const Range end = tokens.back().range;
    tokens.insert(tokens.end() - 1, brace("}", end));
    tokens.insert(tokens.begin(), brace("{", {file, 0, 0}));
    Parser p(std::move(tokens), file, options, arena, diags);
    BlockStmt* block = parse_block(p);
    if (!p.failed && !p.at_end())
        p.fail_expected("a statement");
    if (!block)
        block = p.make<BlockStmt>(end);
    block->range = {file, 0, end.end};
    return block;
}

const ast::TargetExpr* parse_target(FileId file, const Sources& sources, const ParseOptions& options, Arena& arena,
                                    Diagnostics& diags) {
    Parser p(read_tokens(file, sources, options, diags), file, options, arena, diags);
    return parse_target_only(p);
}

} // namespace sonde
