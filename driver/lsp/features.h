// The requests about a document, one file each. Each runs in a worker.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <variant>

#include "driver/lsp/documents.h"
#include "driver/lsp/protocol.h"
#include "driver/lsp/script.h"

namespace sonde::lsp {

struct Request {
    const Document& document;
    const Json& params;
    const Setting& setting;
};

struct Feature {
    std::string_view method;
    Answer (*answer)(const Request& request);
    // The member of ServerCapabilities, and its value.
    std::string_view capability;
    Json (*option)();
};

// Null: no feature has this method.
const Feature* find_feature(std::string_view method);
Json capabilities();

Answer answer_code_actions(const Request& request);
Answer answer_completion(const Request& request);
Answer answer_definition(const Request& request);
Answer answer_document_symbols(const Request& request);
Answer answer_formatting(const Request& request);
Answer answer_hover(const Request& request);
Answer answer_prepare_rename(const Request& request);
Answer answer_range_formatting(const Request& request);
Answer answer_references(const Request& request);
Answer answer_rename(const Request& request);
Answer answer_semantic_tokens(const Request& request);
Json semantic_tokens_option();

Failure wrong_params(std::string_view expected);

// The script of a request, and the offset of its `params.position`.
struct ScriptPosition {
    std::unique_ptr<Script> script;
    size_t offset;
};
// Failures: the position is missing or wrong, or those of open_script().
std::variant<ScriptPosition, Failure> open_at_position(const Request& request);

} // namespace sonde::lsp
