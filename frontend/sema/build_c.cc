// Converts C code in scripts to HIR.
//
// The passes cannot analyze C. To them, a function in C is a function whose result depends on all parameters in an
// unknown way. Its text is stored in c_code for later.
//
// When the C code uses something of the script, that use becomes a call of a generated function. For example, one
// function returns a global, and another one prints. These calls are added to the function's body (which is never
// executed) and to c_calls. So the ordinary passes find the types, locks and everything else that these calls need,
// with no special case for C. Example:
//
//     function add:long(n:long) %{ /* pragma:write:total */ STAP_GLOBAL_SET_total(STAP_ARG_n); STAP_RETURN(0); %}
//
// generates `function STAP_GLOBAL_SET_total(argument 1) { total = argument 1 }`. To the passes, the body of add() is a
// call of it with an unknown argument, and then a result that depends on n.
//
// A C expression becomes a function without a name. Its parameters are the script variables that the text mentions as
// STAP_ARG_x.
#include "frontend/sema/build_c.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/sema/build_call.h"
#include "frontend/sema/c_text.h"
#include "frontend/sema/functions.h"

namespace sonde {

using hir::ValueType;

namespace {

// Finds everything of the script that the C code uses, and adds the calls for it.
class Calls {
  public:
    Calls(Body& b, hir::Function& out) : b_(b), out_(out), text_(scan_c(out.c_code.text)) {
        for (const ast::CBlock& block : b.names.c_blocks())
            blocks_.push_back(scan_c(block.text));
    }

    const CNames& text() const { return text_; }
    // Whether the text, or a declaration that the text may use, contains the name.
    bool has(const std::string& name) const { return use_of(name); }

    void find() {
        for (const auto& [pragma, at] : text_.pragmas) {
            const Range range = place(at, pragma.size() + 6);
            constexpr std::string_view read = "pragma:read:", write = "pragma:write:", call = "pragma:call:";
            if (pragma.starts_with(read))
                add_global(pragma.substr(read.size()), false, range);
            else if (pragma.starts_with(write))
                add_global(pragma.substr(write.size()), true, range);
            else if (pragma.starts_with(call))
                add_call(pragma.substr(call.size()), range);
        }
        std::set<std::string> variables;
        for (const CNames* names : all_texts()) {
            for (const CCallee& callee : library_callees(*names))
                if (const std::string name = "sonde_" + callee.function; !has_call(name))
                    add(name, callee.function, callee.arguments, out_.c_code.range);
            variables.merge(kernel_variables(*names));
        }
        for (const std::string& variable : variables)
            if (mentions(variable))
                add_address(variable);
    }

  private:
    // The range of a part of the C text in the script.
    Range place(size_t at, size_t length) const {
        const Range& whole = out_.c_code.range;
        const uint32_t begin = std::min(whole.begin + 2 + static_cast<uint32_t>(at), whole.end);
        return {whole.file, begin, std::min(begin + static_cast<uint32_t>(length), whole.end)};
    }
    std::vector<const CNames*> all_texts() const {
        std::vector<const CNames*> out = {&text_};
        for (const CNames& block : blocks_)
            out.push_back(&block);
        return out;
    }
    // Finds the first use in the text, or in a declaration that the text may use.
    const CNames::Use* use_of(const std::string& name) const {
        for (const CNames* names : all_texts())
            if (auto found = names->uses.find(name); found != names->uses.end())
                return &found->second;
        return nullptr;
    }
    // Whether the code uses a kernel variable. A variable that the script declares counts only if its name is used. A
    // variable of the prelude is in the list only if the code uses the macro for it, so it always counts.
    bool mentions(const std::string& variable) const {
        return std::none_of(blocks_.begin(), blocks_.end(),
                            [&](const CNames& block) { return block.externs.contains(variable); }) ||
               use_of(variable);
    }
    bool has_call(const std::string& name) const {
        return std::any_of(out_.c_calls.begin(), out_.c_calls.end(),
                           [&](const hir::CCall& one) { return one.name == name; });
    }

    std::vector<hir::Expr*> unknown(size_t count, Range range) {
        std::vector<hir::Expr*> out;
        for (size_t i = 0; i < count; i++)
            out.push_back(b_.make<hir::Intrinsic>(range, "%{", ValueType::Unknown, std::vector<hir::Expr*>()));
        return out;
    }
    void add(const std::string& name, hir::Call* call) { out_.c_calls.push_back({name, call}); }

    // Adds a call of a function of the script or the library.
    void add(const std::string& name, const std::string& function, size_t arguments, Range range) {
        NamedFunction* entry = b_.names.find_function(function, arguments, b_.file, range);
        if (!entry)
            return;
        hir::Expr* call = entry->ast->body ? build_call_to(b_, *entry, unknown(arguments, range), range) : nullptr;
        if (call && call->kind == hir::ExprKind::Call)
            add(name, static_cast<hir::Call*>(call));
        else if (!entry->ast->body) // a primitive is not a function and cannot be called by address
            add_made(name, made_of_primitive(name, *entry->ast, range), range);
    }

    // Creates `function name(parameters) { return primitive(parameters) }`.
    ast::Function* made_of_primitive(const std::string& name, const ast::Function& primitive, Range range) {
        auto* made = make_function(name, primitive.params.size(), range);
        std::vector<ast::Expr*> args;
        for (size_t i = 0; i < made->params.size(); i++) {
            made->params[i].type = primitive.params[i].type;
            args.push_back(b_.make<ast::NameExpr>(range, made->params[i].name));
        }
        auto* call = b_.make<ast::CallExpr>(range, primitive.name, range, std::move(args));
        const bool gives = primitive.result != ast::DeclaredType::None;
        made->result = primitive.result;
        made->body->body.push_back(gives ? static_cast<ast::Stmt*>(b_.make<ast::ReturnStmt>(range, call))
                                         : b_.make<ast::ExprStmt>(range, call));
        return made;
    }

    // Creates a function with parameter names that no script can write.
    ast::Function* make_function(const std::string& name, size_t parameters, Range range) {
        auto* made = b_.make<ast::Function>();
        made->name = name;
        made->name_range = made->range = range;
        for (size_t i = 0; i < parameters; i++) {
            ast::Parameter& param = made->params.emplace_back();
            param.name = fmt::format("argument {}", i + 1);
            param.range = range;
        }
        made->body = b_.make<ast::BlockStmt>(range);
        return made;
    }

    void add_made(const std::string& name, ast::Function* made, Range range) {
        NamedFunction& entry = b_.functions.add(*made, b_.file);
        hir::Function* function = b_.functions.instantiate(entry);
        function->bounded = true;
        std::vector<hir::Expr*> args = unknown(made->params.size(), range);
        add(name, b_.make<hir::Call>(range, function, function->result, std::move(args)));
    }

    // Adds access functions for STAP_GLOBAL_GET_x(keys) and STAP_GLOBAL_SET_x(keys, value).
    void add_global(const std::string& global, bool sets, Range range) {
        if (!b_.names.find_global(global, b_.file)) {
            b_.context.report_once(DiagId::UnknownFunction, range, fmt::format("the script has no global `{}`", global))
                .suggest(nearest_name(global, b_.names.global_names()));
            return;
        }
        const std::string name = fmt::format("STAP_GLOBAL_{}_{}", sets ? "SET" : "GET", global);
        const CNames::Use* use = use_of(name);
        if (!use)
            return;
        if (sets && use->arguments == 0) {
            b_.context.report_once(DiagId::Arity, place(use->at, name.size()),
                                   fmt::format("`{}` takes the value, after the keys of an array", name));
            return;
        }
        if (text_.has(name))
            range = place(use->at, name.size());
        ast::Function* made = make_function(name, use->arguments, range);
        std::vector<ast::Expr*> keys;
        for (const ast::Parameter& param : made->params)
            keys.push_back(b_.make<ast::NameExpr>(range, param.name));
        ast::Expr* value = nullptr;
        if (sets) {
            value = keys.back();
            keys.pop_back();
        }
        ast::Expr* variable = keys.empty() ? static_cast<ast::Expr*>(b_.make<ast::NameExpr>(range, global))
                                           : b_.make<ast::IndexExpr>(range, global, range, std::move(keys));
        if (sets)
            made->body->body.push_back(b_.make<ast::ExprStmt>(range, b_.make<ast::AssignExpr>(range, variable, value)));
        else
            made->body->body.push_back(b_.make<ast::ReturnStmt>(range, variable));
        add_made(name, made, range);
    }

    void add_call(const std::string& function, Range range) {
        const std::string name = "STAP_CALL_" + function;
        if (const CNames::Use* use = use_of(name))
            add(name, function, use->arguments, text_.has(name) ? place(use->at, name.size()) : range);
    }

    // The address of a kernel variable is known only when the session starts. C code gets it from this function.
    void add_address(const std::string& variable) {
        const Range range = out_.c_code.range;
        auto* made = b_.make<hir::Function>();
        made->range = range;
        made->result = ValueType::Long;
        made->bounded = true;
        made->body = b_.make<hir::Block>(range);
        made->body->body.push_back(b_.make<hir::Return>(range, b_.functions.symbol_address(variable, range)));
        add("sonde_address_" + variable,
            b_.make<hir::Call>(range, b_.functions.define(*made), ValueType::Long, std::vector<hir::Expr*>()));
    }

    Body& b_;
    hir::Function& out_;
    const CNames text_;
    std::vector<CNames> blocks_;
};

// Builds the body. Parameters, result and text must be set.
void build_body(Body& b, hir::Function& out, bool has_next) {
    const Range range = out.c_code.range;
    Calls calls(b, out);
    calls.find();
    out.c_pure = calls.text().has_pragma("pure");
    if (calls.text().has_pragma("guru") && !b.context.options.guru)
        b.context.report_once(DiagId::NeedsGuru, range, "this C code needs guru mode, as its `/* guru */` says")
            .help("-g allows it");
    // These functions change the traced program, whether or not the author has marked the code with `guru`.
    else if (!b.context.options.guru)
        for (const char* name : {"bpf_probe_write_user", "copy_to_user", "put_user", "bpf_send_signal_task"})
            if (calls.has(name))
                b.context.report_once(DiagId::NeedsGuru, range, fmt::format("`{}` changes the traced program", name))
                    .help("-g allows it");
    std::vector<hir::Expr*> args;
    for (hir::Local* param : out.params) {
        b.tables.read.insert(param);
        args.push_back(b.make<hir::LocalRef>(range, param));
    }
    // The body that the passes see: all calls, then a primitive without a known value as the result.
    out.body = b.make<hir::Block>(range);
    for (const hir::CCall& one : out.c_calls)
        out.body->body.push_back(b.make<hir::ExprStmt>(range, one.call));
    if (has_next && calls.text().has("STAP_NEXT")) {
        out.c_next = b.make<hir::Block>(range);
        out.c_next->body.push_back(build_next_overload(b, range));
        auto* unknown = b.make<hir::Intrinsic>(range, "%{", ValueType::Long, std::vector<hir::Expr*>());
        out.body->body.push_back(b.make<hir::If>(range, unknown, out.c_next, nullptr));
    }
    auto* code = b.make<hir::Intrinsic>(range, "%{", out.result, std::move(args));
    if (out.result == ValueType::Void)
        out.body->body.push_back(b.make<hir::ExprStmt>(range, code));
    else
        out.body->body.push_back(b.make<hir::Return>(range, code));
}

} // namespace

void build_c_body(Body& b, const ast::Function& function) {
    hir::Function& out = *b.function();
    out.c_code = {function.embedded, function.body->range, false};
    if (out.result == ValueType::Unknown)
        out.result = ValueType::Void;
    build_body(b, out, true);
}

hir::Expr* build_c_expression(Body& b, const ast::EmbeddedExpr& expr, bool value_unused) {
    auto& out = *b.make<hir::Function>();
    const CNames names = scan_c(expr.text);
    // Function names must be unique in the Program, and no script must be able to write this one.
    auto taken = [&] {
        return std::any_of(b.program.functions.begin(), b.program.functions.end(),
                           [&](const hir::Function* other) { return other->name == out.name; });
    };
    size_t number = b.program.functions.size();
    do
        out.name = fmt::format("expression.{}", number++);
    while (taken());
    out.range = expr.range;
    out.bounded = true;
    out.result = value_unused ? ValueType::Void : names.has_pragma("string") ? ValueType::String : ValueType::Long;
    out.c_code = {expr.text, expr.range, true};
    std::vector<hir::Expr*> args;
    constexpr std::string_view argument = "STAP_ARG_";
    for (const auto& [name, use] : names.uses) {
        hir::Local* local = name.starts_with(argument) ? b.find_local(name.substr(argument.size())) : nullptr;
        if (!local)
            continue;
        b.tables.read.insert(local);
        auto* param = b.make<hir::Local>();
        param->name = local->name;
        param->range = local->range;
        param->index = static_cast<uint32_t>(out.params.size());
        b.tables.assigned.insert(param);
        b.tables.bound.insert(param);
        out.params.push_back(param);
        args.push_back(b.make<hir::LocalRef>(expr.range, local));
    }
    build_body(b, out, false);
    b.program.functions.push_back(&out);
    return b.make<hir::Call>(expr.range, &out, out.result, std::move(args));
}

} // namespace sonde
