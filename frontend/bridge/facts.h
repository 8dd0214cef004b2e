// Facts about a whole script, which are needed before any part of it can be translated: the contents and keys of maps,
// and the names in use.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/bridge/bridged.h"
#include "frontend/bridge/point.h"
#include "frontend/bridge/tree.h"

namespace sonde::bridge {

enum class Value : uint8_t { Number, Text, KernelStack, UserStack };

// How a map is filled: as a variable, or by an aggregating function. Count and Sum become plain numbers (`n++`, `n +=
// x`), and the others become statistics (`n <<< x`).
enum class Collects : uint8_t { Nothing, Count, Sum, Average, Least, Most, Statistics, Powers, Linear };

struct MapFacts {
    std::string name; // our name for it
    Collects collects = Collects::Nothing;
    Value value = Value::Number;
    std::vector<Value> keys;
    std::vector<std::string> key_names; // in a loop over the map; a name has the same type in all loops of the script
    std::vector<std::string> ranges;    // Linear: minimum, maximum, width
    bool is_read = false;               // so our language does not print it at the end
    std::string top, divisor;           // arguments of trunc(@x, 5) and normalize(@x, 1024), for printing; empty: none
    bool cleared_at_end = false;
    bool shown_at_end = false; // by the script
};

struct Facts {
    std::map<std::string, MapFacts> maps; // by their original names; thread variables as "self->x"
    // By their original names without the `$`. A loop `for ($kv : @a)` adds "kv.0" for the key, and "kv.1" for the
    // value.
    std::map<std::string, Value> variables;
    std::map<std::string, std::string>
        variable_types;          // of variables that hold a cast pointer, for example "struct sock"
    std::set<std::string> ports; // variables that hold a port in network byte order
};

// Searches the whole script. `points` has one point for each clause, which determines the types in that clause. For a
// clause with several points, it is the first one that has a counterpart.
Facts find_facts(const Tree& tree, const std::vector<OurPoint>& points, Dialect dialect);

// The aggregating function of this name: count, quantize and others; Nothing for any other function.
Collects find_collector(std::string_view function, Dialect dialect);

// The type of an expression at a point.
Value value_of(const Node& node, const Facts& facts, const OurPoint& point);

// Whether this is fds[FD].fi_pathname.
bool is_file_name(const Node& node);

// Our name for a variable: not a keyword, and not the name of a map.
std::string variable_name(const std::string& name, const Facts& facts);

} // namespace sonde::bridge
