// The texts that are open in the editor.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "driver/lsp/protocol.h"
#include "driver/lsp/text.h"

namespace sonde::lsp {

struct Document {
    std::string uri;
    int64_t version = 0;
    Text text{""};
    // The result of the last check (check.h), and the number of the edit that it has seen.
    Json checked;
    uint64_t edits = 0, checked_edits = 0;

    bool is_checked() const { return !checked.is_null() && checked_edits == edits; }
};

class Documents {
  public:
    // didOpen, didChange and didClose. False: the parameters are wrong, or the document is not open.
    bool open(const Json& params);
    bool change(const Json& params);
    bool close(const std::string& uri) { return documents_.erase(uri) > 0; }
    // Null: it is not open.
    Document* find(const std::string& uri);
    const Document* find(const std::string& uri) const { return const_cast<Documents*>(this)->find(uri); }

  private:
    std::map<std::string, Document> documents_;
};

// Returns the uri in `params.textDocument`; empty: there is none.
std::string uri_in(const Json& params);

// Returns the path of a `file:` URI; empty for other URIs.
std::string path_of_uri(const std::string& uri);
std::string uri_of_path(const std::string& path);

} // namespace sonde::lsp
