// Builds the HIR of one function or handler from its trees.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/sema/analyzer.h"

namespace sonde {

class BodyBuilder {
  public:
    // `point` is null in functions. `locals` receives what the body declares.
    BodyBuilder(Analyzer& analyzer, FileId file, std::vector<hir::Local*>& locals, const ResolvedPoint* point,
                hir::Handler* handler, hir::Function* function)
        : a_(analyzer), file_(file), locals_(locals), point_(point), handler_(handler), function_(function) {}

    hir::Local* declare(const std::string& name, Range range);
    // Statements of a block, appended to `out`; names are looked up from `file`.
    void build_block(const ast::BlockStmt& block, FileId file, hir::Block& out);
    hir::Expr* build_condition(const ast::Expr& expr, FileId file);
    bool returns_value() const { return returns_value_; }

  private:
    // Expressions: never null; an error gives a constant 0 so that analysis goes on.
    hir::Expr* build(const ast::Expr& expr);
    hir::Expr* build_name(const ast::NameExpr& expr);
    hir::Expr* build_lvalue(const ast::Expr& expr);
    hir::Expr* build_binary(const ast::BinaryExpr& expr);
    hir::Expr* build_assign(const ast::AssignExpr& expr, bool value_unused);
    hir::Expr* build_incdec(const ast::IncDecExpr& expr, bool value_unused);
    hir::Expr* build_call(const ast::CallExpr& expr);
    hir::Expr* build_print(const ast::PrintExpr& expr);
    hir::Expr* build_statistic(const ast::StatisticExpr& expr);
    hir::Expr* build_target(const ast::TargetExpr& expr, bool address);
    hir::Expr* build_entry(const ast::EntryExpr& expr);
    hir::Expr* build_at(const ast::AtOperatorExpr& expr);
    // `x` in `x <<< 1` and `@count(x)`: a global scalar or element.
    hir::Expr* build_stats_source(const ast::Expr& expr);
    void set_histogram(hir::Expr& source, const ast::StatisticExpr& expr, plan::StatsNeeds& needs);
    hir::Global* array(const std::string& name, Range range);
    std::vector<hir::Expr*> build_keys(const std::vector<ast::Expr*>& keys, bool wildcards, const hir::Global& array,
                                       Range range);
    bool is_defined(const ast::Expr& expr);
    // The value, when translation already knows it: dead branches are not looked at.
    std::optional<bool> known(const ast::Expr& expr);
    hir::Expr* effect(const ast::Expr& expr); // an expression whose value is not used
    hir::Expr* zero(Range range) { return make<hir::ConstLong>(range, 0); }

    hir::Stmt* build_stmt(const ast::Stmt& stmt);
    hir::Stmt* build_foreach(const ast::ForeachStmt& stmt);
    hir::Stmt* build_delete(const ast::DeleteStmt& stmt);
    void append(const std::vector<ast::Stmt*>& stmts, hir::Block& out);
    Binder binder();

    template <typename T, typename... Args> T* make(Args&&... args) {
        return a_.arena_.make<T>(std::forward<Args>(args)...);
    }

    Analyzer& a_;
    FileId file_;
    std::vector<hir::Local*>& locals_;
    const ResolvedPoint* point_;
    hir::Handler* handler_;
    hir::Function* function_;
    std::map<std::string, hir::Local*> names_;
    bool inside_entry_ = false;
    bool returns_value_ = false;
};

} // namespace sonde
