// textDocument/codeAction: the corrections that the last check has found.
#include <optional>
#include <utility>

#include "driver/lsp/features.h"

namespace sonde::lsp {
namespace {

// Whether the client wants quick fixes. Kinds are hierarchical: "quickfix" is one of "quickfix" and of "".
bool wants_quick_fixes(const Json& params) {
    const Json* context = find_member(params, "context");
    const Json* only = context ? find_member(*context, "only") : nullptr;
    if (!only || !only->is_array())
        return true;
    for (const Json& kind : *only)
        if (kind == "quickfix" || (kind.is_string() && kind.get<std::string>().empty()))
            return true;
    return false;
}

} // namespace

Answer answer_code_actions(const Request& request) {
    const Json* range = find_member(request.params, "range");
    const std::optional<Span> span = range ? read_span(*range) : std::nullopt;
    if (!span)
        return wrong_params("a range");
    Json out = Json::array();
    const Document& document = request.document;
    if (!wants_quick_fixes(request.params) || !document.is_checked())
        return out;
    const size_t begin = document.text.offset(span->begin), end = document.text.offset(span->end);
    for (const Json& diagnostic : document.checked["diagnostics"]) {
        const Json* data = find_member(diagnostic, "data");
        const std::optional<Span> place = read_span(diagnostic["range"]);
        if (!data || !place || document.text.offset(place->end) < begin || document.text.offset(place->begin) > end)
            continue;
        const Json& fixes = (*data)["fixes"];
        for (const Json& fix : fixes)
            out.push_back(
                {{"title", fix["title"]},
                 {"kind", "quickfix"},
                 {"diagnostics", Json::array({diagnostic})},
                 {"isPreferred", fixes.size() == 1},
                 {"edit",
                  {{"changes",
                    {{document.uri, Json::array({{{"range", fix["range"]}, {"newText", fix["newText"]}}})}}}}}});
    }
    return out;
}

} // namespace sonde::lsp
