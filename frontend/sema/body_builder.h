// Builds the HIR of one function or handler from its trees.
//
// Names are resolved here, types are left open (infer.cc). What translation already knows, `@defined` and what follows
// from it, decides which branches are looked at at all.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/sema/functions.h"

namespace sonde {

class BodyBuilder {
  public:
    // `locals` receives what the body declares. A handler's body:
    BodyBuilder(const Building& in, FileId file, std::vector<hir::Local*>& locals, const ResolvedPoint& point,
                hir::Handler& handler, const ast::BlockStmt& body)
        : in_(in), c_(in.context), known_(in.names), notes_(in.notes), file_(file), locals_(locals), point_(&point),
          handler_(&handler), context_(&handler), user_body_(&body) {}
    // The body of a function for all callers:
    BodyBuilder(const Building& in, FunctionEntry& entry, std::vector<hir::Local*>& locals)
        : in_(in), c_(in.context), known_(in.names), notes_(in.notes), file_(entry.file), locals_(locals),
          entry_(&entry), function_(entry.hir) {}
    // The body of a function for one probe point:
    BodyBuilder(const Building& in, Instance& instance, std::vector<hir::Local*>& locals, const ResolvedPoint& point)
        : in_(in), c_(in.context), known_(in.names), notes_(in.notes), file_(instance.entry->file), locals_(locals),
          point_(&point), context_(instance.handler), entry_(instance.entry), function_(instance.function),
          instance_(&instance), inside_entry_(instance.inside_entry) {}

    hir::Local* declare(const std::string& name, Range range);
    void build_function(const ast::Function& function);
    // Statements of a block, appended to `out`; names are looked up from `file`.
    void build_block(const ast::BlockStmt& block, FileId file, hir::Block& out);
    hir::Expr* build_condition(const ast::Expr& expr, FileId file);
    // Whether the call that has hit counts (.callee); null if each does.
    hir::Expr* build_callers(Range range);

  private:
    // The global that a name means here. The library knows nothing of the script's.
    hir::Global* find_global(const std::string& name) {
        return known_.find_global(name, file_, c_.diags.sources().is_tapset(file_));
    }
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
    hir::Expr* call(FunctionEntry& entry, std::vector<hir::Expr*> args, Range range);
    void add_entry_values(hir::Call& call, const Instance& callee);
    hir::Stmt* build_next_overload(Range range);
    hir::Expr* build_lvalue(const ast::Expr& expr); // null after a report
    // `$value = e` and its like, where the handler decides something; nullopt: it is an ordinary assignment.
    std::optional<hir::Expr*> build_decision(const ast::AssignExpr& expr);
    hir::Expr* effect(const ast::Expr& expr); // its value is not used
    // The local that a name means here. What an alias of the library sets is hidden by the script's own global.
    hir::Local* find_local(const std::string& name);
    // The array `name`; null after a report.
    hir::Global* array(const std::string& name, Range range);
    std::vector<hir::Expr*> build_keys(const std::vector<ast::Expr*>& keys, bool wildcards, hir::Global& array,
                                       Range range);
    bool check_key_count(hir::Global& array, size_t count, Range range);

    // Printing and statistics (build_print.cc).
    hir::Expr* build_print(const ast::PrintExpr& expr);
    hir::Expr* build_statistic(const ast::StatisticExpr& expr);
    hir::Expr* build_bucket(const ast::HistIndexExpr& expr);
    hir::Expr* build_in_histogram(const ast::StatisticExpr& histogram, const ast::Expr& number, Range range);
    // `x` in `x <<< 1` and `@count(x)`: a global scalar or element; null after a report.
    hir::Expr* build_stats_source(const ast::Expr& expr);
    plan::StatsNeeds need_histogram(hir::Expr& source, const ast::StatisticExpr& expr);

    // The probe point's context (build_target.cc).
    Binder binder(Range expr_range);
    hir::Expr* build_target(const ast::TargetExpr& expr, bool address);
    hir::Expr* build_var_at_entry(const ast::TargetExpr& expr);
    // An assignment to what lies in the program's memory.
    hir::Expr* build_store(const ast::Expr& target, const Assignment& assignment);
    hir::Expr* build_address(const ast::AddressOfExpr& expr);
    // Its base with all components: a target's own, or what a script's value points at.
    static ast::TargetExpr as_target(const ast::MemberExpr& expr);
    hir::Expr* build_entry(const ast::EntryExpr& expr);

    // @operators (build_operators.cc).
    struct Operator {
        std::string_view name;
        hir::Expr* (BodyBuilder::*build)(const ast::AtOperatorExpr& expr);
    };
    static const std::vector<Operator>& operators();
    hir::Expr* build_at(const ast::AtOperatorExpr& expr);
    hir::Expr* build_choose_defined(const ast::AtOperatorExpr& expr);
    hir::Expr* build_enum(const ast::AtOperatorExpr& expr);
    hir::Expr* build_enumname(const ast::AtOperatorExpr& expr);
    hir::Expr* build_probewrite(const ast::AtOperatorExpr& expr);
    hir::Expr* build_register(const ast::AtOperatorExpr& expr);
    hir::Expr* build_deref(const ast::AtOperatorExpr& expr);
    hir::Expr* build_perf(const ast::AtOperatorExpr& expr);
    static const std::string& literal(const ast::AtOperatorExpr& expr, size_t index);
    // The program whose enumerators are meant: the argument's, else the probed one. Null after a report.
    // Where enumerations are looked for: in a program or in the kernel; neither after a report.
    // Where enumerators come from: a program, a header or the kernel.
    struct EnumSource {
        std::string name; // for messages
        std::function<std::optional<int64_t>(const std::string&)> value;
        std::function<const Type*(const std::string&)> type;
        std::function<std::vector<std::string>()> names; // for "did you mean"; null: not known
        explicit operator bool() const { return value != nullptr; }
    };
    hir::Expr* build_const(const ast::AtOperatorExpr& expr);
    EnumSource enum_source(const ast::AtOperatorExpr& expr, size_t argument);
    // A local under a name that no script can write.
    hir::Local* hidden(const char* what, Range range);
    hir::Expr* save_at_entry(hir::Expr* expr);
    std::vector<hir::Expr*>& entry_values() { return instance_ ? instance_->entry_values : handler_->entry_values; }
    // A value in entry_values().
    hir::Expr* entry_value(size_t index, const hir::Expr& saved);
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
        return c_.arena.make<T>(std::forward<Args>(args)...);
    }

    Building in_;
    SemaContext& c_;
    Names& known_;
    Notes& notes_;
    FileId file_;
    std::vector<hir::Local*>& locals_;
    const ResolvedPoint* point_ = nullptr;      // null in functions for all callers
    hir::Handler* handler_ = nullptr;           // null in functions
    const hir::Handler* context_ = nullptr;     // the handler, or the one that an instance is for
    FunctionEntry* entry_ = nullptr;            // null in handlers
    hir::Function* function_ = nullptr;         // null in handlers
    Instance* instance_ = nullptr;              // null in handlers and in functions for all callers
    const ast::BlockStmt* user_body_ = nullptr; // handlers: the probe's own, without what aliases add
    std::map<std::string, hir::Local*> names_;
    bool inside_entry_ = false;
    bool returns_value_ = false, returns_nothing_ = false; // `return x`; `return` and `next`
};

} // namespace sonde
