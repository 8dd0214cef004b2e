// Aliases: from the probe points of a script to the points of probe kinds that they stand for.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "frontend/sema/context.h"
#include "frontend/sema/names.h"

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

class Expander {
  public:
    Expander(SemaContext& context, Names& names) : c_(context), names_(names) {}

    struct Resolved {
        const Expansion* expansion; // the Expander's; shared by all points that one alias-free point resolves to
        ResolvedPoint point;
    };
    // Resolves a comma list through all aliases, with the meaning of `?` and `!`.
    std::vector<Resolved> resolve(const std::vector<ast::ProbePoint*>& points, FileId file);

  private:
    struct AliasUse; // a point on its way through aliases
    void resolve_point_into(const ast::ProbePoint& point, const AliasUse& use, std::vector<Resolved>& out);
    bool resolve_alias(const ast::ProbePoint& point, const AliasUse& use, bool with_suffix, std::vector<Resolved>& out);
    void resolve_pattern(const ast::ProbePoint& pattern, const AliasUse& use, std::vector<Resolved>& out);
    void resolve_kind(const ast::ProbePoint& point, const AliasUse& use, std::vector<Resolved>& out); // no alias
    void name_found(Expansion& expansion, const ast::ProbePoint& pattern, const ast::ProbePoint& found);
    static void drop_fine_timers(std::vector<Resolved>& out, size_t first);
    void drop_second_calls(std::vector<Resolved>& out, size_t first);
    void report_unknown_point(const ast::ProbePoint& point);
    void check_condition(const ast::Expr& expr, FileId file);

    SemaContext& c_;
    Names& names_;
    std::deque<Expansion> expansions_;
};

} // namespace sonde
