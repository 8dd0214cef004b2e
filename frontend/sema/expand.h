// Expands aliases: from the probe points of a script to the points of probe kinds.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "frontend/sema/context.h"
#include "frontend/sema/names.h"

namespace sonde {

// The parts that the aliases on the way to a probe point add to the handler.
struct Expansion {
    struct Piece {
        const ast::BlockStmt* block;
        FileId file; // the file whose names are visible in the block
    };
    struct Condition {
        const ast::Expr* expr;
        FileId file;
    };
    std::vector<Piece> prologues; // in order of execution
    std::vector<Piece> epilogues; // in order of execution
    std::vector<Condition> conditions;
    std::string pn;                         // pn(): the point as written, or the one that a pattern has found
    const ast::ProbePoint* alias = nullptr; // the alias's point, if pn names an alias
};

// Resolves probe points. Its expansions live as long as the Expander; handlers refer to them while they are built.
class Expander {
  public:
    Expander(SemaContext& context, Names& names) : c_(context), names_(names) {}

    // One resolved point.
    struct Resolved {
        // Owned by the Expander; shared by all points that come from one point of a probe kind.
        const Expansion* expansion;
        ResolvedPoint point;
    };
    // Resolves a list of points through all aliases, and applies `?` and `!`. Reports errors.
    std::vector<Resolved> resolve(const std::vector<ast::ProbePoint*>& points, FileId file);

  private:
    struct AliasUse; // the state of a point while its aliases are expanded
    void resolve_point_into(const ast::ProbePoint& point, const AliasUse& use, std::vector<Resolved>& out);
    bool resolve_alias(const ast::ProbePoint& point, const AliasUse& use, bool with_suffix, std::vector<Resolved>& out);
    void resolve_pattern(const ast::ProbePoint& pattern, const AliasUse& use, std::vector<Resolved>& out);
    void resolve_kind(const ast::ProbePoint& point, const AliasUse& use, std::vector<Resolved>& out); // not an alias
    void name_found(Expansion& expansion, const ast::ProbePoint& pattern, const ast::ProbePoint& found);
    // `found`: what the point, which is no pattern, stands for.
    void warn_of_replaced_call(const ast::ProbePoint& written, std::span<const Resolved> found);
    static void drop_redundant(std::vector<Resolved>& out, size_t first); // of a pattern's points, from `first` on
    void report_unknown_point(const ast::ProbePoint& point);
    void check_condition(const ast::Expr& expr, FileId file);

    SemaContext& c_;
    Names& names_;
    std::deque<Expansion> expansions_;
};

} // namespace sonde
