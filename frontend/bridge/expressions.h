// Expressions of the other languages, as ours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/bridge/bridge.h"
#include "frontend/bridge/facts.h"
#include "frontend/bridge/point.h"
#include "frontend/bridge/tree.h"

namespace sonde::bridge {

// What expressions are written with: the script, and the point of the clause.
struct Writing {
    std::string_view text;
    Dialect dialect;
    const Facts& facts;
    const OurPoint* point = nullptr;
    std::vector<Gap> gaps;
    bool uses_start = false;          // elapsed
    bool uses_words = false;          // join()
    bool uses_either = false;         // str() of what may be a program's or the kernel's
    bool needs_guru = false;          // signal()
    std::vector<std::string> counted; // maps of len(), by our names

    const MapFacts& map_of(const Node& node) const;
    // Notes that there is no such thing here; gives what stands in its place: a comment that names it, and 0.
    std::string gap(const Node& node, const std::string& why);
    std::string_view original(const Node& node) const { return text.substr(node.begin, node.end - node.begin); }
};

// With parentheses where ours would read it otherwise; `inner`: it is an operand.
std::string write(Writing& w, const Node& node, bool inner = false);
// The same where an address is expected, or a text that `%s` prints.
std::string write_pointer(Writing& w, const Node& node);
std::string write_text(Writing& w, const Node& node);
// As a condition: a text is true unless it is empty.
std::string write_condition(Writing& w, const Node& node);
// `start[tid()]`, without what collects around it.
std::string write_element(Writing& w, const Node& map);
// The arguments of printf, from the format on.
std::string write_format(Writing& w, const std::vector<NodePtr>& parts, size_t first);

// A comment may not end in what it quotes.
std::string comment_text(std::string_view text);

} // namespace sonde::bridge
