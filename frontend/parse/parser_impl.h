// The parser's state and its functions, shared by parse_expr.cc, parse_stmt.cc and parse_decl.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/lex/token.h"
#include "frontend/parse/parser.h"

namespace sonde {

class Parser {
  public:
    Parser(std::vector<Token> tokens, FileId file, bool tapset, const ParseOptions& options, Arena& arena,
           Diagnostics& diags)
        : tokens_(std::move(tokens)), file_(file), tapset_(tapset), options_(options), arena_(arena), diags_(diags) {}

    ast::File* parse_file();
    std::vector<ast::ProbePoint*> parse_points_only();

  private:
    // Nested parentheses, blocks and operators beyond this are refused, so that no script can exhaust our stack.
    static constexpr int max_depth = 400;

    struct DepthGuard {
        explicit DepthGuard(Parser& p) : parser(p) { parser.depth_++; }
        ~DepthGuard() { parser.depth_--; }
        Parser& parser;
    };

    // ---- tokens
    const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
    bool at_end() const { return peek().kind == TokenKind::End; }
    Token take();
    bool accept(std::string_view op);
    bool accept_keyword(std::string_view word);
    // Reports "expected `op`, got ..." and returns false if it is not there.
    bool expect(std::string_view op, std::string_view where);
    std::optional<Token> expect_name(std::string_view what);
    // Reports once per error: while failed_, further reports are dropped until recovery.
    void fail(Range range, const std::string& message);
    void fail_expected(std::string_view what);
    bool too_deep();
    Range since(Range begin) const;

    // ---- expressions: null after an error
    ast::Expr* parse_expr();
    ast::Expr* parse_assignment();
    ast::Expr* parse_ternary();
    ast::Expr* parse_binary(int level);
    ast::Expr* parse_in(ast::Expr* left);
    ast::Expr* parse_unary();
    ast::Expr* parse_postfix();
    ast::Expr* parse_primary();
    ast::Expr* parse_bracket_in();
    ast::Expr* parse_name();
    ast::Expr* parse_print(const Token& name);
    ast::Expr* parse_target(const Token& name);
    ast::Expr* parse_at(const Token& name);
    ast::StatisticExpr* parse_statistic(const Token& name, ast::Extractor extractor);
    bool parse_components(std::vector<ast::Component>& components, bool brackets);
    ast::Expr* with_components(ast::Expr* base);
    bool parse_arguments(std::vector<ast::Expr*>& args);
    std::optional<int64_t> parse_literal_number();

    // ---- statements
    ast::Stmt* parse_stmt();
    ast::BlockStmt* parse_block();
    ast::Stmt* parse_foreach(Range begin);
    ast::Stmt* parse_for(Range begin);
    ast::Stmt* parse_loop_body();
    void recover_in_block();

    // ---- declarations
    void parse_declaration(ast::File& file);
    void parse_globals(ast::File& file, bool is_private);
    void parse_function(ast::File& file, bool is_private);
    void parse_probe(ast::File& file);
    bool parse_points(std::vector<ast::ProbePoint*>& points);
    bool parse_point(std::vector<ast::ProbePoint*>& points);
    bool parse_component_list(std::vector<std::vector<ast::PointComponent>>& alternatives);
    bool parse_component(ast::PointComponent& component);
    void recover_at_declaration();

    std::vector<Token> tokens_;
    FileId file_;
    bool tapset_;
    const ParseOptions& options_;
    Arena& arena_;
    Diagnostics& diags_;
    size_t at_ = 0;
    int depth_ = 0;
    bool failed_ = false;
    bool in_function_ = false;
    int loops_ = 0;
};

} // namespace sonde
