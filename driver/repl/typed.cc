// The kind of an input follows from its first word and the token after it. A command's word is also a valid name of a
// variable: `top` is the command, `top = 5` and `top["x"]` are statements.
#include "driver/repl/typed.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/diag.h"
#include "base/source.h"
#include "frontend/ast/walk.h"
#include "frontend/lex/token.h"

namespace sonde::repl {
namespace {

struct Lexed {
    Sources sources;
    std::vector<Token> tokens; // without comments; the last one is End
    bool is_open = false;      // in a comment or in C code
};

void read_tokens(const std::string& text, Lexed& out) {
    const FileId file = out.sources.add("<input>", text);
    Diagnostics ignored(out.sources);
    for (Token& token : lex_as_written(file, out.sources, ignored)) {
        const std::string_view written = out.sources.text(token.range);
        if (token.kind == TokenKind::Comment)
            out.is_open |= written.starts_with("/*") && (written.size() < 4 || !written.ends_with("*/"));
        else
            out.tokens.push_back(std::move(token));
    }
    const size_t code = text.rfind("%{");
    out.is_open |= code != std::string::npos && text.find("%}", code) == std::string::npos;
}

bool is_one_of(const Token& token, std::initializer_list<std::string_view> operators) {
    return std::ranges::any_of(operators, [&](std::string_view one) { return token.is(one); });
}

bool declares(const Token& token) {
    return token.kind == TokenKind::Keyword &&
           (token.text == "probe" || token.text == "global" || token.text == "function" || token.text == "private");
}

// Whether the word of a command is a variable here, by the tokens after it: `top = 5`, `top["x"]`, `run++`, `top / 2`.
// An argument can begin with an operator, as in `save /tmp/a.stp` and `save -f a.stp`. Then a blank precedes the
// operator, and none follows.
bool is_variable_here(const Token& next, const Token& after) {
    if (is_one_of(next, {"[",  "(",   "=",   "++", "--",  "+=", "-=", "*=", "/=", "%=", "&=", "|=",
                         "^=", "<<=", ">>=", ".=", "<<<", "==", "!=", "<=", ">=", "&&", "||", "?"}))
        return true;
    return is_one_of(next, {"+", "-", "*", "/", "%", "<", ">", "&", "|", "^"}) && (next.glued || !after.glued);
}

} // namespace

Typed sort_typed(const std::string& text, const std::function<bool(std::string_view)>& is_point,
                 const std::function<bool(std::string_view)>& is_global) {
    Lexed lexed;
    read_tokens(text, lexed);
    const Token& first = lexed.tokens.front();
    if (first.kind == TokenKind::End)
        return {};
    if (declares(first) || first.kind == TokenKind::Embedded || (first.text == "@define" || text.find("%{") == 0))
        return {TypedKind::Declarations, "", ""};
    const Token& next = lexed.tokens[1];
    const bool is_word = first.kind == TokenKind::Identifier || first.kind == TokenKind::Keyword;
    if (is_word && !is_global(first.text)) {
        const auto row = std::ranges::find(command_rows, first.text, &CommandRow::name);
        if (row != std::end(command_rows) &&
            !is_variable_here(next, lexed.tokens[std::min<size_t>(2, lexed.tokens.size() - 1)])) {
            std::string arguments = text.substr(first.range.end);
            arguments.erase(0, arguments.find_first_not_of(" \t\n"));
            arguments.erase(arguments.find_last_not_of(" \t\n;") + 1);
            return {TypedKind::Command, first.text, arguments};
        }
        // A pattern as the first component: `sys*.open`.
        size_t at = 0;
        std::string word;
        while (lexed.tokens[at].kind == TokenKind::Identifier || lexed.tokens[at].kind == TokenKind::Keyword ||
               lexed.tokens[at].is("*") || lexed.tokens[at].is("**")) {
            if (at > 0 && !lexed.tokens[at].glued)
                break;
            word += lexed.tokens[at++].text;
        }
        const Token& after = lexed.tokens[at];
        const bool is_pattern = word.find('*') != std::string::npos;
        if (is_pattern
                ? after.is(".")
                : is_point(first.text) && (after.kind == TokenKind::End || is_one_of(after, {".", "(", ",", "?", "!"})))
            return {TypedKind::Points, "", ""};
    }
    return {TypedKind::Statements, "", ""};
}

bool is_finished(const std::string& text) {
    Lexed lexed;
    read_tokens(text, lexed);
    if (lexed.is_open)
        return false;
    int depth = 0;
    bool needs_body = false;
    const Token* before = nullptr;
    for (const Token& token : lexed.tokens) {
        // `process.function("f")` contains the word, too.
        if (depth == 0 && declares(token) && !(before && before->is(".")))
            needs_body = token.text == "probe" || token.text == "function";
        before = &token;
        if (is_one_of(token, {"{", "(", "["}))
            depth++;
        else if (is_one_of(token, {"}", ")", "]"}))
            depth--;
        // C code can be the body of a function.
        if (token.is("{") || token.kind == TokenKind::Embedded)
            needs_body = false;
    }
    const bool ends_in_comma = lexed.tokens.size() > 1 && lexed.tokens[lexed.tokens.size() - 2].is(",");
    return depth <= 0 && !needs_body && !ends_in_comma;
}

namespace {

// Collects how a body uses names, by the position of the first use of each kind.
class Uses {
  public:
    Uses(FileId file) : file_(file) {}

    void collect(const ast::BlockStmt& body) {
        for_each_stmt(body, [&](const ast::Stmt& stmt) { visit(stmt); });
        for_each_expr(body, [&](const ast::Expr& expr) { visit(expr); });
    }

    std::vector<std::string> new_globals(const std::set<std::string>& known, bool is_at_prompt) const {
        std::vector<std::string> out;
        for (const auto& [name, use] : names_) {
            const bool sums = use.increments < use.assigns;
            if (!known.contains(name) && !bound_.contains(name) &&
                (use.is_shared || sums || (use.assigns != none && is_at_prompt)))
                out.push_back(name);
        }
        return out;
    }

  private:
    static constexpr uint32_t none = UINT32_MAX;
    struct Use {
        bool is_shared = false; // changed as an array or a statistic
        uint32_t increments = none, assigns = none;
    };

    void visit(const ast::Stmt& stmt) {
        if (stmt.kind == ast::StmtKind::Foreach) {
            const auto& loop = ast::as<ast::ForeachStmt>(stmt);
            bound_.insert(loop.value);
            bound_.insert(loop.keys.begin(), loop.keys.end());
        } else if (stmt.kind == ast::StmtKind::Try) {
            bound_.insert(ast::as<ast::TryStmt>(stmt).variable);
        }
    }

    void visit(const ast::Expr& expr) {
        if (expr.kind == ast::ExprKind::Assign) {
            const auto& assign = ast::as<ast::AssignExpr>(expr);
            changes(*assign.target, assign.aggregate, assign.op.has_value());
        } else if (expr.kind == ast::ExprKind::IncDec) {
            changes(*ast::as<ast::IncDecExpr>(expr).target, false, true);
        }
    }

    void changes(const ast::Expr& target, bool adds_to_statistic, bool reads) {
        if (target.range.file != file_)
            return;
        if (target.kind == ast::ExprKind::Index) {
            names_[ast::as<ast::IndexExpr>(target).name].is_shared = true;
        } else if (target.kind == ast::ExprKind::Name) {
            Use& use = names_[ast::as<ast::NameExpr>(target).name];
            use.is_shared |= adds_to_statistic;
            uint32_t& first = reads ? use.increments : use.assigns;
            first = std::min(first, target.range.begin);
        }
    }

    const FileId file_;
    std::map<std::string, Use> names_;
    std::set<std::string> bound_; // variables of loops and of `catch`
};

} // namespace

std::vector<std::string> find_new_globals(const ast::BlockStmt& body, FileId file, const std::set<std::string>& known,
                                          bool is_at_prompt) {
    Uses uses(file);
    uses.collect(body);
    return uses.new_globals(known, is_at_prompt);
}

std::optional<NamedValue> read_named_value(const std::string& text) {
    Lexed lexed;
    read_tokens(text, lexed);
    auto token = lexed.tokens.begin();
    if (token->kind != TokenKind::Identifier)
        return std::nullopt;
    NamedValue out{(token++)->text, {}};
    if (token->is("[")) {
        do {
            token++;
            const int64_t sign = token->is("-") ? -1 : 1;
            token += token->is("-");
            if (token->kind == TokenKind::Number)
                out.keys.push_back({false, sign * token->number, ""});
            else if (token->kind == TokenKind::String && sign > 0)
                out.keys.push_back({true, 0, token->text});
            else
                return std::nullopt;
            token++;
        } while (token->is(","));
        if (!(token++)->is("]"))
            return std::nullopt;
    }
    token += token->is(";");
    return token->kind == TokenKind::End ? std::optional(out) : std::nullopt;
}

std::string declaration_of(const ast::Global& global) {
    std::string out = global.name;
    if (global.capacity)
        out += fmt::format("[{}]", *global.capacity);
    if (global.wrap)
        out += "%";
    if (global.initializer)
        out += " = " + ast::to_source(*global.initializer);
    return out;
}

} // namespace sonde::repl
