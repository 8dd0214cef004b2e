// Translates expressions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/bridge/bridged.h"
#include "frontend/bridge/facts.h"
#include "frontend/bridge/point.h"
#include "frontend/bridge/tree.h"

namespace sonde::bridge {

// The state while expressions are translated: the script, and the point of the current clause.
struct Writing {
    std::string_view text;
    Dialect dialect;
    const Facts& facts;
    const OurPoint* point = nullptr;
    std::vector<Gap> gaps;
    bool uses_start = false;          // the output uses elapsed
    bool uses_words = false;          // ... join()
    bool uses_either = false;         // ... str() of an address that can be a program's or the kernel's
    bool needs_guru = false;          // ... signal()
    std::vector<std::string> counted; // maps with len(), by our names

    const MapFacts& map_of(const Node& node) const;
    // Records that this has no counterpart. Returns a comment that names it, and 0 as the value.
    std::string gap(const Node& node, const std::string& why);
    std::string_view original(const Node& node) const { return text.substr(node.begin, node.end - node.begin); }
};

// Translates an expression. `inner`: it is an operand, so it gets parentheses where our language would parse it
// differently.
std::string write(Writing& w, const Node& node, bool inner = false);
// The same where an address, or a text for `%s`, is expected.
std::string write_pointer(Writing& w, const Node& node);
std::string write_text(Writing& w, const Node& node);
// The same for a condition: a text is true unless it is empty.
std::string write_condition(Writing& w, const Node& node);
// An element such as `start[tid()]`, without the function that aggregates it.
std::string write_element(Writing& w, const Node& map);
// The arguments of printf, beginning with the format.
std::string write_format(Writing& w, const std::vector<NodePtr>& parts, size_t first);

// The text for a comment, without the characters that would end it.
std::string comment_text(std::string_view text);

} // namespace sonde::bridge
