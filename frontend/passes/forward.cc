// Removes copies of strings that already exist in memory.
//
// An alias sets variables such as `name` to a literal, an entry of a table of names, or the text of the probe point.
// These strings are constants in the program. Copying them into a local costs instructions, and the local needs memory
// (MAXSTRINGLEN bytes), which the handler must claim for each run.
//
// So this pass makes a local a synonym for such a string if it is assigned exactly once, at the beginning of the body
// and before its first use (hir::Local::stands_for). The assignment disappears. A handler whose strings are all of this
// kind claims no memory.
//
// This would break if the expression could change between the assignment and the use. Therefore only literals, point
// texts and table entries with a fixed index qualify (is_fixed_text()).
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "frontend/hir/walk.h"
#include "frontend/passes/passes.h"

namespace sonde {
namespace {

// Whether every evaluation within one run of the handler gives the same number.
bool is_fixed_number(const hir::Expr& expr) {
    using hir::ExprKind;
    switch (expr.kind) {
    case ExprKind::ConstLong:
        return true;
    case ExprKind::Argument:
        return hir::as<hir::Argument>(expr).number >= 0;
    case ExprKind::Retype:
        return is_fixed_number(*hir::as<hir::Retype>(expr).operand);
    case ExprKind::Intrinsic:
        return hir::as<hir::Intrinsic>(expr).facts.is_stable && hir::as<hir::Intrinsic>(expr).args.empty();
    case ExprKind::Binary: {
        const auto& binary = hir::as<hir::Binary>(expr);
        const bool can_fail = binary.op == hir::BinaryOp::Div || binary.op == hir::BinaryOp::Mod;
        return !can_fail && is_fixed_number(*binary.left) && is_fixed_number(*binary.right);
    }
    case ExprKind::Ternary: {
        const auto& choice = hir::as<hir::Ternary>(expr);
        return is_fixed_number(*choice.condition) && is_fixed_number(*choice.then_value) &&
               is_fixed_number(*choice.else_value);
    }
    default:
        return false;
    }
}

bool is_fixed_text(const hir::Expr& expr) {
    if (expr.kind == hir::ExprKind::ConstString)
        return true;
    if (expr.kind != hir::ExprKind::Intrinsic)
        return false;
    const auto& intrinsic = hir::as<hir::Intrinsic>(expr);
    return hir::is_point_text(intrinsic) || (intrinsic.facts.in_table && is_fixed_number(*intrinsic.args[1]));
}

class Forwarding {
  public:
    explicit Forwarding(hir::Handler& handler) : handler_(handler) {}

    void run() {
        count_writes(*handler_.body);
        begin(*handler_.body);
        drop_forwarded(handler_.locals, 0);
    }

  private:
    static hir::Local* written(const hir::Expr& expr) {
        if (expr.kind != hir::ExprKind::Assign)
            return nullptr;
        const hir::Expr& target = *hir::as<hir::Assign>(expr).target;
        return target.kind == hir::ExprKind::LocalRef ? hir::as<hir::LocalRef>(target).local : nullptr;
    }

    void count_writes(const hir::Stmt& stmt) {
        for_each_expr(stmt, [&](const hir::Expr& expr) {
            if (hir::Local* local = written(expr))
                writes_[local]++;
        });
        for_each_stmt(stmt, [&](const hir::Stmt& inner) {
            constexpr int many = 2;
            if (inner.kind == hir::StmtKind::Try && hir::as<hir::Try>(inner).message)
                writes_[hir::as<hir::Try>(inner).message] += many;
            if (inner.kind == hir::StmtKind::Foreach) {
                for (const hir::Local* key : hir::as<hir::Foreach>(inner).keys)
                    writes_[key] += many;
                writes_[hir::as<hir::Foreach>(inner).value] += many;
            }
        });
    }

    // Forwards the assignments at the beginning of the block. Returns false at the first statement of another kind:
    // from there on, control flow may skip an assignment.
    bool begin(hir::Block& block) {
        std::unordered_set<const hir::Stmt*> gone;
        bool more = true;
        for (hir::Stmt* stmt : block.body) {
            if (stmt->kind == hir::StmtKind::Block)
                more = begin(static_cast<hir::Block&>(*stmt));
            else if (stmt->kind != hir::StmtKind::Expression)
                more = false;
            else if (forward(*hir::as<hir::ExprStmt>(*stmt).expr))
                gone.insert(stmt);
            if (!more)
                break;
        }
        std::erase_if(block.body, [&](const hir::Stmt* stmt) { return gone.contains(stmt); });
        return more;
    }

    bool forward(const hir::Expr& expr) {
        hir::Local* local = written(expr);
        if (local && local->type == hir::ValueType::String && writes_[local] == 1 && !seen_.contains(local)) {
            const auto& assign = hir::as<hir::Assign>(expr);
            if (!assign.concat && is_fixed_text(*assign.value)) {
                local->stands_for = assign.value;
                return true;
            }
        }
        for_each_expr(expr, [&](const hir::Expr& one) {
            if (one.kind == hir::ExprKind::LocalRef)
                seen_.insert(hir::as<hir::LocalRef>(one).local);
        });
        return false;
    }

    hir::Handler& handler_;
    std::unordered_map<const hir::Local*, int> writes_;
    std::unordered_set<const hir::Local*> seen_; // read or written before
};

} // namespace

void drop_forwarded(std::vector<hir::Local*>& locals, size_t first) {
    std::erase_if(locals, [](const hir::Local* local) { return local->stands_for != nullptr; });
    for (size_t i = 0; i < locals.size(); i++)
        locals[i]->index = static_cast<uint32_t>(first + i);
}

void forward_texts(hir::Program& program) {
    for (hir::Handler* handler : program.handlers)
        Forwarding(*handler).run();
}

} // namespace sonde
