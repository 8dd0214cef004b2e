// The requests about a document, one file each. Each runs in a worker.
#pragma once

#include <span>
#include <string_view>

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
Answer answer_hover(const Request& request);
Answer answer_prepare_rename(const Request& request);
Answer answer_references(const Request& request);
Answer answer_rename(const Request& request);
Answer answer_semantic_tokens(const Request& request);
Json semantic_tokens_option();

// Returns the offset of `params.position`; nullopt: it is missing or wrong.
std::optional<size_t> offset_in(const Request& request);
Failure wrong_params(std::string_view expected);

} // namespace sonde::lsp
