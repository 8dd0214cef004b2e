// textDocument/formatting and textDocument/rangeFormatting: the style of `sonde fmt`, as edits of the blanks between
// tokens. So the cursor, marks and folds of the editor stay where they are.
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/diag.h"
#include "base/source.h"
#include "driver/formatting.h"
#include "driver/lsp/features.h"
#include "frontend/formatter/format_script.h"

namespace sonde::lsp {
namespace {

// Returns the edits that touch the bytes [begin, end).
Answer answer_with_edits(const Request& request, size_t begin, size_t end) {
    const Text& text = request.document.text;
    Sources sources;
    Diagnostics diags(sources);
    const FileId script = sources.add("", text.bytes());
    Result<std::string> formatted = format_checked(sources, script, diags);
    if (diags.has_errors()) {
        const Diagnostic& first = diags.all().front();
        return Failure{ErrorCode::RequestFailed,
                       fmt::format("cannot format the script: line {}: {}",
                                   sources.line_column(first.range.file, first.range.begin).line, first.message)};
    }
    if (!formatted)
        return Failure{ErrorCode::InternalError, formatted.error().message};
    Json out = Json::array();
    for (const TextEdit& edit : find_edits(text.bytes(), *formatted))
        if (edit.begin <= end && begin <= edit.end)
            out.push_back(
                {{"range", to_json(text.position(edit.begin), text.position(edit.end))}, {"newText", edit.text}});
    return out;
}

} // namespace

Answer answer_formatting(const Request& request) {
    return answer_with_edits(request, 0, request.document.text.bytes().size());
}

Answer answer_range_formatting(const Request& request) {
    const Json* member = find_member(request.params, "range");
    const std::optional<Span> span = member ? read_span(*member) : std::nullopt;
    if (!span)
        return wrong_params("a range");
    return answer_with_edits(request, request.document.text.offset(span->begin),
                             request.document.text.offset(span->end));
}

} // namespace sonde::lsp
