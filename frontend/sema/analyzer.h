// The analysis' shared state. One Analyzer per translation; its functions are spread by topic: names.cc (declarations),
// expand.cc (aliases), share.cc (handlers and who shares one), build*.cc (trees to HIR), infer.cc (types), check.cc and
// usage.cc (what needs types and all bodies).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "frontend/sema/context.h"
#include "frontend/sema/names.h"
#include "frontend/sema/notes.h"
#include "frontend/sema/sema.h"

namespace sonde {

// What the aliases on the way to a probe point add to the handler.
struct Expansion {
    struct Piece {
        const ast::BlockStmt* block;
        FileId file; // where its names are looked up
    };
    struct Condition {
        const ast::Expr* expr;
        FileId file;
    };
    std::vector<Piece> prologues; // in order of execution
    std::vector<Piece> epilogues; // in order of execution
    std::vector<Condition> conditions;
    std::string pn;                         // the point as written, or as a pattern has found it
    const ast::ProbePoint* alias = nullptr; // the same, where it is an alias'
};

class Analyzer {
  public:
    Analyzer(const std::vector<const ast::File*>& files, Library& library, ProbeEnvironment& env,
             const SemaOptions& options, Arena& arena, Diagnostics& diags);

    hir::Program* run();

    struct Resolved {
        const Expansion* expansion; // shared by all points that one alias-free point resolves to
        ResolvedPoint point;
    };
    // Resolves a comma list through all aliases, with the meaning of `?` and `!`.
    std::vector<Resolved> resolve(const std::vector<ast::ProbePoint*>& points, FileId file);

  private:
    friend class BodyBuilder;

    // What a body mentions of the probe point that runs it, itself or in functions that it calls.
    struct Reach {
        bool point = false; // `$x`, @defined ...: it has to be built for each point
        std::vector<const ast::TargetExpr*> targets;
        bool writes = false;  // some of them are assigned to
        bool address = false; // `&$x`: a variable has to be in memory
        bool registers = false;
    };
    // A function whose body means something else from caller to caller: built for one probe point, and for what the
    // arguments point at.
    struct Instance {
        FunctionEntry* entry = nullptr;
        hir::Function* function = nullptr;
        const hir::Handler* handler = nullptr;
        bool inside_entry = false;
        std::vector<const Type*> arguments;
        // What it wants to know from the probed function's entry: arguments of their own after the written ones.
        std::vector<hir::Expr*> entry_values;
        struct OpenCall { // made from inside, before all entry values were known
            hir::Call* call;
            const hir::Function* from;
        };
        std::vector<OpenCall> open_calls;
        bool complete = false;
    };

    // ---- expansion (expand.cc)
    struct AliasUse; // a point on its way through aliases
    void resolve_point_into(const ast::ProbePoint& point, const AliasUse& use, std::vector<Resolved>& out);
    bool resolve_alias(const ast::ProbePoint& point, const AliasUse& use, bool with_suffix, std::vector<Resolved>& out);
    void resolve_pattern(const ast::ProbePoint& pattern, const AliasUse& use, std::vector<Resolved>& out);
    void resolve_kind(const ast::ProbePoint& point, const AliasUse& use, std::vector<Resolved>& out); // no alias
    void name_found(Expansion& expansion, const ast::ProbePoint& pattern, const ast::ProbePoint& found);
    void drop_second_calls(std::vector<Resolved>& out, size_t first);
    void report_unknown_point(const ast::ProbePoint& point);
    void check_condition(const ast::Expr& expr, FileId file);

    // ---- handlers (share.cc)
    void build_probe(const ast::Probe& probe, FileId file);
    hir::Handler* build_handler(const ast::Probe& probe, FileId file, const Resolved& resolved);
    void keep_handler(hir::Handler& handler);
    // A handler that stops processes when they begin, so that their memory can be watched from the first instruction.

    // ---- functions (build_function.cc)
    hir::Function* instantiate(FunctionEntry& entry);
    void build_pending_functions();
    hir::Function* declare_function(const FunctionEntry& entry);
    // The instance for a call from a body of `handler` at `point`.
    Instance& instantiate(FunctionEntry& entry, const ResolvedPoint& point, const hir::Handler& handler,
                          bool inside_entry, std::vector<const Type*> arguments);
    void finish_open_calls(Instance& instance);
    hir::Function* define(hir::Function& function);                    // Binder::define
    hir::Expr* symbol_address(const std::string& symbol, Range range); // Binder::symbol_address
    Reach reach_of(const ast::Stmt& body, FileId file);
    Reach reach_of(const Expansion& expansion, const ast::Probe& probe, FileId file);
    const Reach& reach_of(FunctionEntry& entry);
    bool is_called(const FunctionEntry& entry, const std::set<const hir::Function*>& called) const;
    // Looks at user functions that nobody calls, for errors in their names; says that they are unused; drops them.
    void drop_uncalled_functions();

    const std::vector<const ast::File*>& files_;
    SemaContext c_;
    Notes notes_;
    Names names_;
    std::map<const FunctionEntry*, Reach> reaches_; // once asked for

    hir::Program* program_ = nullptr;
    std::deque<Expansion> expansions_;
    std::deque<FunctionEntry*> pending_;
    std::deque<Instance> instances_;
    std::map<std::string, hir::Function*> readers_; // Binder::define, by hir::identity()
};

} // namespace sonde
