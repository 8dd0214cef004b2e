// The documentation that is built into the binary, as resources and by topic.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/json.h"

namespace sonde::mcp {

// The list for resources/list.
Json list_resources();
// The contents for resources/read; nullopt: the resource does not exist.
std::optional<Json> read_resource(const std::string& uri);

struct Section {
    int level = 0;          // the number of `#`
    std::string_view title; // without them
    std::string_view text;  // with the heading and the subsections
    std::string anchor;     // as in links
};
// Returns the sections of a page in their order.
std::vector<Section> sections_of(std::string_view page);

// Returns the text about a topic: a page, PAGE#SECTION, a tool, an option, or a word of the language. Empty: the list
// of topics. nullopt: nothing is known about it.
std::optional<std::string> find_topic(const std::string& topic);

} // namespace sonde::mcp
