// What must be known of a whole script before any of it can be written: which map holds what, under which keys, and
// which names are taken.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/bridge/bridge.h"
#include "frontend/bridge/point.h"
#include "frontend/bridge/tree.h"

namespace sonde::bridge {

enum class Value : uint8_t { Number, Text, KernelStack, UserStack };

// How a map is filled: as a variable, or by one of the functions that collect.
enum class Collects : uint8_t { Nothing, Count, Sum, Average, Least, Most, Statistics, Powers, Linear };

struct MapFacts {
    std::string name; // ours
    Collects collects = Collects::Nothing;
    Value value = Value::Number;
    std::vector<Value> keys;
    std::vector<std::string> key_names; // in a loop over it: one name has one type in all loops of the script
    std::vector<std::string> ranges;    // Linear: least, most, width
    bool is_read = false;               // so that ours does not print it by itself
    std::string top, divisor;           // trunc(@x, 5), normalize(@x, 1024): of what is shown; empty: all, as it is
    bool cleared_at_end = false;
    bool shown_at_end = false; // the script does it
};

struct Facts {
    std::map<std::string, MapFacts> maps;              // by their name there; thread variables as "self->x"
    std::map<std::string, Value> variables;            // by ours
    std::map<std::string, std::string> variable_types; // of those that hold a pointer that was cast: "struct sock"
    std::set<std::string> ports;                       // variables that hold a member that is one, in the net's order
};

Facts find_facts(const Tree& tree, const std::vector<OurPoint>& points, Dialect dialect);

// A name of a map that collects: count, quantize, ...; Nothing for any other function.
Collects find_collector(std::string_view function, Dialect dialect);

// What an expression is, at a point.
Value value_of(const Node& node, const Facts& facts, const OurPoint& point);

// fds[FD].fi_pathname
bool is_file_name(const Node& node);

// A variable's name there as ours: no keyword, none that a map has.
std::string variable_name(const std::string& name, const Facts& facts);

} // namespace sonde::bridge
