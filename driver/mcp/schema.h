// JSON schemas of tools' arguments. The same schema is published and checked, so they cannot differ. This file supports
// the keywords that these schemas use.
#pragma once

#include <string>
#include <string_view>

#include "runtime/text/json.h"

namespace sonde::mcp {

// Returns what is wrong with the value, with the expected and the given value; empty if it conforms.
std::string find_problem(const Json& schema, const Json& value, const std::string& name);

// Schemas of single values. `about` is for the reader of the schema.
Json text_schema(std::string_view about, size_t max_length = 4096);
Json whole_schema(std::string_view about, int64_t least, int64_t most);
Json number_schema(std::string_view about, double least, double most);
Json flag_schema(std::string_view about);
Json texts_schema(std::string_view about);
// An object without other members than these.
Json object_schema(Json properties, Json required = Json::array());

} // namespace sonde::mcp
