// The parser's state and its functions, shared by parser.cc, parse_expr.cc, parse_target.cc, parse_stmt.cc and
// parse_decl.cc.
//
// A function that returns a node returns null after an error; the error is reported then, and `failed_` is set until
// somebody recovers. What is wrong but does not hinder reading on is reported without that.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "frontend/lex/token.h"
#include "frontend/parse/parser.h"

namespace sonde {

constexpr const char* no_embedded_code = "embedded C code cannot run in BPF";

class Parser {
  public:
    Parser(std::vector<Token> tokens, FileId file, const ParseOptions& options, Arena& arena, Diagnostics& diags)
        : tokens_(std::move(tokens)), file_(file), options_(options),
          privileged_(options.privileged || diags.sources().is_tapset(file)), arena_(arena), diags_(diags) {}

    ast::File* parse_file();
    std::vector<ast::ProbePoint*> parse_points_only();
    const ast::TargetExpr* parse_target_only();

  private:
    struct DepthGuard {
        explicit DepthGuard(Parser& p) : parser(p) { parser.depth_++; }
        ~DepthGuard() { parser.depth_--; }
        Parser& parser;
    };

    // ---- tokens: references stay good, the vector does not change
    const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
    const Token& take();
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
    std::optional<int64_t> parse_literal_number();
    Range since(Range begin) const; // from there to the last token taken

    // ---- errors: while failed_, further ones are dropped until recovery
    DiagBuilder fail(Range range, const std::string& message);
    DiagBuilder fail_expected(std::string_view what);
    bool too_deep();

    // ---- expressions
    // Makes a node over `children` (null ones are none); null, with an error, if it is too high.
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

    ast::Expr* parse_expr(); // any, with assignments
    ast::Expr* parse_assignment();
    ast::Expr* parse_ternary();
    ast::Expr* parse_binary(int loosest);
    ast::Expr* parse_bracket_in();
    ast::Expr* parse_unary();
    ast::Expr* parse_postfix();
    ast::Expr* parse_primary();
    ast::Expr* parse_name();
    ast::Expr* parse_print(const Token& name);
    bool parse_arguments(std::vector<ast::Expr*>& args, Range open); // after `(`; takes the `)`
    bool parse_keys(std::vector<ast::Expr*>& keys, Range open);      // after `[`; takes the `]`; `*` is a key too
    void check_assignable(const ast::Expr& target, std::string_view op);
    void check_format(const Token& literal);

    // ---- target variables and @operators
    ast::Expr* parse_target(const Token& name);
    ast::Expr* parse_at(const Token& name);
    bool check_age(Range range, std::string_view what, const char* since);
    ast::Expr* parse_var_or_cast(const Token& name);
    ast::Expr* parse_statistic(const Token& name, ast::Extractor extractor);
    void check_statistic(ast::StatisticExpr& statistic, const Token& name);
    void check_operator(const ast::AtOperatorExpr& expr, Range name);
    // ->m, [e], and a trailing $ or $$; `height` becomes that of the highest index
    bool parse_components(std::vector<ast::Component>& components, int& height);
    ast::Expr* with_components(ast::Expr* base);

    // ---- statements
    ast::Stmt* parse_stmt();
    ast::Stmt* parse_body(); // of an if, a loop: a block is no level of its own
    ast::Stmt* parse_loop_body();
    ast::BlockStmt* parse_block();
    ast::Expr* parse_condition(std::string_view keyword);
    ast::Stmt* parse_if(Range begin);
    ast::Stmt* parse_for(Range begin);
    ast::Stmt* parse_foreach(Range begin);
    bool parse_foreach_keys(ast::ForeachStmt& loop);
    bool parse_foreach_collection(ast::ForeachStmt& loop);
    void parse_sort_sign(ast::ForeachStmt& loop, int column);
    ast::Stmt* parse_try(Range begin);
    ast::Stmt* parse_return(Range begin);
    ast::Stmt* parse_delete(Range begin);
    void recover_in_block(size_t began);

    // ---- declarations
    void parse_declaration(ast::File& file);
    void parse_globals(ast::File& file, bool is_private);
    bool parse_global(ast::File& file, bool is_private);
    void parse_function(ast::File& file, bool is_private, Range begin);
    bool parse_type(ast::DeclaredType& type);
    bool parse_params(ast::Function& function);
    bool parse_priority(ast::Function& function);
    bool parse_function_body(ast::Function& function);
    void parse_probe(ast::File& file);
    void parse_alias(ast::File& file, Range begin, std::vector<ast::ProbePoint*> names);
    void refuse_embedded(const Token& token);
    void recover_at_declaration();

    // ---- probe points: alternatives are expanded into all their combinations
    using Components = std::vector<ast::PointComponent>;
    bool parse_points(std::vector<ast::ProbePoint*>& points);
    bool parse_point(std::vector<ast::ProbePoint*>& points);
    bool parse_component_list(std::vector<Components>& alternatives);
    bool multiply(std::vector<Components>& heads, const std::vector<Components>& tails);
    bool parse_component(ast::PointComponent& component);

    std::vector<Token> tokens_;
    FileId file_;
    const ParseOptions& options_;
    bool privileged_;
    Arena& arena_;
    Diagnostics& diags_;
    size_t at_ = 0;
    int depth_ = 0;
    bool failed_ = false;
    bool gave_up_ = false; // nested too deep: what is left of the declaration is skipped
    bool in_function_ = false;
    int loops_ = 0;
};

} // namespace sonde
