// Locals need the most care, because the language does not declare them. In a handler, any name that is not a global is
// a local. An alias's block runs before the handler, and both have the same locals:
//
//     probe opened = syscall.openat { file = filename }
//     probe opened { println(file) }
//
// So each body (of a probe, an alias or a function) is a scope. After all bodies were read, the locals of a probe are
// joined with those of its aliases.
//
// Names that a macro has produced have the position of the macro's use. They do not count as occurrences, because the
// text has the macro's name there.
#include "driver/lsp/names.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/glob.h"
#include "frontend/ast/walk.h"

namespace sonde::lsp {
namespace {

std::string_view name_of(ast::DeclaredType type) {
    return type == ast::DeclaredType::Long ? ":long" : type == ast::DeclaredType::String ? ":string" : "";
}

Range range_of(const std::vector<ast::PointComponent>& components, size_t count) {
    return Range::join(components.front().range,
                       components[count - 1].arg_range.valid()
                           ? Range::join(components[count - 1].range, components[count - 1].arg_range)
                           : components[count - 1].range);
}

// Whether the point begins with the alias's name. A component of the point can be a pattern.
bool means_alias(const ast::ProbePoint& point, const ast::ProbePoint& alias) {
    if (point.components.size() < alias.components.size())
        return false;
    for (size_t i = 0; i < alias.components.size(); i++) {
        const ast::PointComponent &a = point.components[i], &b = alias.components[i];
        if (a.arg != b.arg || a.number != b.number || a.text != b.text ||
            (has_wildcard(a.name) ? !glob_match(a.name, b.name) : a.name != b.name))
            return false;
    }
    return true;
}

// A body and its locals: the occurrences of each name.
struct Scope {
    std::map<std::string, std::vector<Range>> locals;
    std::vector<const ast::ProbePoint*> points; // of a probe or an alias
    const ast::Function* function = nullptr;
};

class Builder {
  public:
    Builder(Script& script, std::deque<Name>& names) : script_(script), names_(names) {}

    void run() {
        find_macros();
        for (const ast::File* file : script_.t.files)
            for (const ast::Global* global : file->globals)
                add_global(*global);
        for (const ast::Function* function : script_.tree->functions)
            add_function(*function);
        for (const ast::Alias* alias : script_.tree->aliases)
            add_alias(*alias);
        for (const ast::Function* function : script_.tree->functions)
            if (function->body) {
                Scope& scope = scopes_.emplace_back();
                scope.function = function;
                read_body(scope, *function->body);
            }
        for (const ast::Alias* alias : script_.tree->aliases) {
            Scope& scope = scopes_.emplace_back();
            scope.points.assign(alias->points.begin(), alias->points.end());
            alias_scopes_[alias] = &scope;
            read_points(scope);
            for (const ast::BlockStmt* block : {alias->prologue, alias->epilogue})
                if (block)
                    read_body(scope, *block);
        }
        for (const ast::Probe* probe : script_.tree->probes) {
            Scope& scope = scopes_.emplace_back();
            scope.points.assign(probe->points.begin(), probe->points.end());
            read_points(scope);
            read_body(scope, *probe->body);
        }
        add_locals();
    }

  private:
    bool is_own(Range range) const { return range.file == script_.file; }
    // Whether the text has the name at this place. False: a macro or an argument has produced it.
    bool is_written(Range range, std::string_view name) const {
        return is_own(range) && script_.t.sources.text(range) == name;
    }

    Name& add(NameKind kind, const std::string& name) {
        Name& out = names_.emplace_back();
        out.kind = kind;
        out.name = name;
        return out;
    }
    void declare(Name& name, Range range) {
        name.declarations.push_back(range);
        if (is_written(range, name.name))
            name.occurrences.push_back({range, true});
        name.is_elsewhere |= !is_own(range);
    }
    void use(Name& name, Range range) {
        if (is_written(range, name.name))
            name.occurrences.push_back({range, false});
    }

    // ---- macros

    Name* find_macro(const std::string& name) {
        if (const auto known = macros_.find(name); known != macros_.end())
            return known->second;
        const auto found = script_.t.macros.macros.find(name);
        if (found == script_.t.macros.macros.end())
            return nullptr;
        Name& out = add(NameKind::Macro, name);
        out.declarations.push_back(found->second.range);
        out.is_elsewhere = true;
        out.shown =
            fmt::format("@define {}{}", name,
                        found->second.has_params ? fmt::format("({})", fmt::join(found->second.params, ", ")) : "");
        return macros_[name] = &out;
    }

    // Macros are gone after parsing, so they are found in the tokens.
    void find_macros() {
        const std::vector<Token>& tokens = script_.tokens;
        std::set<std::string> parameters; // of the macro whose body this is
        size_t depth = 0;                 // of `%(` in this body
        for (size_t i = 0; i + 1 < tokens.size(); i++) {
            const Token& token = tokens[i];
            depth += token.is("%(") ? 1 : 0;
            if (token.is("%)") && depth > 0) {
                depth--;
                if (depth == 0)
                    parameters.clear();
            }
            if (token.kind != TokenKind::Identifier || token.text[0] != '@')
                continue;
            if (token.text == "@define") {
                const Token& name = tokens[i + 1];
                Name*& known = macros_[name.text];
                if (!known)
                    known = &add(NameKind::Macro, name.text);
                declare(*known, name.range);
                depth = 0;
                parameters.clear();
                size_t end = i + 2;
                if (end < tokens.size() && tokens[end].is("("))
                    for (; end < tokens.size() && !tokens[end].is(")") && !tokens[end].is("%("); end++)
                        if (tokens[end].kind == TokenKind::Identifier)
                            parameters.insert(tokens[end].text);
                known->shown = std::string(script_.t.sources.text(
                    {script_.file, token.range.begin, tokens[std::min(end, tokens.size() - 1)].range.begin}));
                known->shown.erase(known->shown.find_last_not_of(" \t\r\n") + 1);
                if (end < tokens.size() && tokens[end].is(")"))
                    known->shown += known->shown.ends_with(')') ? "" : ")";
            } else if (const std::string name = token.text.substr(1); !parameters.contains(name)) {
                if (Name* macro = find_macro(name))
                    if (is_written(token.range, token.text))
                        macro->occurrences.push_back(
                            {{token.range.file, token.range.begin + 1, token.range.end}, false});
            }
        }
    }

    // ---- declarations

    void add_global(const ast::Global& global) {
        Name*& known = globals_[global.name];
        if (!known)
            known = &add(NameKind::Global, global.name);
        declare(*known, global.range);
        if (known->shown.empty())
            known->shown = fmt::format("{}global {}", global.is_private ? "private " : "", global.name);
    }

    // Library code sees the library's globals.
    Name* find_global(const std::string& name) {
        if (const auto known = globals_.find(name); known != globals_.end())
            return known->second;
        if (script_.is_library)
            for (const ast::File* file : script_.t.library->files_with_global(name))
                for (const ast::Global* global : file->globals)
                    if (global->name == name && !global->is_private) {
                        add_global(*global);
                        return globals_[name];
                    }
        return nullptr;
    }

    // Functions with the same name and number of parameters are one name: a call tries all of them.
    void add_function(const ast::Function& function) {
        Name*& known = functions_[{function.name, function.params.size()}];
        if (!known)
            known = &add(NameKind::Function, function.name);
        declare(*known, function.name_range);
        if (known->shown.empty())
            known->shown = signature_of(function);
        if (known->doc.empty())
            known->doc = function.doc;
    }

    Name* find_function(const std::string& name, size_t arity) {
        if (const auto known = functions_.find({name, arity}); known != functions_.end())
            return known->second;
        std::vector<const ast::Function*> others;
        for (const ast::File* file : script_.t.library->files_with_function(name))
            for (const ast::Function* function : file->functions)
                if (function->name == name && !function->is_private) {
                    if (function->params.size() == arity)
                        add_function(*function);
                    others.push_back(function);
                }
        if (const auto known = functions_.find({name, arity}); known != functions_.end())
            return known->second;
        // Another number of arguments is a mistake, but the user still means this function.
        const auto near = functions_.lower_bound({name, 0});
        if (near != functions_.end() && near->first.first == name)
            return near->second;
        if (others.empty())
            return nullptr;
        add_function(*others[0]);
        return functions_[{name, others[0]->params.size()}];
    }

    void add_alias(const ast::Alias& alias) {
        for (const ast::ProbePoint* point : alias.names)
            if (!point->components.empty())
                declare_alias(alias, *point);
    }

    Name& declare_alias(const ast::Alias& alias, const ast::ProbePoint& point) {
        std::string text(script_.t.sources.text(range_of(point.components, point.components.size())));
        Name*& known = aliases_[text];
        if (!known)
            known = &add(NameKind::Alias, text);
        declare(*known, range_of(point.components, point.components.size()));
        if (known->shown.empty()) {
            std::vector<std::string> points;
            for (const ast::ProbePoint* one : alias.points)
                points.push_back(ast::to_source(*one));
            known->shown = fmt::format("probe {} = {}", text, fmt::join(points, ", "));
            known->doc = alias.doc;
        }
        alias_points_.emplace_back(&point, &alias, known);
        return *known;
    }

    // The aliases that a point means, in the document and in the library.
    struct AliasPoint {
        const ast::ProbePoint* point;
        const ast::Alias* alias;
        Name* name;
    };
    std::vector<AliasPoint> aliases_of(const ast::ProbePoint& point) {
        if (point.components.empty())
            return {};
        if (const std::string& first = point.components[0].name;
            !has_wildcard(first) && read_aliases_.insert(first).second)
            for (const ast::File* file : script_.t.library->files_with_alias(first))
                if (file->id != script_.file && loaded_.insert(file).second)
                    for (const ast::Alias* alias : file->aliases)
                        for (const ast::ProbePoint* name : alias->names)
                            if (!name->components.empty())
                                declare_alias(*alias, *name);
        // Of `a` and `a.b`, the point `a.b.return` means the longer one.
        std::vector<AliasPoint> out;
        size_t longest = 0;
        for (const AliasPoint& one : alias_points_)
            if (means_alias(point, *one.point) && one.point->components.size() >= longest) {
                if (one.point->components.size() > longest)
                    out.clear();
                longest = one.point->components.size();
                out.push_back(one);
            }
        return out;
    }

    // ---- bodies

    void read_points(Scope& scope) {
        for (const ast::ProbePoint* point : scope.points) {
            if (point->condition)
                for_each_expr(*point->condition, [&](const ast::Expr& expr) { read_expr(scope, expr); });
            for (const AliasPoint& alias : aliases_of(*point)) {
                const Range range = range_of(point->components, alias.point->components.size());
                use(*alias.name, range);
            }
        }
    }

    void read_body(Scope& scope, const ast::Stmt& body) {
        for_each_expr(body, [&](const ast::Expr& expr) { read_expr(scope, expr); });
        for_each_stmt(body, [&](const ast::Stmt& stmt) {
            if (stmt.kind == ast::StmtKind::Foreach) {
                const auto& loop = ast::as<ast::ForeachStmt>(stmt);
                if (!loop.value.empty())
                    read_variable(scope, loop.value, loop.value_range);
                for (size_t i = 0; i < loop.keys.size(); i++)
                    read_variable(scope, loop.keys[i], loop.key_ranges[i]);
            } else if (stmt.kind == ast::StmtKind::Try) {
                const auto& attempt = ast::as<ast::TryStmt>(stmt);
                if (!attempt.variable.empty())
                    read_variable(scope, attempt.variable, attempt.variable_range);
            }
        });
    }

    void read_expr(Scope& scope, const ast::Expr& expr) {
        switch (expr.kind) {
        case ast::ExprKind::Name:
            read_variable(scope, ast::as<ast::NameExpr>(expr).name, expr.range);
            break;
        case ast::ExprKind::Index:
            read_array(ast::as<ast::IndexExpr>(expr).name, ast::as<ast::IndexExpr>(expr).name_range);
            break;
        case ast::ExprKind::In:
            read_array(ast::as<ast::InExpr>(expr).array, ast::as<ast::InExpr>(expr).array_range);
            break;
        case ast::ExprKind::Call: {
            const auto& call = ast::as<ast::CallExpr>(expr);
            if (Name* function = find_function(call.name, call.args.size()))
                use(*function, call.name_range);
            break;
        }
        default:
            break;
        }
    }

    static bool is_parameter(const Scope& scope, const std::string& name) {
        return scope.function && std::ranges::count(scope.function->params, name, &ast::Parameter::name) > 0;
    }

    void read_variable(Scope& scope, const std::string& name, Range range) {
        if (Name* global = is_parameter(scope, name) ? nullptr : find_global(name))
            use(*global, range);
        else
            scope.locals[name].push_back(range);
    }

    void read_array(const std::string& name, Range range) {
        if (Name* global = name.empty() ? nullptr : find_global(name))
            use(*global, range);
    }

    // ---- locals

    // The scope of an alias in the library, whose bodies were not read so far.
    Scope& scope_of(const ast::Alias& alias) {
        if (const auto known = alias_scopes_.find(&alias); known != alias_scopes_.end())
            return *known->second;
        Scope& out = scopes_.emplace_back();
        alias_scopes_[&alias] = &out;
        out.points.assign(alias.points.begin(), alias.points.end());
        for (const ast::BlockStmt* block : {alias.prologue, alias.epilogue})
            if (block)
                for_each_expr(*block, [&](const ast::Expr& expr) {
                    if (expr.kind == ast::ExprKind::Name)
                        out.locals[ast::as<ast::NameExpr>(expr).name].push_back(expr.range);
                });
        return out;
    }

    // The scopes of the aliases in the points, and of the aliases in their points.
    void collect_aliases(const Scope& scope, std::vector<Scope*>& out) {
        for (const ast::ProbePoint* point : std::vector(scope.points))
            for (const AliasPoint& alias : aliases_of(*point)) {
                Scope& found = scope_of(*alias.alias);
                if (&found == &scope || std::ranges::count(out, &found) > 0)
                    continue;
                out.push_back(&found);
                collect_aliases(found, out);
            }
    }

    void add_locals() {
        std::map<std::pair<const Scope*, std::string>, Name*> known;
        std::map<Name*, Name*> joined; // names that turned out to be the same as another one
        const auto find = [&](Name* name) {
            while (joined.contains(name))
                name = joined[name];
            return name;
        };
        std::vector<Scope*> own;
        for (Scope& scope : scopes_)
            own.push_back(&scope);
        for (Scope* scope : own) {
            std::vector<Scope*> aliases;
            collect_aliases(*scope, aliases);
            for (const auto& [text, ranges] : std::map(scope->locals)) {
                Name*& name = known[{scope, text}];
                if (!name)
                    name = &add_local(*scope, text);
                for (const Scope* alias : aliases) {
                    if (!alias->locals.contains(text))
                        continue;
                    Name*& other = known[{alias, text}];
                    if (!other)
                        other = &add_local(*alias, text);
                    if (find(other) != find(name))
                        joined[find(name)] = find(other);
                }
            }
            if (scope->function)
                for (const ast::Parameter& parameter : scope->function->params)
                    if (!scope->locals.contains(parameter.name))
                        add_local(*scope, parameter.name);
        }
        for (const auto& [from, to] : joined) {
            Name* target = find(to);
            for (Occurrence& one : from->occurrences)
                one.is_declaration = false; // the alias declares it
            target->occurrences.insert(target->occurrences.end(), from->occurrences.begin(), from->occurrences.end());
            target->is_elsewhere |= from->is_elsewhere;
            from->declarations.clear();
            from->occurrences.clear();
        }
    }

    Name& add_local(const Scope& scope, const std::string& text) {
        Name& out = add(is_parameter(scope, text) ? NameKind::Parameter : NameKind::Local, text);
        out.shown = text;
        if (scope.function)
            for (const ast::Parameter& parameter : scope.function->params)
                if (parameter.name == text) {
                    declare(out, parameter.range);
                    out.shown = fmt::format("{}{}", text, name_of(parameter.type));
                }
        const auto found = scope.locals.find(text);
        std::vector<Range> ranges = found == scope.locals.end() ? std::vector<Range>() : found->second;
        std::ranges::sort(ranges, {}, &Range::begin);
        for (Range range : ranges)
            if (out.declarations.empty())
                declare(out, range);
            else
                use(out, range);
        return out;
    }

    Script& script_;
    std::deque<Name>& names_;
    std::map<std::string, Name*> macros_, globals_, aliases_;
    std::map<std::pair<std::string, size_t>, Name*> functions_;
    std::deque<AliasPoint> alias_points_;
    std::set<std::string> read_aliases_; // first components that were looked up in the library
    std::set<const ast::File*> loaded_;  // library files whose aliases are known
    std::deque<Scope> scopes_;
    std::map<const ast::Alias*, Scope*> alias_scopes_;
};

} // namespace

NameIndex::NameIndex(Script& script) {
    Builder(script, names_).run();
    for (Name& name : names_) {
        std::ranges::sort(name.occurrences, {}, [](const Occurrence& one) { return one.range.begin; });
        const auto same =
            std::ranges::unique(name.occurrences, {}, [](const Occurrence& one) { return one.range.begin; });
        name.occurrences.erase(same.begin(), same.end());
        for (const Occurrence& one : name.occurrences)
            places_.push_back({one, &name});
    }
    std::ranges::stable_sort(places_, {}, [](const Place& one) { return one.occurrence.range.begin; });
}

const NameIndex::Place* NameIndex::find(size_t offset) const {
    const auto after = std::ranges::upper_bound(places_, offset, {},
                                                [](const Place& one) { return size_t{one.occurrence.range.begin}; });
    if (after == places_.begin())
        return nullptr;
    const Place& place = *(after - 1);
    return offset <= place.occurrence.range.end ? &place : nullptr;
}

const Name* NameIndex::at(size_t offset) const {
    const Place* place = find(offset);
    return place ? place->name : nullptr;
}

const Occurrence* NameIndex::occurrence_at(size_t offset) const {
    const Place* place = find(offset);
    return place ? &place->occurrence : nullptr;
}

std::string signature_of(const ast::Function& function) {
    std::vector<std::string> params;
    for (const ast::Parameter& param : function.params)
        params.push_back(fmt::format("{}{}", param.name, name_of(param.type)));
    return fmt::format("{}function {}{} ({})", function.is_private ? "private " : "", function.name,
                       name_of(function.result), fmt::join(params, ", "));
}

} // namespace sonde::lsp
