// textDocument/hover: the declaration of a name with its type and its comment, the type of a `$variable`, and what the
// reference says about a keyword or an operator.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/lsp/features.h"
#include "driver/lsp/names.h"
#include "driver/reference.h"
#include "stdlib/stdlib.h"

namespace sonde::lsp {
namespace {

constexpr size_t most_sentences = 6;

std::string code_block(const std::string& code) { return fmt::format("```systemtap\n{}\n```\n", code); }

// The type that the last check has found; empty: it is not known.
std::string type_of(const Name& name, const Document& document) {
    if (!document.is_checked())
        return "";
    for (const Occurrence& one : name.occurrences)
        if (std::optional<std::string> type = text_member(document.checked["types"], std::to_string(one.range.begin)))
            return *type;
    return "";
}

std::string describe(const Name& name, const Document& document) {
    std::string shown = name.shown;
    const std::string type = type_of(name, document);
    const bool is_variable =
        name.kind == NameKind::Global || name.kind == NameKind::Local || name.kind == NameKind::Parameter;
    if (!type.empty() && is_variable && shown.find(':') == std::string::npos)
        shown += ": " + type;
    else if (!type.empty() && name.kind == NameKind::Function && shown.find(name.name + ":") == std::string::npos)
        shown.insert(shown.find(name.name) + name.name.size(), ":" + type);
    return name.doc.empty() ? code_block(shown) : fmt::format("{}\n{}", code_block(shown), name.doc);
}

// Returns the points of the probe or alias at the offset, as a pattern of -L; empty outside of these.
std::string points_at(const ast::File& tree, size_t offset) {
    std::vector<std::string> out;
    const auto add = [&](const std::vector<ast::ProbePoint*>& points, Range range) {
        if (range.begin <= offset && offset <= range.end)
            for (const ast::ProbePoint* point : points)
                out.push_back(ast::to_source(*point));
    };
    for (const ast::Probe* probe : tree.probes)
        add(probe->points, probe->range);
    for (const ast::Alias* alias : tree.aliases)
        add(alias->points, alias->range);
    return fmt::format("{}", fmt::join(out, ", "));
}

// `$count: int`; empty if the points have no such variable. Different points can have different types.
std::string describe_variable(const std::string& name, const std::string& points, const Request& request) {
    Result<std::unique_ptr<Script>> listing = open_for_listing(request.document, request.setting, true);
    if (!listing)
        return "";
    std::vector<std::string> types;
    for (const std::string& line : list_quietly(**listing, points, true)) {
        const size_t begin = line.find(fmt::format(" {}:", name));
        if (begin == std::string::npos)
            continue;
        const size_t type = begin + name.size() + 2;
        // A type may contain blanks. It ends before the next variable, `$NAME:` or `NAME:`.
        size_t end = line.size();
        for (size_t i = line.find(' ', type); i != std::string::npos; i = line.find(' ', i + 1))
            if (line.substr(i + 1, line.find(' ', i + 1) - i - 1).find(':') != std::string::npos) {
                end = i;
                break;
            }
        if (std::string text = line.substr(type, end - type); std::ranges::count(types, text) == 0)
            types.push_back(std::move(text));
    }
    return types.empty() ? "" : fmt::format("{}: {}", name, fmt::join(types, " or "));
}

std::string explain_word(const std::string& word) {
    std::vector<std::string> sentences = find_in_reference(reference_text(), word);
    if (sentences.size() > most_sentences)
        sentences.resize(most_sentences);
    return sentences.empty() ? "" : fmt::format("```text\n{}\n```\n", fmt::join(sentences, "\n"));
}

} // namespace

Answer answer_hover(const Request& request) {
    std::variant<ScriptPosition, Failure> opened = open_at_position(request);
    if (const Failure* failure = std::get_if<Failure>(&opened))
        return *failure;
    const auto& [owner, offset] = std::get<ScriptPosition>(opened);
    Script& script = *owner;
    Places places(script, request.document, request.setting);
    const NameIndex index(script);
    std::string text;
    Range range;
    if (const Occurrence* one = index.occurrence_at(offset)) {
        range = one->range;
        text = describe(*index.at(offset), request.document);
    } else {
        const auto token = std::ranges::find_if(
            script.tokens, [&](const Token& one) { return one.range.begin <= offset && offset < one.range.end; });
        if (token == script.tokens.end() || (token->kind != TokenKind::Identifier && token->kind != TokenKind::Keyword))
            return Json();
        range = token->range;
        if (token->text.starts_with('$') && !token->text.starts_with("$$"))
            text = describe_variable(token->text, points_at(*script.tree, offset), request);
        text = text.empty() ? explain_word(token->text) : code_block(text);
    }
    if (text.empty())
        return Json();
    return Json{{"contents", {{"kind", "markdown"}, {"value", text}}}, {"range", places.range(range)}};
}

} // namespace sonde::lsp
