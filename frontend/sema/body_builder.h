// Builds the HIR of one function or handler from its trees.
//
// Names are resolved here, types are left open (infer.cc). What translation already knows, `@defined` and what follows
// from it, decides which branches are looked at at all.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/sema/analyzer.h"

namespace sonde {

class BodyBuilder {
  public:
    // `point` and `handler` are null in functions, `function` is null in handlers. `locals` receives what the body
    // declares.
    BodyBuilder(Analyzer& analyzer, FileId file, std::vector<hir::Local*>& locals, const ResolvedPoint* point,
                hir::Handler* handler, hir::Function* function)
        : a_(analyzer), file_(file), locals_(locals), point_(point), handler_(handler), function_(function) {}

    hir::Local* declare(const std::string& name, Range range);
    void add_parameter(hir::Local& param) {
        names_[param.name] = &param;
        locals_.push_back(&param);
    }
    // Statements of a block, appended to `out`; names are looked up from `file`.
    void build_block(const ast::BlockStmt& block, FileId file, hir::Block& out);
    hir::Expr* build_condition(const ast::Expr& expr, FileId file);
    // Whether the call that has hit counts (.callee); null if each does.
    hir::Expr* build_callers(Range range);
    bool returns_value() const { return returns_value_; }

  private:
    // Expressions (build.cc): never null; an error gives a constant 0 so that the analysis goes on.
    hir::Expr* build(const ast::Expr& expr);
    hir::Expr* build_name(const ast::NameExpr& expr);
    hir::Expr* build_index(const ast::IndexExpr& expr);
    hir::Expr* build_unary(const ast::UnaryExpr& expr);
    hir::Expr* build_binary(const ast::BinaryExpr& expr);
    hir::Expr* build_logical(const ast::BinaryExpr& expr);
    hir::Expr* build_regex(const ast::BinaryExpr& expr);
    hir::Expr* build_ternary(const ast::TernaryExpr& expr);
    hir::Expr* build_assign(const ast::AssignExpr& expr, bool value_unused);
    hir::Expr* build_incdec(const ast::IncDecExpr& expr, bool value_unused);
    hir::Expr* build_call(const ast::CallExpr& expr);
    hir::Expr* call(Analyzer::FunctionEntry& entry, std::vector<hir::Expr*> args, Range range);
    hir::Stmt* build_next_overload(Range range);
    hir::Expr* build_lvalue(const ast::Expr& expr); // null after a report
    hir::Expr* effect(const ast::Expr& expr);       // its value is not used
    hir::Local* find_local(const std::string& name) const;
    // `name[...]` or a scalar `name`; null after a report.
    hir::Global* array(const std::string& name, Range range);
    hir::Global* scalar(const std::string& name, Range range);
    std::vector<hir::Expr*> build_keys(const std::vector<ast::Expr*>& keys, bool wildcards, hir::Global& array,
                                       Range range);
    bool check_key_count(hir::Global& array, size_t count, Range range);

    // Printing and statistics (build_print.cc).
    hir::Expr* build_print(const ast::PrintExpr& expr);
    hir::Expr* build_statistic(const ast::StatisticExpr& expr);
    hir::Expr* build_bucket(const ast::HistIndexExpr& expr);
    // `x` in `x <<< 1` and `@count(x)`: a global scalar or element; null after a report.
    hir::Expr* build_stats_source(const ast::Expr& expr);
    plan::StatsNeeds need_histogram(hir::Expr& source, const ast::StatisticExpr& expr);

    // The probe point's context (build_target.cc).
    Binder binder();
    hir::Expr* build_target(const ast::TargetExpr& expr, bool address);
    hir::Expr* build_address(const ast::AddressOfExpr& expr);
    hir::Expr* build_member(const ast::MemberExpr& expr);
    hir::Expr* build_entry(const ast::EntryExpr& expr);
    hir::Expr* build_at(const ast::AtOperatorExpr& expr);
    hir::Expr* save_at_entry(hir::Expr* expr);
    bool is_defined(const ast::Expr& expr);
    // The value that @defined settles during translation: dead branches are not looked at.
    std::optional<bool> known(const ast::Expr& expr);

    // Statements (build_stmt.cc): null for what does nothing.
    hir::Stmt* build_stmt(const ast::Stmt& stmt);
    hir::Stmt* build_body(const ast::Stmt& stmt); // never null
    hir::Stmt* build_loop(const ast::Stmt& stmt);
    hir::Stmt* build_foreach(const ast::ForeachStmt& stmt);
    bool build_collection(const ast::ForeachStmt& stmt, hir::Foreach& loop);
    hir::Stmt* build_delete(const ast::DeleteStmt& stmt);
    hir::Stmt* build_try(const ast::TryStmt& stmt);
    void append(const std::vector<ast::Stmt*>& stmts, hir::Block& out);
    // A variable that a statement sets. For a global it is a hidden local, and `copies` receives the assignment.
    hir::Local* bind(const std::string& name, Range range, std::vector<hir::Stmt*>& copies);
    hir::Stmt* prepend(const std::vector<hir::Stmt*>& first, hir::Stmt* body);

    hir::Expr* zero(Range range) { return make<hir::ConstLong>(range, 0); }
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
