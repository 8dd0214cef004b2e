// Finds strings that come from the script alone. Output must not let a traced program control the user's terminal, so
// sonde escapes control characters in strings (base/terminal_text.h). Scripts, however, may use escape sequences to set
// colours: `red = "\033[31m" ... printf("%s%d\n", red, n)`.
//
// A string comes from the script if it is made of literals and numbers only. A variable qualifies as long as nothing
// else is assigned to it anywhere.
#include "frontend/hir/walk.h"
#include "frontend/passes/passes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace sonde {
namespace {

using hir::Expr;
using hir::ExprKind;
using plan::Directive;

class OwnTexts {
  public:
    explicit OwnTexts(hir::Program& program) : program_(program) {}

    void run() {
        // Start by trusting every variable. Drop those that are assigned a foreign string, until nothing changes.
        do {
            changed_ = false;
            for (const hir::Function* function : program_.functions)
                look_at(*function->body, function);
            for (const hir::Handler* handler : program_.handlers)
                look_at(*handler->body, nullptr);
        } while (changed_);
        for (hir::Function* function : program_.functions)
            mark(*function->body);
        for (hir::Handler* handler : program_.handlers)
            mark(*handler->body);
    }

  private:
    void add_foreign(const void* what) { changed_ = foreign_.insert(what).second || changed_; }

    bool is_own(const Expr& expr) const {
        if (expr.type == hir::ValueType::Long)
            return true;
        if (const void* variable = variable_of(expr))
            return !foreign_.count(variable);
        switch (expr.kind) {
        case ExprKind::ConstString:
            return true;
        case ExprKind::Concat:
            return is_own(*hir::as<hir::Concat>(expr).left) && is_own(*hir::as<hir::Concat>(expr).right);
        case ExprKind::Ternary:
            return is_own(*hir::as<hir::Ternary>(expr).then_value) && is_own(*hir::as<hir::Ternary>(expr).else_value);
        case ExprKind::Assign:
            return is_own(*hir::as<hir::Assign>(expr).target) && is_own(*hir::as<hir::Assign>(expr).value);
        case ExprKind::Call:
            return !foreign_.count(hir::as<hir::Call>(expr).callee);
        case ExprKind::Print: {
            const auto& print = hir::as<hir::Print>(expr);
            auto is_plain = [](const Directive& d) {
                return d.kind == Directive::Literal || d.kind == Directive::Integer || d.kind == Directive::String;
            };
            return std::all_of(print.format.directives.begin(), print.format.directives.end(), is_plain) &&
                   std::all_of(print.args.begin(), print.args.end(), [&](const Expr* arg) { return is_own(*arg); });
        }
        default:
            return false;
        }
    }

    void look_at(const hir::Stmt& body, const hir::Function* function) {
        for_each_expr(body, [&](const Expr& expr) {
            if (expr.kind == ExprKind::Assign && !is_own(*hir::as<hir::Assign>(expr).value)) {
                if (const void* variable = variable_of(*hir::as<hir::Assign>(expr).target))
                    add_foreign(variable);
            } else if (expr.kind == ExprKind::Call) {
                const auto& call = hir::as<hir::Call>(expr);
                for (size_t i = 0; i < call.args.size() && i < call.callee->params.size(); i++)
                    if (!is_own(*call.args[i]))
                        add_foreign(call.callee->params[i]);
            }
        });
        for_each_stmt(body, [&](const hir::Stmt& stmt) {
            switch (stmt.kind) {
            case hir::StmtKind::Foreach:
                for (const hir::Local* key : hir::as<hir::Foreach>(stmt).keys)
                    add_foreign(key);
                if (const hir::Local* value = hir::as<hir::Foreach>(stmt).value)
                    add_foreign(value);
                break;
            case hir::StmtKind::Try:
                if (const hir::Local* message = hir::as<hir::Try>(stmt).message)
                    add_foreign(message);
                break;
            case hir::StmtKind::Return:
                if (const Expr* value = hir::as<hir::Return>(stmt).value; function && value && !is_own(*value))
                    add_foreign(function);
                break;
            default:
                break;
            }
        });
    }

    void mark(const hir::Stmt& body) {
        for_each_expr(body, [&](const Expr& expr) {
            if (expr.kind != ExprKind::Print || hir::as<hir::Print>(expr).to_string)
                return;
            auto& print = const_cast<hir::Print&>(hir::as<hir::Print>(expr));
            size_t arg = 0;
            for (Directive& d : print.format.directives) {
                if (d.kind == Directive::Literal)
                    continue;
                arg += static_cast<size_t>(d.width_is_arg) + d.precision_is_arg;
                if (d.conversion == 's' && arg < print.args.size() && is_own(*print.args[arg]))
                    d.conversion = 'S';
                if (d.kind == Directive::Char && arg < print.args.size() &&
                    print.args[arg]->kind == ExprKind::ConstLong)
                    d.conversion = 'C';
                arg++;
            }
        });
    }

    hir::Program& program_;
    // locals, globals (for arrays: their values) and functions (their results) with a foreign string
    std::unordered_set<const void*> foreign_;
    bool changed_ = false;
};

} // namespace

void mark_own_texts(hir::Program& program) { OwnTexts(program).run(); }

} // namespace sonde
