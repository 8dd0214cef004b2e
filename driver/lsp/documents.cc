#include "driver/lsp/documents.h"

#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace sonde::lsp {

bool Documents::open(const Json& params) {
    const Json* item = find_member(params, "textDocument");
    if (!item)
        return false;
    std::optional<std::string> uri = text_member(*item, "uri"), text = text_member(*item, "text");
    if (!uri || !text)
        return false;
    Document& document = documents_[*uri] = Document();
    document.uri = *std::move(uri);
    document.version = number_member(*item, "version").value_or(0);
    document.text = Text(*std::move(text));
    document.edits = 1;
    return true;
}

bool Documents::change(const Json& params) {
    Document* document = find(uri_in(params));
    const Json* changes = find_member(params, "contentChanges");
    if (!document || !changes || !changes->is_array())
        return false;
    document->version = number_member(*find_member(params, "textDocument"), "version").value_or(document->version);
    document->edits++;
    bool is_valid = true;
    for (const Json& change : *changes) {
        const std::optional<std::string> text = text_member(change, "text");
        const Json* range = find_member(change, "range");
        const std::optional<Span> span = range ? read_span(*range) : std::nullopt;
        if (!text || (range && !span))
            is_valid = false;
        else if (span)
            document->text.replace(document->text.offset(span->begin), document->text.offset(span->end), *text);
        else
            document->text = Text(*text);
    }
    return is_valid;
}

Document* Documents::find(const std::string& uri) {
    const auto found = documents_.find(uri);
    return found == documents_.end() ? nullptr : &found->second;
}

std::string uri_in(const Json& params) {
    const Json* item = find_member(params, "textDocument");
    return item ? text_member(*item, "uri").value_or("") : "";
}

std::string path_of_uri(const std::string& uri) {
    constexpr std::string_view scheme = "file://";
    if (!uri.starts_with(scheme))
        return "";
    std::string out;
    for (size_t i = std::min(uri.find('/', scheme.size()), uri.size()); i < uri.size(); i++) {
        unsigned value = 0;
        const char* digits = uri.data() + i + 1;
        if (uri[i] == '%' && i + 2 < uri.size() && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
            out += static_cast<char>(value);
            i += 2;
        } else {
            out += uri[i];
        }
    }
    return out;
}

std::string uri_of_path(const std::string& path) {
    std::string out = "file://";
    for (const unsigned char c : path)
        out += isalnum(c) || std::string_view("/-._~").find(static_cast<char>(c)) != std::string_view::npos
                   ? std::string(1, static_cast<char>(c))
                   : fmt::format("%{:02X}", c);
    return out;
}

} // namespace sonde::lsp
