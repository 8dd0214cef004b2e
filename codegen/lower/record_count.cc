// Finds out whether one run of a handler can send more than one record.
//
// If it can, the records are collected and sent together, so that output of other handlers does not come in between.
// This takes a frame. A handler that sends at most one record does not need it.
//
// Only the numbers 0, 1 and "several" matter, so counting stops at 2. A statement in a loop counts as several. Of the
// two branches of an `if`, only the larger number counts:
//
//     if (x) println(1) else println(2)             1
//     println(1); if (x) println(2)                 2
//     foreach (k in a) println(k)                   2
//     println(sprintf("%d", f()))                   1 and those of f()
//
// The result may be too large, which costs only time. It must not be too small.
#include "codegen/lower/record_count.h"
#include "frontend/hir/walk.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace sonde {
namespace {

constexpr unsigned several = 2; // counting stops here

class Counter {
  public:
    unsigned count(const hir::Expr* root) {
        unsigned out = 0;
        if (root)
            for_each_expr(*root, [&](const hir::Expr& expr) { out += of_one(expr); });
        return std::min(out, several);
    }
    // The largest number of records that a path can send. A path that ends early also counts the statements after its
    // end.
    unsigned count(const hir::Stmt* stmt) {
        using namespace hir;
        if (!stmt)
            return 0;
        unsigned out = 0;
        switch (stmt->kind) {
        case StmtKind::Block:
            for (const Stmt* one : as<Block>(*stmt).body)
                out += count(one);
            break;
        case StmtKind::If:
            out = count(as<If>(*stmt).condition) +
                  std::max(count(as<If>(*stmt).then_body), count(as<If>(*stmt).else_body));
            break;
        case StmtKind::Try:
            out = count(as<Try>(*stmt).body) + count(as<Try>(*stmt).handler);
            break;
        case StmtKind::Loop:
        case StmtKind::Foreach:
            for_each_expr(*stmt, [&](const Expr& expr) { out += several * of_one(expr); });
            break;
        default:
            for_each_expr(*stmt, [&](const Expr& expr) { out += of_one(expr); });
            break;
        }
        return std::min(out, several);
    }

  private:
    // Counts the expression itself, without its operands.
    unsigned of_one(const hir::Expr& expr) {
        switch (expr.kind) {
        case hir::ExprKind::Print:
            return !hir::as<hir::Print>(expr).to_string;
        case hir::ExprKind::Intrinsic:
            return hir::as<hir::Intrinsic>(expr).facts.sends;
        case hir::ExprKind::Call:
            return of_function(*hir::as<hir::Call>(expr).callee);
        default:
            return 0;
        }
    }
    unsigned of_function(const hir::Function& function) {
        auto [entry, fresh] = functions_.try_emplace(&function, 0);
        if (!fresh)
            return entry->second;
        unsigned sent = count(function.body);
        if (function.recursive)
            sent = std::min(sent * several, several);
        return functions_[&function] = sent;
    }
    std::unordered_map<const hir::Function*, unsigned> functions_; // 0 while a function is being visited
};

} // namespace

bool sends_several_records(const hir::Handler& handler) { return Counter().count(handler.body) >= several; }

} // namespace sonde
