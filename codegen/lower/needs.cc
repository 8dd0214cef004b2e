// Finds out which memory a handler needs, before it is lowered.
//
// A frame costs time at each hit: a claim with an atomic operation, and a release. Handlers that only count do not need
// one. But the claim is at the handler's beginning, and whether a frame is needed shows only in its statements, or in
// functions that it calls. So this pass walks over all of them first.
//
// The rules follow the lowering. For example, `n["read"]++` needs no frame: the key is a constant that fits on the
// stack. `n[execname()]++` does not need one either, because execname() is written directly into the key
// (needs_no_slot()). `s = execname()` needs a frame.
//
// What would break this: a rule that differs from the lowering. If the lowering takes memory from a frame that was not
// claimed, it would compute an address from a null pointer.
#include "codegen/lower/needs.h"

#include <unordered_set>

#include "codegen/emit/c_code.h"
#include "codegen/lower/key_forms.h"
#include "frontend/hir/walk.h"

namespace sonde {

using hir::ValueType;

namespace {

// The properties of a primitive (frontend/hir/primitives.def); all false for other expressions.
const hir::Primitive& facts_of(const hir::Expr& expr) {
    static constexpr hir::Primitive nothing;
    return expr.kind == hir::ExprKind::Intrinsic ? hir::as<hir::Intrinsic>(expr).facts : nothing;
}

// Whether the expression needs the memory for groups of a regular expression: it stores them, or reads them.
bool uses_matches(const hir::Expr& expr) {
    if (expr.kind == hir::ExprKind::Regex)
        return hir::as<hir::Regex>(expr).program->captures;
    return facts_of(expr).needs_groups;
}

// C needs a frame for the text of an error, and for its own strings.
bool c_needs_frame(const PlanState& state, const hir::Function& function) {
    if (!function.c_code.range.valid() || !state.facts.c_code)
        return false;
    const CFunction& c_code = state.facts.c_code->functions.at(function.name);
    return c_code.uses_text || c_code.slots > 0;
}

// Finds out what a handler needs. Strings, statistics and most keys with strings are too large for the 512 bytes of a
// BPF stack. A foreach needs memory for the elements.
class NeedsWalk {
  public:
    NeedsWalk(const PlanState& state, bool in_kernel) : state_(state), plan_(state.plan), in_kernel_(in_kernel) {}
    void visit(const hir::Expr& root) {
        for_each_expr(root, [&](const hir::Expr& expr) { visit_one(expr); });
    }
    void visit(const hir::Stmt& body) {
        // Statements first, because they mark the keys that need no memory.
        for_each_stmt(body, [&](const hir::Stmt& stmt) { visit_one(stmt); });
        for_each_expr(body, [&](const hir::Expr& expr) { visit_one(expr); });
    }
    Needs finish() {
        while (!todo_.empty()) {
            const hir::Function* function = todo_.back();
            todo_.pop_back();
            visit(*function->body);
            out_.frame = out_.frame || function->recursive || c_needs_frame(state_, *function);
        }
        return out_;
    }

  private:
    void visit_one(const hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::Element)
            visit_key(*hir::as<hir::Element>(expr).array, hir::as<hir::Element>(expr).keys);
        if (expr.kind == hir::ExprKind::Contains)
            visit_key(*hir::as<hir::Contains>(expr).array, hir::as<hir::Contains>(expr).keys);
        if (expr.kind == hir::ExprKind::TextNumber)
            in_keys_.insert(hir::as<hir::TextNumber>(expr).text);
        if (expr.kind == hir::ExprKind::Print) {
            for (const hir::Expr* arg : hir::as<hir::Print>(expr).args)
                out_.frame = out_.frame || arg->type != ValueType::Long;
            for (const plan::Directive& d : hir::as<hir::Print>(expr).format.directives)
                out_.frame = out_.frame || d.kind == plan::Directive::Memory;
            out_.frame = out_.frame || (state_.translate.tells_context && !hir::as<hir::Print>(expr).to_string);
        }
        out_.tokens = out_.tokens || facts_of(expr).needs_tokens;
        out_.counter = out_.counter || facts_of(expr).needs_counter;
        out_.stacks = out_.stacks || (in_kernel_ && facts_of(expr).needs_stacks);
        out_.matches = out_.matches || uses_matches(expr);
        out_.frame = out_.frame || facts_of(expr).needs_frame;
        out_.frame = out_.frame || (expr.type == ValueType::String && !in_keys_.count(&expr)) ||
                     expr.kind == hir::ExprKind::Regex || out_.matches || out_.stacks;
        if (expr.kind == hir::ExprKind::Call && seen_.insert(hir::as<hir::Call>(expr).callee).second)
            todo_.push_back(hir::as<hir::Call>(expr).callee);
    }
    void visit_one(const hir::Stmt& stmt) {
        if (stmt.kind == hir::StmtKind::Foreach) {
            out_.frame = true;
            out_.scan = out_.scan || hir::as<hir::Foreach>(stmt).array;
        }
        if (stmt.kind == hir::StmtKind::Delete && !hir::as<hir::Delete>(stmt).keys.empty())
            visit_key(*hir::as<hir::Delete>(stmt).global, hir::as<hir::Delete>(stmt).keys);
        out_.frame = out_.frame || (stmt.kind == hir::StmtKind::Try && hir::as<hir::Try>(stmt).message);
    }
    void visit_key(const hir::Global& array, const std::vector<hir::Expr*>& keys) {
        const plan::Global& global = plan_.globals[array.index];
        if (!is_small_key(global, keys, plan_.max_string)) {
            out_.frame = true;
            return;
        }
        for (size_t i = 0; i < keys.size(); i++)
            if (keys[i] && needs_no_slot(*keys[i], global.keys[i], plan_.max_string))
                in_keys_.insert(keys[i]);
    }

    const PlanState& state_;
    const plan::Plan& plan_;
    const bool in_kernel_;
    Needs out_;
    std::vector<const hir::Function*> todo_;
    std::unordered_set<const hir::Function*> seen_;
    std::unordered_set<const hir::Expr*> in_keys_; // need no memory of their own
};

} // namespace

Needs needs_of(const hir::Handler& handler, const PlanState& state, bool in_kernel) {
    NeedsWalk walk(state, in_kernel);
    walk.visit(*handler.body);
    if (handler.condition)
        walk.visit(*handler.condition);
    for (const hir::Expr* value : handler.entry_values)
        walk.visit(*value);
    return walk.finish();
}

Needs needs_of(const hir::Function& function, const PlanState& state, bool in_kernel) {
    NeedsWalk walk(state, in_kernel);
    walk.visit(*function.body);
    Needs out = walk.finish();
    out.frame = out.frame || c_needs_frame(state, function);
    return out;
}

Needs needs_at_entry(const std::vector<const hir::Expr*>& values, const PlanState& state) {
    NeedsWalk walk(state, true);
    for (const hir::Expr* value : values)
        walk.visit(*value);
    return walk.finish();
}

} // namespace sonde
