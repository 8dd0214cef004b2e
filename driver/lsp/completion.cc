// textDocument/completion.
//
// Points, `$variables`, statements and functions of the library come from the completion of the shell
// (driver/completion). This file adds the names of the script itself. Locals are taken from the tokens, because a
// handler with a word that is not finished may have no tree.
#include "driver/lsp/completion.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "driver/completion/point_completions.h"
#include "driver/lsp/features.h"
#include "driver/lsp/names.h"
#include "frontend/probes/probe.h"
#include "frontend/tapset/inventory.h"

namespace sonde::lsp {
namespace {

// CompletionItemKind of the protocol.
enum class ItemKind { Function = 3, Field = 5, Variable = 6, Keyword = 14, Constant = 21, Event = 23, Operator = 24 };

struct Item {
    std::string text, detail, doc;
    ItemKind kind;
    int rank; // those with a lower rank come first
};

ItemKind kind_of(const Completion& one, ScriptPlace place) {
    if (place == ScriptPlace::Head)
        return ItemKind::Event;
    if (one.text.starts_with('$'))
        return ItemKind::Field;
    if (one.text.starts_with('@'))
        return ItemKind::Operator;
    return one.help.empty() ? ItemKind::Keyword : ItemKind::Function;
}

int rank_of(ItemKind kind) {
    return kind == ItemKind::Keyword || kind == ItemKind::Operator ? 3 : kind == ItemKind::Function ? 2 : 0;
}

// Returns the names in the probe or function at the offset that look like variables.
std::vector<std::string> find_locals(const Script& script, size_t offset) {
    const auto begins = [](const Token& token) { return token.is_keyword("probe") || token.is_keyword("function"); };
    size_t begin = 0, end = script.tokens.size();
    for (size_t i = 0; i < script.tokens.size(); i++)
        if (begins(script.tokens[i])) {
            if (script.tokens[i].range.begin >= offset) {
                end = i;
                break;
            }
            begin = i;
        }
    while (begin < end && !script.tokens[begin].is("{") && !script.tokens[begin].is("("))
        begin++; // the points
    std::vector<std::string> out;
    for (size_t i = begin; i + 1 < end; i++) {
        const Token& token = script.tokens[i];
        const bool is_name = token.kind == TokenKind::Identifier && token.text[0] != '$' && token.text[0] != '@';
        const bool is_other =
            script.tokens[i + 1].is("(") || (i > 0 && (script.tokens[i - 1].is("->") || script.tokens[i - 1].is(".")));
        const bool is_here = token.range.begin <= offset && offset <= token.range.end;
        if (is_name && !is_other && !is_here && std::ranges::count(out, token.text) == 0)
            out.push_back(token.text);
    }
    return out;
}

PointSources make_sources(const Request& request, const Json& inventory) {
    PointSources out;
    out.forms = probe_point_forms();
    if (const Json* aliases = find_member(inventory, "aliases"))
        out.aliases = aliases->get<std::vector<std::string>>();
    out.list = [&request](const std::string& point, bool with_variables) {
        Result<std::unique_ptr<Script>> script = open_for_listing(request.document, request.setting, with_variables);
        return script ? list_quietly(**script, point, with_variables) : std::vector<std::string>();
    };
    out.functions = [&inventory] {
        const Json* functions = find_member(inventory, "functions");
        return functions ? functions->get<std::vector<std::string>>() : std::vector<std::string>();
    };
    return out;
}

// Adds the names of the script.
void add_own_names(std::vector<Item>& out, Script& script, size_t offset, ScriptPlace place, const std::string& word) {
    const auto offer = [&](const std::string& text, Item item) {
        if (!text.starts_with(word) || text == word)
            return;
        std::erase_if(out, [&](const Item& one) { return one.text == text; });
        item.text = text;
        out.push_back(std::move(item));
    };
    const NameIndex index(script);
    for (const Name& name : index.names()) {
        const bool is_own = !name.is_elsewhere;
        if (name.kind == NameKind::Macro)
            offer("@" + name.name, {"", name.shown, "", ItemKind::Constant, 1});
        if (place == ScriptPlace::Head || !is_own)
            continue;
        if (name.kind == NameKind::Function)
            offer(name.name + "(", {"", name.shown, name.doc, ItemKind::Function, 1});
        else if (name.kind == NameKind::Global)
            offer(name.name, {"", name.shown, "", ItemKind::Variable, 0});
    }
    if (word.starts_with('@'))
        for (const auto& [name, macro] : script.t.macros.macros)
            if (!name.starts_with('_'))
                offer("@" + name, {"", "macro of the library", "", ItemKind::Constant, 2});
    if (place == ScriptPlace::Body && !word.empty())
        for (const std::string& name : find_locals(script, offset))
            if (std::ranges::count(out, name, &Item::text) == 0)
                offer(name, {"", "local", "", ItemKind::Variable, 0});
}

} // namespace

Json read_inventory(const Setting& setting) {
    Document empty;
    Result<std::unique_ptr<Script>> script = open_for_listing(empty, setting, false);
    if (!script)
        return nullptr;
    Library& library = *(*script)->t.library;
    Json aliases = Json::array();
    for (const std::string& line : describe_aliases(library))
        aliases.push_back(line.substr(0, line.find(" = ")));
    return {{"functions", describe_functions(library, false)}, {"aliases", std::move(aliases)}};
}

Answer answer_completion(const Request& request) {
    std::variant<ScriptPosition, Failure> opened = open_at_position(request);
    if (const Failure* failure = std::get_if<Failure>(&opened))
        return *failure;
    const auto& [owner, offset] = std::get<ScriptPosition>(opened);
    Script& script = *owner;
    const Json inventory =
        request.setting.inventory.is_object() ? request.setting.inventory : read_inventory(request.setting);
    PointSources sources = make_sources(request, inventory);
    for (const ast::Alias* alias : script.tree->aliases)
        for (const ast::ProbePoint* name : alias->names)
            sources.aliases.push_back(ast::to_source(*name));
    const std::string before = request.document.text.bytes().substr(0, offset);
    ScriptCompletions found = complete_script_end(before, sources);
    std::vector<Item> items;
    for (Completion& one : found.words) {
        const ItemKind kind = kind_of(one, found.place);
        items.push_back({std::move(one.text), std::move(one.help), "", kind, rank_of(kind)});
    }
    if (found.place == ScriptPlace::Body ||
        (found.place == ScriptPlace::Top && before.substr(found.begin).starts_with('@')))
        add_own_names(items, script, offset, found.place, before.substr(found.begin));
    // An edit must not contain a line break, but a point can. Keep the lines before the last one.
    const size_t line = before.rfind('\n') + 1; // 0 if there is none
    const size_t begin = std::max(found.begin, line), kept = begin - found.begin;
    const Json range = to_json(request.document.text.position(begin), request.document.text.position(offset));
    Json list = Json::array();
    for (const Item& item : items) {
        if (item.text.compare(0, kept, before, found.begin, kept) != 0)
            continue;
        const std::string text = item.text.substr(kept);
        Json one = {{"label", text},
                    {"kind", static_cast<int>(item.kind)},
                    {"sortText", fmt::format("{}{}", item.rank, text)},
                    {"filterText", text},
                    {"textEdit", {{"range", range}, {"newText", text}}}};
        if (!item.detail.empty())
            one["detail"] = item.detail;
        if (!item.doc.empty())
            one["documentation"] = {{"kind", "markdown"}, {"value", item.doc}};
        list.push_back(std::move(one));
    }
    // Names in programs are listed for the typed beginning only, so the editor must ask again.
    return Json{{"isIncomplete", true}, {"items", std::move(list)}};
}

} // namespace sonde::lsp
