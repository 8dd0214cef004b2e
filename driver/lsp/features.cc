#include "driver/lsp/features.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace sonde::lsp {
namespace {

Json yes() { return true; }
Json quick_fixes() { return {{"codeActionKinds", Json::array({"quickfix"})}}; }
Json prepare() { return {{"prepareProvider", true}}; }
Json triggers() { return {{"triggerCharacters", Json::array({".", "\"", "$", "@", "(", "/", ":"})}}; }

constexpr Feature features[] = {
    {"textDocument/codeAction", answer_code_actions, "codeActionProvider", quick_fixes},
    {"textDocument/completion", answer_completion, "completionProvider", triggers},
    {"textDocument/definition", answer_definition, "definitionProvider", yes},
    {"textDocument/documentSymbol", answer_document_symbols, "documentSymbolProvider", yes},
    {"textDocument/formatting", answer_formatting, "documentFormattingProvider", yes},
    {"textDocument/hover", answer_hover, "hoverProvider", yes},
    {"textDocument/prepareRename", answer_prepare_rename, "", nullptr},
    {"textDocument/rangeFormatting", answer_range_formatting, "documentRangeFormattingProvider", yes},
    {"textDocument/references", answer_references, "referencesProvider", yes},
    {"textDocument/rename", answer_rename, "renameProvider", prepare},
    {"textDocument/semanticTokens/full", answer_semantic_tokens, "semanticTokensProvider", semantic_tokens_option},
};

} // namespace

const Feature* find_feature(std::string_view method) {
    const auto* found = std::ranges::find(features, method, &Feature::method);
    return found == std::end(features) ? nullptr : found;
}

Json capabilities() {
    Json out = {{"positionEncoding", "utf-16"},
                {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", true}}}};
    for (const Feature& feature : features)
        if (!feature.capability.empty())
            out[std::string(feature.capability)] = feature.option();
    return out;
}

Failure wrong_params(std::string_view expected) {
    return {ErrorCode::InvalidParams, fmt::format("expected {} in the parameters", expected)};
}

std::variant<ScriptPosition, Failure> open_at_position(const Request& request) {
    const Json* member = find_member(request.params, "position");
    const std::optional<Position> position = member ? read_position(*member) : std::nullopt;
    if (!position)
        return wrong_params("a position");
    Result<std::unique_ptr<Script>> script = open_script(request.document, request.setting);
    if (!script)
        return Failure{ErrorCode::RequestFailed, script.error().message};
    return ScriptPosition{*std::move(script), request.document.text.offset(*position)};
}

} // namespace sonde::lsp
