// textDocument/prepareRename and textDocument/rename.
//
// A rename must not change the meaning of the script. sonde refuses a rename in these cases:
//
// * The name also occurs in a macro, in a branch of `%( %)` that is not taken, or in C code.
// * The library declares the name or sets it in an alias.
// * After the change, the new name occurs more often than the old one did. Then two names became one.
#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "driver/lsp/features.h"
#include "driver/lsp/names.h"
#include "frontend/ast/ast.h"
#include "frontend/parse/preprocess.h"
#include "frontend/probes/probe.h"

namespace sonde::lsp {
namespace {

Failure refuse(std::string message) { return {ErrorCode::RequestFailed, std::move(message)}; }

// The name to be changed.
struct Target {
    std::unique_ptr<Script> script;
    std::unique_ptr<NameIndex> index;
    const Name* name;
    Range range; // the occurrence at the position
};

std::variant<Target, Failure> find_target(const Request& request) {
    std::variant<ScriptPosition, Failure> opened = open_at_position(request);
    if (const Failure* failure = std::get_if<Failure>(&opened))
        return *failure;
    auto& [script, offset] = std::get<ScriptPosition>(opened);
    auto index = std::make_unique<NameIndex>(*script);
    const Occurrence* occurrence = index->occurrence_at(offset);
    if (!occurrence)
        return refuse("expected the position of a name that the script declares");
    const Name* name = index->at(offset);
    if (name->is_elsewhere || script->is_library)
        return refuse(fmt::format("cannot rename `{}`: {}", name->name,
                                  name->kind == NameKind::Local ? "an alias of the library sets it"
                                                                : "another file declares it"));
    return Target{std::move(script), std::move(index), name, occurrence->range};
}

// Whether the text is one name: `a`, or for an alias `a.b`.
bool is_valid_name(const std::string& text, NameKind kind) {
    Sources sources;
    Diagnostics diags(sources);
    const std::vector<Token> tokens = lex(sources.add("<name>", text), sources, {}, diags);
    for (size_t i = 0; i + 1 < tokens.size(); i++) {
        const bool is_separator = i % 2 == 1;
        if (is_separator
                ? kind != NameKind::Alias || !tokens[i].is(".")
                : tokens[i].kind != TokenKind::Identifier || tokens[i].text[0] == '$' || tokens[i].text[0] == '@')
            return false;
    }
    return tokens.size() % 2 == 0 && !diags.has_errors() && text.find_first_of(" \t\r\n/#") == std::string::npos;
}

// Whether C code has the word. It can stand after a prefix, as in `STAP_ARG_x`.
bool has_word(const std::string& text, const std::string& word) {
    const auto is_part = [](unsigned char c) { return isalnum(c) != 0; };
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at++) {
        const size_t end = at + word.size();
        const bool begins = at == 0 || !is_part(static_cast<unsigned char>(text[at - 1]));
        if (begins && (end == text.size() || (!is_part(static_cast<unsigned char>(text[end])) && text[end] != '_')))
            return true;
    }
    return false;
}

// Returns why the index may not know all places of the name; empty: it does.
std::string find_hidden_place(Script& script, const Name& name) {
    const Sources& sources = script.t.sources;
    const auto line = [&](Range range) { return sources.line_column(range.file, range.begin).line; };
    for (const ast::Function* function : script.tree->functions)
        if (has_word(function->embedded, name.name))
            return fmt::format("the C code of `{}` uses it", function->name);
    for (const Token& token : script.tokens)
        if (token.kind == TokenKind::Embedded && has_word(token.text, name.name))
            return fmt::format("C code in line {} uses it", line(token.range));
    if (name.kind == NameKind::Macro)
        return "";
    Diagnostics ignored(script.t.sources);
    std::set<uint32_t> kept; // the places of tokens after macros and conditionals
    for (const Token& token : preprocess(script.tokens, script.t.parse_options, ignored))
        kept.insert(token.range.begin);
    const std::string first = name.name.substr(0, name.name.find('.'));
    for (const Token& token : script.tokens)
        if (token.kind == TokenKind::Identifier && token.text == first && !kept.contains(token.range.begin))
            return fmt::format("it also occurs in line {}, in a macro or in a branch that is not taken",
                               line(token.range));
    return "";
}

// Returns what the new name means already; empty: nothing.
std::string find_meaning(Script& script, const NameIndex& index, const Name& name, const std::string& to) {
    const bool is_local = name.kind == NameKind::Local || name.kind == NameKind::Parameter;
    for (const Name& other : index.names()) {
        if (other.name != to || (other.occurrences.empty() && other.declarations.empty()))
            continue;
        const bool is_other_local = other.kind == NameKind::Local || other.kind == NameKind::Parameter;
        // Locals of different scopes can have the same name. The check after the change finds those of one scope.
        const bool is_same_space = name.kind == other.kind || (is_local && is_other_local) ||
                                   (is_local && other.kind == NameKind::Global) ||
                                   (name.kind == NameKind::Global && is_other_local);
        if (is_same_space && !(is_local && is_other_local))
            return fmt::format("`{}` exists already", to);
    }
    Library& library = *script.t.library;
    if ((name.kind == NameKind::Function && !library.files_with_function(to).empty()) ||
        (name.kind == NameKind::Global && !library.files_with_global(to).empty()) ||
        (name.kind == NameKind::Macro && script.t.macros.macros.contains(to)) ||
        (name.kind == NameKind::Alias && !library.files_with_alias(to.substr(0, to.find('.'))).empty()))
        return fmt::format("the library has a `{}`", to);
    if (name.kind == NameKind::Alias && is_probe_kind(to.substr(0, to.find('.'))))
        return fmt::format("`{}` begins a built-in probe point", to.substr(0, to.find('.')));
    if (name.kind == NameKind::Macro && std::ranges::count(ast::at_operators, std::string_view(to)) > 0)
        return fmt::format("`@{}` is an operator", to);
    return "";
}

// A variable that an alias in the library sets hides one of the handler: it would become the same.
bool is_set_by_points(const Request& request, const Target& target, const std::string& to) {
    if (target.name->kind != NameKind::Local)
        return false;
    Result<std::unique_ptr<Script>> listing = open_for_listing(request.document, request.setting, true);
    if (!listing)
        return true;
    const auto uses = [&](const std::vector<ast::ProbePoint*>& points, Range range) {
        if (std::ranges::none_of(target.name->occurrences, [&](const Occurrence& one) {
                return one.range.begin >= range.begin && one.range.end <= range.end;
            }))
            return false;
        for (const ast::ProbePoint* point : points)
            for (const std::string& line : list_quietly(**listing, ast::to_source(*point), true))
                if (line.find(fmt::format(" {}:", to)) != std::string::npos)
                    return true;
        return false;
    };
    const ast::File& tree = *target.script->tree;
    return std::ranges::any_of(tree.probes, [&](const ast::Probe* one) { return uses(one->points, one->range); }) ||
           std::ranges::any_of(tree.aliases, [&](const ast::Alias* one) { return uses(one->points, one->range); });
}

} // namespace

Answer answer_prepare_rename(const Request& request) {
    std::variant<Target, Failure> found = find_target(request);
    if (const Failure* failure = std::get_if<Failure>(&found))
        return failure->code == ErrorCode::InvalidParams ? Answer(*failure) : Answer(Json());
    const Target& target = std::get<Target>(found);
    Places places(*target.script, request.document, request.setting);
    return Json{{"range", places.range(target.range)}, {"placeholder", target.name->name}};
}

Answer answer_rename(const Request& request) {
    std::variant<Target, Failure> found = find_target(request);
    if (const Failure* failure = std::get_if<Failure>(&found))
        return *failure;
    const Target& target = std::get<Target>(found);
    const Name& name = *target.name;
    std::optional<std::string> to = text_member(request.params, "newName");
    if (!to)
        return wrong_params("a `newName`");
    if (name.kind == NameKind::Macro && to->starts_with('@'))
        to->erase(0, 1);
    if (!is_valid_name(*to, name.kind))
        return refuse(fmt::format("`{}` is not a name", *to));
    if (*to == name.name)
        return Json{{"changes", Json::object()}};
    if (const std::string hidden = find_hidden_place(*target.script, name); !hidden.empty())
        return refuse(fmt::format("cannot rename `{}`: {}", name.name, hidden));
    if (const std::string meaning = find_meaning(*target.script, *target.index, name, *to); !meaning.empty())
        return refuse(fmt::format("cannot rename `{}`: {}", name.name, meaning));
    if (is_set_by_points(request, target, *to))
        return refuse(fmt::format("cannot rename `{}`: a probe point here sets `{}`", name.name, *to));

    Places places(*target.script, request.document, request.setting);
    Json edits = Json::array();
    Document changed = request.document;
    size_t first = 0, moved = 0;
    for (const Occurrence& one : name.occurrences) {
        edits.push_back({{"range", places.range(one.range)}, {"newText", *to}});
        const size_t begin = one.range.begin + moved, end = one.range.end + moved; // wraps around as needed
        first = edits.size() == 1 ? begin : first;
        changed.text.replace(begin, end, *to);
        moved += to->size() - (one.range.end - one.range.begin);
    }
    Result<std::unique_ptr<Script>> after = open_script(changed, request.setting);
    if (!after)
        return refuse(after.error().message);
    const NameIndex index(**after);
    const Name* same = index.at(first);
    if (!same || same->occurrences.size() != name.occurrences.size() || same->kind != name.kind ||
        (*after)->t.diags.error_count() != target.script->t.diags.error_count())
        return refuse(
            fmt::format("cannot rename `{}`: `{}` already means something else at one of its places", name.name, *to));
    return Json{{"changes", {{request.document.uri, std::move(edits)}}}};
}

} // namespace sonde::lsp
