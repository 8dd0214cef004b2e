// bpftrace and DTrace do not declare anything. A map is a counter if the script assigns count() to it, and its keys are
// strings if one of its uses has a string there. Our language needs to know this when the map is declared, before its
// first use. So the whole script is searched first.
//
// The types of maps and variables depend on each other (`@a = @b; $x = @a;`), so the search runs twice. A longer chain
// of dependencies is rare; it would give a number where a string is needed, which our parser then reports.
//
// Names are chosen last. `@`, `$x` and `self->x` have separate name spaces in the other languages, and one in ours.
#include "frontend/bridge/facts.h"
#include "frontend/hints/tracepoint_fields.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

namespace sonde::bridge {
namespace {

constexpr std::array<std::string_view, 23> keywords = {"probe", "global",  "private",  "function", "if",     "else",
                                                       "for",   "foreach", "in",       "limit",    "return", "delete",
                                                       "while", "break",   "continue", "next",     "string", "long",
                                                       "try",   "catch",   "print",    "printf",   "error"};

constexpr std::array<std::string_view, 19> text_calls = {
    "str",      "ksym",    "usym",    "strftime", "ntop",     "sym",    "func", "macaddr",   "strerror", "copyinstr",
    "stringof", "strjoin", "lltostr", "substr",   "basename", "strstr", "path", "inet_ntoa", "join"};
constexpr std::array<std::string_view, 9> text_names = {"comm",      "execname", "func",      "probe",   "probefunc",
                                                        "probename", "probemod", "probeprov", "username"};

// Calls `visit` for each node, outer ones first. `used`: whether the node's value is used.
using Visit = std::function<void(const Node& node, bool used)>;
void walk(const Node& node, bool used, const Visit& visit) {
    visit(node, used);
    for (const NodePtr& part : node.parts)
        if (part)
            walk(*part, true, visit);
    for (const auto* list : {&node.body, &node.other})
        for (const NodePtr& inner : *list)
            if (inner)
                walk(*inner, false, visit);
}

// A variable of a thread (`self->x`) becomes an array with the thread as its key.
bool is_map(const Node& node) { return node.kind == NodeKind::Map || node.kind == NodeKind::OfThread; }

std::string key_of(const Node& map) { return map.kind == NodeKind::OfThread ? "self->" + map.text : map.text; }

// The parts of a key: `@a[1, 2]` and `@a[(1, 2)]` are the same.
std::vector<const Node*> key_nodes(const Node& map) {
    std::vector<const Node*> out;
    for (const NodePtr& part : map.parts)
        if (part && part->kind == NodeKind::Tuple)
            for (const NodePtr& inner : part->parts)
                out.push_back(inner.get());
        else
            out.push_back(part.get());
    return out;
}

// Minimum, maximum and width of lhist() and lquantize(); empty if they are not literal numbers.
std::vector<std::string> ranges_of(const Node& call, Dialect dialect) {
    std::vector<std::string> out;
    for (size_t i = 1; i < call.parts.size(); i++) {
        const Node* part = call.parts[i].get();
        const bool minus = part && part->kind == NodeKind::Prefix && part->text == "-";
        if (minus)
            part = part->parts[0].get();
        if (!part || part->kind != NodeKind::Number)
            return {};
        out.push_back((minus ? "-" : "") + part->text);
    }
    if (dialect == Dialect::Dtrace && out.size() == 2)
        out.emplace_back("1");
    return out.size() == 3 ? out : std::vector<std::string>();
}

// A handler may have loops over several maps. In these, a name can be a number or a text, but not both. For `@a[pid]`
// and `@b[comm]`, the loops use the names `key` and `b_key`.
void name_keys(Facts& facts) {
    std::map<std::string, bool> is_number;
    for (auto& [there, map] : facts.maps) {
        map.key_names.clear();
        for (size_t i = 0; i < map.keys.size() && !there.starts_with("self->"); i++) { // these are never printed
            std::string name = map.name == "key" ? "k" : "key"; // a key must not have the name of a map
            if (map.keys.size() > 1)
                name += std::to_string(i + 1);
            const bool number = map.keys[i] == Value::Number;
            if (const auto known = is_number.find(name); known != is_number.end() && known->second != number)
                name.insert(0, map.name + "_");
            is_number.emplace(name, number);
            map.key_names.push_back(name);
        }
    }
}

// Gives each map a name that is neither a keyword nor the name of another map. `@` alone becomes `n` or `values`.
void name_maps(Facts& facts) {
    std::set<std::string> taken(keywords.begin(), keywords.end());
    for (auto& [there, map] : facts.maps) {
        std::string name = there.substr(there.starts_with("self->") ? 6 : there.starts_with(global_prefix) ? 8 : 0);
        if (name.empty())
            name = map.collects == Collects::Nothing || map.collects == Collects::Count ? "n" : "values";
        if (std::isdigit(static_cast<unsigned char>(name[0])))
            name.insert(0, "_");
        while (taken.contains(name) || (there.empty() && facts.maps.contains(name)))
            name += "_";
        taken.insert(name);
        map.name = name;
    }
    name_keys(facts);
}

} // namespace

Collects find_collector(std::string_view function, Dialect dialect) {
    constexpr std::pair<std::string_view, Collects> both[] = {{"count", Collects::Count},
                                                              {"sum", Collects::Sum},
                                                              {"avg", Collects::Average},
                                                              {"min", Collects::Least},
                                                              {"max", Collects::Most}};
    constexpr std::pair<std::string_view, Collects> bpftrace[] = {
        {"stats", Collects::Statistics}, {"hist", Collects::Powers}, {"lhist", Collects::Linear}};
    constexpr std::pair<std::string_view, Collects> dtrace[] = {{"quantize", Collects::Powers},
                                                                {"lquantize", Collects::Linear}};
    for (auto [name, collects] : both)
        if (function == name)
            return collects;
    for (auto [name, collects] : bpftrace)
        if (function == name && dialect == Dialect::Bpftrace)
            return collects;
    for (auto [name, collects] : dtrace)
        if (function == name && dialect == Dialect::Dtrace)
            return collects;
    return Collects::Nothing;
}

bool is_file_name(const Node& node) {
    if (node.kind != NodeKind::Member || node.text != "fi_pathname" || node.parts[0]->kind != NodeKind::Index)
        return false;
    const Node& index = *node.parts[0];
    return index.parts.size() == 2 && index.parts[0]->kind == NodeKind::Name && index.parts[0]->text == "fds";
}

std::string variable_name(const std::string& name, const Facts& facts) {
    std::string out = name;
    const auto is_taken = [&] {
        return std::ranges::find(keywords, std::string_view(out)) != keywords.end() ||
               std::ranges::any_of(facts.maps, [&](const auto& map) { return map.second.name == out; });
    };
    while (is_taken())
        out += "_";
    return out;
}

// Everything that is not known to be a text or a stack is a number.
Value value_of(const Node& node, const Facts& facts, const OurPoint& point) {
    switch (node.kind) {
    case NodeKind::String:
        return Value::Text;
    case NodeKind::Name:
        if (node.text == "kstack")
            return Value::KernelStack;
        if (node.text == "ustack")
            return Value::UserStack;
        return std::ranges::find(text_names, std::string_view(node.text)) != text_names.end() ? Value::Text
                                                                                              : Value::Number;
    case NodeKind::Call:
        if (node.text == "kstack" || node.text == "stack")
            return Value::KernelStack;
        if (node.text == "ustack" || node.text == "jstack")
            return Value::UserStack;
        return std::ranges::find(text_calls, std::string_view(node.text)) != text_calls.end() ? Value::Text
                                                                                              : Value::Number;
    case NodeKind::Variable: {
        const auto found = facts.variables.find(node.text);
        return found == facts.variables.end() ? Value::Number : found->second;
    }
    case NodeKind::Map:
    case NodeKind::OfThread: {
        const auto found = facts.maps.find(key_of(node));
        return found == facts.maps.end() ? Value::Number : found->second.value;
    }
    case NodeKind::Ternary:
        return node.parts[2] ? value_of(*node.parts[2], facts, point) : Value::Number;
    case NodeKind::Member: {
        const Node& base = *node.parts[0];
        if (base.kind == NodeKind::Name && base.text == "args")
            if (const hints::TracepointField* field = hints::find_field(point.tracepoint, node.text))
                return field->is_text ? Value::Text : Value::Number;
        // $kv.0 and $kv.1 in a loop over a map
        if (base.kind == NodeKind::Variable && (node.text == "0" || node.text == "1")) {
            const auto found = facts.variables.find(base.text + "." + node.text);
            if (found != facts.variables.end())
                return found->second;
        }
        return is_file_name(node) || node.text == "comm" || node.text == "pr_psargs" || node.text == "pr_fname"
                   ? Value::Text
                   : Value::Number;
    }
    default:
        return Value::Number;
    }
}

// First the types, then the reads. They need two passes, because only the first one finds all maps.
Facts find_facts(const Tree& tree, const std::vector<OurPoint>& points, Dialect dialect) {
    Facts facts;
    // Types of maps depend on those of variables and vice versa. Two rounds suffice for usual scripts.
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < tree.clauses.size(); i++) {
            const Clause& clause = tree.clauses[i];
            const OurPoint& point = points[i];
            const Visit visit = [&](const Node& node, bool) {
                if (is_map(node)) {
                    MapFacts& map = facts.maps[key_of(node)];
                    const std::vector<const Node*> keys = key_nodes(node);
                    if (node.kind == NodeKind::OfThread)
                        map.keys = {Value::Number};
                    // `print(@a)` names a map without its keys. Such a use must not remove the keys of the other uses.
                    else if (!keys.empty() || map.keys.empty()) {
                        map.keys.clear();
                        for (const Node* key : keys)
                            map.keys.push_back(key ? value_of(*key, facts, point) : Value::Number);
                    }
                }
                if (node.kind == NodeKind::ForMap && node.parts[0] && is_map(*node.parts[0])) {
                    const MapFacts& map = facts.maps[key_of(*node.parts[0])];
                    facts.variables[node.text + ".0"] = map.keys.empty() ? Value::Number : map.keys[0];
                    facts.variables[node.text + ".1"] = map.value;
                }
                if (node.kind != NodeKind::Assign || !node.parts[0] || !node.parts[1])
                    return;
                const Node &left = *node.parts[0], &right = *node.parts[1];
                if (left.kind == NodeKind::Variable) {
                    if (right.kind == NodeKind::Member && right.text.ends_with("dport"))
                        facts.ports.insert(left.text);
                    if (node.text == "=")
                        facts.variables[left.text] = value_of(right, facts, point);
                    if (right.kind == NodeKind::Cast && right.text.ends_with('*'))
                        facts.variable_types[left.text] = right.text.substr(0, right.text.find(" *"));
                    if (right.kind == NodeKind::Name && (right.text == "curtask" || right.text == "curthread"))
                        facts.variable_types[left.text] = "struct task_struct";
                }
                if (!is_map(left))
                    return;
                MapFacts& map = facts.maps[key_of(left)];
                const Collects collects =
                    right.kind == NodeKind::Call ? find_collector(right.text, dialect) : Collects::Nothing;
                if (collects == Collects::Nothing)
                    map.value = value_of(right, facts, point);
                else
                    map.collects = collects;
                if (collects == Collects::Linear)
                    map.ranges = ranges_of(right, dialect);
            };
            if (clause.condition)
                walk(*clause.condition, true, visit);
            for (const NodePtr& statement : clause.body) {
                // Writing, printing or clearing a map does not count as a read.
                walk(*statement, false, visit);
            }
        }
    // Find reads when all maps are known.
    for (size_t i = 0; i < tree.clauses.size(); i++) {
        std::set<const Node*> written;
        const bool at_end = points[i].text == "end";
        // An assignment, `delete` and the like do not read the map that they change, but walk() visits this map like
        // any other operand. Outer nodes are visited first, so they can add the map to `written` before its own visit.
        const Visit mark = [&](const Node& node, bool used) {
            const bool sets =
                (node.kind == NodeKind::Assign || node.kind == NodeKind::Postfix || node.kind == NodeKind::Prefix) &&
                !used;
            const bool crosses = node.kind == NodeKind::Prefix && node.text != "++" && node.text != "--";
            if (sets && !crosses && node.parts[0] && is_map(*node.parts[0]))
                written.insert(node.parts[0].get());
            if (node.kind == NodeKind::Call && node.parts.size() == 2 && node.parts[0] && is_map(*node.parts[0]) &&
                node.parts[1] && node.parts[1]->kind == NodeKind::Number) {
                MapFacts& map = facts.maps[key_of(*node.parts[0])];
                if (node.text == "trunc" && !map.keys.empty())
                    map.top = node.parts[1]->text;
                else if (node.text == "normalize" && map.collects != Collects::Powers &&
                         map.collects != Collects::Linear)
                    map.divisor = node.parts[1]->text;
            }
            if (node.kind == NodeKind::Call)
                for (std::string_view taker : {"delete", "clear", "zero", "trunc", "normalize", "denormalize"})
                    if (node.text == taker && !node.parts.empty() && node.parts[0] && is_map(*node.parts[0])) {
                        written.insert(node.parts[0].get());
                        facts.maps[key_of(*node.parts[0])].cleared_at_end |=
                            at_end && (taker == "clear" || taker == "zero");
                    }
            if (node.kind == NodeKind::Call && (node.text == "print" || node.text == "printa") && at_end)
                for (const NodePtr& part : node.parts)
                    if (part && is_map(*part) && part->parts.empty())
                        facts.maps[key_of(*part)].shown_at_end = dialect == Dialect::Dtrace;
            if (is_map(node) && !written.contains(&node))
                facts.maps[key_of(node)].is_read = true;
        };
        const Clause& clause = tree.clauses[i];
        if (clause.condition)
            walk(*clause.condition, true, mark);
        for (const NodePtr& statement : clause.body)
            walk(*statement, false, mark);
    }
    name_maps(facts);
    return facts;
}

} // namespace sonde::bridge
