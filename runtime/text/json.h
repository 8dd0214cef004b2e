// JSON output with nlohmann's library. Members of an object keep the order in which they were added.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace sonde {

using Json = nlohmann::ordered_json;

// Converts to text on one line, or indented by `indent` blanks for each level. Replaces bytes that are not UTF-8 by
// U+FFFD.
inline std::string json_text(const Json& json, int indent = -1) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

} // namespace sonde
