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
    friend class Inference;

    // What a body mentions of the probe point that runs it, itself or in functions that it calls.
    struct Reach {
        bool point = false; // `$x`, @defined ...: it has to be built for each point
        std::vector<const ast::TargetExpr*> targets;
        bool writes = false;  // some of them are assigned to
        bool address = false; // `&$x`: a variable has to be in memory
        bool registers = false;
    };
    struct FunctionEntry {
        const ast::Function* ast = nullptr;
        FileId file = 0;
        hir::Function* hir = nullptr;              // the one for all callers; null until called
        std::optional<Reach> reach = std::nullopt; // once asked for
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
    struct GlobalEntry {
        const ast::Global* ast = nullptr;
        FileId file = 0;
        hir::Global* hir = nullptr;
    };
    // Whether a global is an array, and the place that says so.
    struct Shape {
        enum Kind { Open, Scalar, Array } kind = Open;
        Range range;
    };

    // ---- names (names.cc)
    void add_file(const ast::File& file);
    void add_global(const ast::Global& global, FileId file);
    // All that could be meant, in the order in which `next` goes through them.
    std::vector<FunctionEntry*> overloads(const std::string& name, size_t arity, FileId from);
    // True if it is a function of SystemTap's that cannot be, which is then said.
    bool report_refused(const std::string& name, Range range);
    // The function to call, or null after a report. Library files are pulled in as needed.
    FunctionEntry* find_function(const std::string& name, size_t arity, FileId from, Range range);
    void pull_in_function(const std::string& name); // from the library
    // Null if there is none; `of_library`: only the library's count.
    hir::Global* find_global(const std::string& name, FileId from, bool of_library = false);
    std::vector<std::string> function_names() const;
    std::vector<std::string> global_names() const;
    void apply_overrides();
    void mark_settable_globals();
    // Fixes what the global is, or says that it is the other one already; false then.
    bool use_as(hir::Global& global, Shape::Kind kind, Range range);

    // ---- expansion (expand.cc)
    struct AliasUse; // a point on its way through aliases
    void resolve_point_into(const ast::ProbePoint& point, const AliasUse& use, std::vector<Resolved>& out);
    bool resolve_alias(const ast::ProbePoint& point, const AliasUse& use, bool with_suffix, std::vector<Resolved>& out);
    void resolve_pattern(const ast::ProbePoint& pattern, const AliasUse& use, std::vector<Resolved>& out);
    void resolve_kind(const ast::ProbePoint& point, const AliasUse& use, std::vector<Resolved>& out); // no alias
    void name_found(Expansion& expansion, const ast::ProbePoint& pattern, const ast::ProbePoint& found);
    void drop_second_calls(std::vector<Resolved>& out, size_t first);
    void pull_in_aliases(const std::string& first_component);
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

    // ---- after all bodies are built
    void infer();              // infer.cc
    void compile_regexes();    // check.cc
    void check_foreach();      // check.cc
    void check_side_effects(); // check.cc
    void analyze_usage();      // usage.cc
    void finish_histograms();  // usage.cc
    void order_functions();    // usage.cc

    const std::vector<const ast::File*>& files_;
    SemaContext c_;
    Notes notes_;

    hir::Program* program_ = nullptr;
    std::set<const ast::File*> added_files_;
    std::map<std::string, std::vector<FunctionEntry*>> functions_;
    std::map<std::string, std::vector<GlobalEntry*>> globals_;
    std::deque<FunctionEntry> function_entries_;
    std::deque<GlobalEntry> global_entries_;
    std::vector<std::pair<const ast::Alias*, FileId>> aliases_;
    std::deque<Expansion> expansions_;
    std::deque<FunctionEntry*> pending_;
    std::deque<Instance> instances_;
    std::map<std::string, hir::Function*> readers_; // Binder::define, by hir::identity()
    std::set<const hir::Global*> overridden_;       // -G

    std::map<const hir::Global*, Shape> shapes_;
    std::deque<std::pair<const ast::Probe*, FileId>> library_probes_; // of the files that have come in, to be built
};

} // namespace sonde
