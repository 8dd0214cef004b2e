// Computes the tags that a list of functions shows, such as `/* pure */`.
//
// SystemTap's library declares these tags in comments in its C code. Most functions of our library are scripts, so the
// tags are computed from their bodies instead:
//
// * The privilege is the highest one that any read of memory in the body needs. A `$variable` and operators such as
//   `@uderef` read the user's own process. Other operators, and names in the module `kernel`, read the kernel.
// * A function is pure if it returns a value and changes nothing: no output, no `delete`, no assignment to a global.
// * A stable function moreover has the same result throughout a handler: it reads neither memory nor globals.
//
// A function also has these properties of the functions that it calls. The walk over calls ends at primitives, whose
// properties are in a table (hir::find_primitive).
#include "frontend/tapset/tags.h"

#include <algorithm>
#include <set>

#include "frontend/ast/walk.h"

namespace sonde {
namespace {

// Returns the privilege needed to read the memory that the expression reads or may read.
hir::Trust trust_of(const ast::Expr& expr) {
    if (expr.kind == ast::ExprKind::Target)
        return ast::as<ast::TargetExpr>(expr).module == "kernel" ? hir::Trust::Kernel : hir::Trust::OwnProcess;
    if (expr.kind == ast::ExprKind::AtOperator)
        return ast::as<ast::AtOperatorExpr>(expr).name.starts_with("@u") ||
                       ast::as<ast::AtOperatorExpr>(expr).name.starts_with("@__async")
                   ? hir::Trust::OwnProcess
                   : hir::Trust::Kernel;
    return hir::Trust::Anybody;
}

// Returns the name of the variable that the expression changes by assignment, `++` or `--`; else null.
const std::string* changed_name(const ast::Expr& expr) {
    const ast::Expr* target = nullptr;
    if (expr.kind == ast::ExprKind::Assign)
        target = ast::as<ast::AssignExpr>(expr).target;
    else if (expr.kind == ast::ExprKind::IncDec)
        target = ast::as<ast::IncDecExpr>(expr).target;
    if (target && target->kind == ast::ExprKind::Name)
        return &ast::as<ast::NameExpr>(*target).name;
    if (target && target->kind == ast::ExprKind::Index)
        return &ast::as<ast::IndexExpr>(*target).name;
    return nullptr;
}

} // namespace

FunctionTags::FunctionTags(Library& library) {
    for (const ast::File* file : library.files()) {
        for (const ast::Function* function : file->functions)
            functions_[function->name].push_back(function);
        for (const ast::Global* global : file->globals)
            globals_.insert(global->name);
    }
}

std::string FunctionTags::of(const ast::Function& function, bool all) {
    const Facts known = facts(function);
    std::string out = known.trust == hir::Trust::Guru         ? " /* guru */"
                      : known.trust == hir::Trust::OwnProcess ? " /* myproc-unprivileged */"
                                                              : "";
    if (all && known.is_pure)
        out += " /* pure */";
    if (all && known.is_pure && known.is_stable && function.params.empty())
        out += " /* stable */";
    if (all && known.keeps_arguments && !function.params.empty())
        out += " /* unmodified-fnargs */";
    return out + (known.trust == hir::Trust::Anybody ? " /* unprivileged */" : "");
}

// Returns the facts of a function: those of its own body and of each body that a call can reach. The walk visits each
// function once, so recursion ends, and all functions of a cycle get the same facts.
FunctionTags::Facts FunctionTags::facts(const ast::Function& function) {
    Facts out = body(function).facts;
    std::set<const ast::Function*> seen = {&function};
    std::vector<const ast::Function*> todo = body(function).callees;
    while (!todo.empty()) {
        const ast::Function* callee = todo.back();
        todo.pop_back();
        if (!seen.insert(callee).second)
            continue;
        const Body& called = body(*callee);
        out.trust = std::max(out.trust, called.facts.trust);
        out.is_pure = out.is_pure && called.facts.is_pure;
        out.is_stable = out.is_stable && called.facts.is_stable;
        todo.insert(todo.end(), called.callees.begin(), called.callees.end());
    }
    return out;
}

const FunctionTags::Body& FunctionTags::body(const ast::Function& function) {
    auto entry = known_.find(&function);
    if (entry == known_.end())
        entry = known_.emplace(&function, read_body(function)).first;
    return entry->second;
}

// A primitive has its facts in its row. Any other function collects them from the expressions in its body.
FunctionTags::Body FunctionTags::read_body(const ast::Function& function) const {
    Body body;
    Facts& out = body.facts;
    out.is_pure = function.result != ast::DeclaredType::None;
    if (!function.body) {
        const hir::Primitive* row = hir::find_primitive(function.name);
        if (!row)
            return body;
        out.trust = row->trust;
        out.is_pure = out.is_pure && !row->sends && !row->changes && !row->needs_tokens;
        out.is_stable = row->is_stable;
        return body;
    }
    std::set<std::string_view> own;
    for (const ast::Parameter& param : function.params)
        own.insert(param.name);
    for_each_expr(*function.body, [&](const ast::Expr& expr) {
        const hir::Trust trust = trust_of(expr);
        out.trust = std::max(out.trust, trust);
        out.is_stable = out.is_stable && trust == hir::Trust::Anybody;
        if (expr.kind == ast::ExprKind::Print && !ast::as<ast::PrintExpr>(expr).to_string)
            out.is_pure = false;
        if (expr.kind == ast::ExprKind::Call)
            add_call(body, ast::as<ast::CallExpr>(expr));
        // Names of library globals are unique, so any other variable that is assigned is a local.
        const std::string* changed = changed_name(expr);
        if (changed && own.count(*changed))
            out.keeps_arguments = false;
        else if (changed && globals_.count(*changed))
            out.is_pure = false;
        else if (expr.kind == ast::ExprKind::Name && globals_.count(ast::as<ast::NameExpr>(expr).name))
            out.is_stable = false;
    });
    for_each_stmt(*function.body, [&](const ast::Stmt& stmt) {
        if (stmt.kind == ast::StmtKind::Delete)
            out.is_pure = false;
    });
    return body;
}

// Adds the called function. Overloads are told apart by the number of arguments. If several have this number, all are
// added, because the one that runs depends on the call.
void FunctionTags::add_call(Body& body, const ast::CallExpr& call) const {
    if (call.name == "error") // ends the call without changing anything
        return;
    const auto found = functions_.find(call.name);
    if (found == functions_.end())
        return;
    for (const ast::Function* callee : found->second)
        if (callee->params.size() == call.args.size())
            body.callees.push_back(callee);
}

} // namespace sonde
