// JSON that sessions write, by nlohmann's library: members stay in the order in which they were added.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace sonde {

using Json = nlohmann::ordered_json;

// On one line, or with that many blanks a level. What is not UTF-8 becomes U+FFFD.
inline std::string json_text(const Json& json, int indent = -1) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

} // namespace sonde
