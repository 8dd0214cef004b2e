// The parser's context: the tokens, the current position, error reporting, and the creation of nodes. The grammar is a
// set of free functions that take a Parser, by topic: parse_expr, parse_target, parse_stmt, parse_decl and parse_point.
//
// A function that returns a node returns null after an error. The error is then reported, and `failed` is set until a
// caller recovers. An error that does not disturb parsing, such as a bad format, is reported without setting `failed`.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/lex/token.h"
#include "frontend/parse/parser.h"

namespace sonde {

constexpr const char* no_embedded_code = "embedded C code needs guru mode (-g)";

// One parser for one file. The grammar's functions take it as their first parameter, named `p`.
class Parser {
  public:
    Parser(std::vector<Token> tokens, FileId file, const ParseOptions& options, Arena& arena, Diagnostics& diags)
        : file(file), options(options), diags(diags), privileged(options.privileged || diags.sources().is_tapset(file)),
          tokens_(std::move(tokens)), arena_(arena) {}

    // Counts one level of nesting while it exists; construct it, then ask too_deep().
    struct DepthGuard {
        explicit DepthGuard(Parser& p) : parser(p) { parser.depth_++; }
        ~DepthGuard() { parser.depth_--; }
        Parser& parser;
    };

    // ---- tokens: the vector does not change, so references stay valid
    const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
    // The last token taken; at least one must have been taken.
    const Token& last() const { return tokens_[at_ - 1]; }
    // Returns the current token and moves to the next one. At the end, stays there.
    const Token& take();
    size_t taken() const { return at_; } // number of tokens taken
    bool at_end() const { return peek().kind == TokenKind::End; }
    // Whether a keyword begins a declaration here, and is not a component of a probe point (`kernel.function`).
    bool at_declaration() const;
    // Takes the token if it is that operator (or keyword).
    bool accept(std::string_view op);
    bool accept_keyword(std::string_view word);
    // Takes the operator, or reports "expected `op` WHERE, got ..." and returns false.
    bool expect(std::string_view op, std::string_view where);
    // The same for the bracket that closes the one at `open`.
    bool expect_close(std::string_view op, Range open, std::string_view where);
    // Returns null after reporting an error.
    const Token* expect_name(std::string_view what);
    // Parses a number with an optional `-`. Returns nothing after reporting an error.
    std::optional<int64_t> expect_number();
    Range since(Range begin) const; // the range from `begin` to the last token taken

    // ---- errors: while `failed` is set, further errors are dropped
    DiagBuilder fail(Range range, const std::string& message);
    DiagBuilder fail_expected(std::string_view what);
    // Reports an error and returns true if the current nesting is above max_nesting; the rest of the declaration is
    // then skipped.
    bool too_deep();
    // Reports embedded C code in unprivileged text, and returns whether it did. In privileged text, using the code may
    // still be an error later.
    bool refuse_embedded(const Token& token);

    // ---- nodes
    template <typename T, typename... Args> T* make(Args&&... args) {
        return arena_.make<T>(std::forward<Args>(args)...);
    }
    // Completes a node with these children (null means no child). If the node is too high, reports an error and returns
    // null.
    template <typename T> T* grow(T* node, std::initializer_list<const ast::Expr*> children) {
        for (const ast::Expr* child : children)
            if (child)
                node->height = std::max(node->height, child->height + 1);
        return too_high(*node) ? nullptr : node;
    }
    template <typename T> T* grow(T* node, const std::vector<ast::Expr*>& children) {
        for (const ast::Expr* child : children)
            node->height = std::max(node->height, child->height + 1);
        return too_high(*node) ? nullptr : node;
    }
    // Reports an error and returns true if the expression is higher than max_expr_height.
    bool too_high(const ast::Expr& expr);

    const FileId file;
    const ParseOptions& options;
    Diagnostics& diags;
    const bool privileged; // library text or -g
    bool failed = false;   // an error was reported, and nobody has recovered yet
    bool gave_up = false;  // nesting is too deep: skip the rest of the declaration
    bool in_function = false;
    int loops = 0; // number of loops around the statement

  private:
    std::vector<Token> tokens_;
    Arena& arena_;
    size_t at_ = 0;
    int depth_ = 0;
};

} // namespace sonde
