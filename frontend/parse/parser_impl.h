// The parser's context: the tokens and where reading stands, errors, and how nodes are made. The grammar is free
// functions over it, by topic: parse_expr, parse_target, parse_stmt, parse_decl and parse_point.
//
// A function that returns a node returns null after an error; the error is reported then, and `failed` is set until
// somebody recovers. What is wrong but does not hinder reading on is reported without that.
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

class Parser {
  public:
    Parser(std::vector<Token> tokens, FileId file, const ParseOptions& options, Arena& arena, Diagnostics& diags)
        : file(file), options(options), diags(diags), privileged(options.privileged || diags.sources().is_tapset(file)),
          tokens_(std::move(tokens)), arena_(arena) {}

    // One level of nesting, while it lives; `too_deep` is asked after that.
    struct DepthGuard {
        explicit DepthGuard(Parser& p) : parser(p) { parser.depth_++; }
        ~DepthGuard() { parser.depth_--; }
        Parser& parser;
    };

    // ---- tokens: references stay good, the vector does not change
    const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
    // The token taken last; one must have been.
    const Token& last() const { return tokens_[at_ - 1]; }
    const Token& take();
    size_t taken() const { return at_; } // how many
    bool at_end() const { return peek().kind == TokenKind::End; }
    // A keyword that begins a declaration, and is not a component of a probe point (`kernel.function`).
    bool at_declaration() const;
    bool accept(std::string_view op);
    bool accept_keyword(std::string_view word);
    // Reports "expected `op` WHERE, got ..." and returns false if it is not there.
    bool expect(std::string_view op, std::string_view where);
    // The same for what closes the bracket at `open`.
    bool expect_close(std::string_view op, Range open, std::string_view where);
    // Null after an error.
    const Token* expect_name(std::string_view what);
    // A number with or without `-`; nothing after an error.
    std::optional<int64_t> expect_number();
    Range since(Range begin) const; // from there to the last token taken

    // ---- errors: while `failed`, further ones are dropped until recovery
    DiagBuilder fail(Range range, const std::string& message);
    DiagBuilder fail_expected(std::string_view what);
    bool too_deep();
    // Reports embedded C code outside privileged text; whether it did. In privileged text only its use is an error.
    bool refuse_embedded(const Token& token);

    // ---- nodes
    template <typename T, typename... Args> T* make(Args&&... args) {
        return arena_.make<T>(std::forward<Args>(args)...);
    }
    // Finishes a node over `children` (null ones are none); null, with an error, if it is too high.
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
    bool too_high(const ast::Expr& expr);

    const FileId file;
    const ParseOptions& options;
    Diagnostics& diags;
    const bool privileged; // library text or -g
    bool failed = false;   // an error was reported from which nobody recovered yet
    bool gave_up = false;  // nested too deep: what is left of the declaration is skipped
    bool in_function = false;
    int loops = 0; // around the statement

  private:
    std::vector<Token> tokens_;
    Arena& arena_;
    size_t at_ = 0;
    int depth_ = 0;
};

} // namespace sonde
