// The analysis' shared state. One Analyzer per translation; its functions are spread by topic over expand.cc (aliases),
// build.cc (expressions), build_stmt.cc (statements, functions, handlers), infer.cc (types), usage.cc (who touches
// what) and check.cc.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/sema/sema.h"

namespace sonde {

// A probe point behind all aliases, with the pieces of body that the aliases add.
struct ExpandedPoint {
    ast::ProbePoint point; // without conditions
    const ast::ProbePoint* written = nullptr;
    struct Piece {
        const ast::BlockStmt* block;
        FileId file; // where its names are looked up
    };
    std::vector<Piece> prologues; // in order of execution
    std::vector<Piece> epilogues; // in order of execution
    struct Condition {
        const ast::Expr* expr;
        FileId file;
    };
    std::vector<Condition> conditions;
};

class Analyzer {
  public:
    Analyzer(const std::vector<const ast::File*>& files, Library& library, ProbeEnvironment& env,
             const SemaOptions& options, Arena& arena, Diagnostics& diags);

    hir::Program* run();

    // Expands one point as written; reports unknown names and alias loops.
    std::vector<ExpandedPoint> expand(const ast::ProbePoint& point, FileId file);
    // Resolves a comma list with the meaning of `?` and `!`.
    struct Resolved {
        ExpandedPoint expanded;
        ResolvedPoint point;
    };
    std::vector<Resolved> resolve(const std::vector<ast::ProbePoint*>& points, FileId file);

  private:
    friend class BodyBuilder;
    friend class Inference;

    struct FunctionEntry {
        const ast::Function* ast = nullptr;
        FileId file = 0;
        hir::Function* hir = nullptr;
    };
    struct GlobalEntry {
        const ast::Global* ast = nullptr;
        FileId file = 0;
        hir::Global* hir = nullptr;
    };

    // ---- names (names.cc)
    void add_file(const ast::File& file);
    // The function to call, or null after a report. Library files are pulled in as needed.
    FunctionEntry* find_function(const std::string& name, size_t arity, FileId from, Range range);
    hir::Global* find_global(const std::string& name, FileId from);
    std::vector<std::string> all_function_names() const;
    void apply_overrides();

    // ---- expansion (expand.cc)
    void expand_into(const ast::ProbePoint& point, FileId file, ExpandedPoint base, std::vector<std::string>& chain,
                     std::vector<ExpandedPoint>& out);

    // ---- bodies (build_stmt.cc)
    void build_probe(const ast::Probe& probe, FileId file);
    hir::Handler* build_handler(const ast::Probe& probe, FileId file, const Resolved& resolved, bool keep);
    hir::Function* instantiate(FunctionEntry& entry);
    void build_pending_functions();

    // ---- after all bodies are built
    void infer();           // infer.cc
    void analyze_usage();   // usage.cc
    void check_foreach();   // check.cc
    void order_functions(); // usage.cc

    const std::vector<const ast::File*>& files_;
    Library& library_;
    ProbeEnvironment& env_;
    const SemaOptions& options_;
    Arena& arena_;
    Diagnostics& diags_;

    hir::Program* program_ = nullptr;
    std::set<const ast::File*> added_files_;
    std::map<std::string, std::vector<FunctionEntry*>> functions_;
    std::map<std::string, std::vector<GlobalEntry*>> globals_;
    std::deque<FunctionEntry> function_entries_;
    std::deque<GlobalEntry> global_entries_;
    std::vector<std::pair<const ast::Alias*, FileId>> aliases_;
    std::deque<FunctionEntry*> pending_;
    std::vector<hir::Handler*> never_handlers_; // type-checked, not run
    // Which locals were assigned somewhere, and where each slot's type was fixed (Local*, Global*, Function* -> place).
    std::set<const hir::Local*> assigned_;
    std::set<const hir::Local*> read_;
    std::unordered_map<const void*, Range> fixed_at_;
};

// True if the tree mentions something whose meaning depends on the probe point (`$x`, @defined, @entry ...).
bool depends_on_point(const ast::Stmt& stmt);
bool depends_on_point(const ast::Expr& expr);

// Calls `visit` for every expression in it, itself first, and for statements in them.
void for_each_expr(const hir::Stmt& stmt, const std::function<void(const hir::Expr&)>& visit);
void for_each_expr(const hir::Expr& expr, const std::function<void(const hir::Expr&)>& visit);
void for_each_stmt(const hir::Stmt& stmt, const std::function<void(const hir::Stmt&)>& visit);

} // namespace sonde
