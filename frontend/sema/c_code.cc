// Decides where C code runs, and prepares the program for it.
//
// Functions in C exist to read the kernel's memory. They are compiled for BPF only, which also means one compilation
// instead of two. Therefore every handler that calls such a function, directly or not, runs in the kernel, even
// `begin`, `end` and timers. C code is inlined into its handler, so it must not call itself indirectly.
#include <set>
#include <vector>

#include <fmt/format.h>

#include "frontend/hir/walk.h"
#include "frontend/sema/phases.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// Returns the first function in C that the handler calls, directly or not, or null.
const hir::Function* find_c_function(const hir::Handler& handler) {
    std::set<const hir::Function*> seen;
    std::vector<const hir::Function*> todo;
    auto note = [&](const hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::Call && seen.insert(hir::as<hir::Call>(expr).callee).second)
            todo.push_back(hir::as<hir::Call>(expr).callee);
    };
    for_each_expr(handler, note);
    while (!todo.empty()) {
        const hir::Function* function = todo.back();
        todo.pop_back();
        if (function->c_code.range.valid())
            return function;
        for_each_expr(*function->body, note);
    }
    return nullptr;
}

// Gives the arguments of calls from C the types of the callee's parameters.
void settle_calls(hir::Function& function) {
    for (const hir::CCall& one : function.c_calls)
        for (size_t i = 0; i < one.call->args.size(); i++)
            one.call->args[i]->type = one.call->callee->params[i]->type;
}

bool calls_itself(const hir::Function& function) {
    std::set<const hir::Function*> seen;
    std::vector<const hir::Function*> todo = {&function};
    while (!todo.empty()) {
        const hir::Function* next = todo.back();
        todo.pop_back();
        for_each_expr(*next->body, [&](const hir::Expr& expr) {
            if (expr.kind == hir::ExprKind::Call && seen.insert(hir::as<hir::Call>(expr).callee).second)
                todo.push_back(hir::as<hir::Call>(expr).callee);
        });
    }
    return seen.contains(&function);
}

} // namespace

void place_c_code(hir::Program& program, const Names& names, const SideTables& tables, SemaContext& context) {
    for (hir::Function* function : program.functions) {
        settle_calls(*function);
        if (function->c_code.range.valid() && calls_itself(*function))
            context
                .report_once(
                    DiagId::EmbeddedCode, function->range,
                    fmt::format("`{}` calls itself through a function of the script; C in BPF cannot be recursive",
                                function->name))
                .help("write the function in the script's language");
    }
    bool any = false;
    for (hir::Handler* handler : program.handlers) {
        const hir::Function* function = find_c_function(*handler);
        if (!function)
            continue;
        any = true;
        if (plan::is_file(handler->kind))
            context
                .report_once(
                    DiagId::EmbeddedCode, tables.heads.at(handler),
                    fmt::format(
                        "`{}` is C, which runs only in the kernel, and the session runs the handlers of control files",
                        function->name))
                .note(function->range, "declared here")
                .help("compute the value in a timer, and keep it in a global");
        handler->in_kernel = true;
    }
    // Check the script's own C declarations even if no function uses them. Those of the library are only added if
    // needed, because compiling them needs clang.
    for (const ast::CBlock& block : names.c_blocks())
        if (any || !context.diags.sources().is_tapset(block.range.file))
            program.c_blocks.push_back({block.text, block.range, false});
}

} // namespace sonde
