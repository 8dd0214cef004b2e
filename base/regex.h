// POSIX extended regular expressions (IEEE Std 1003.1, 9.4), compiled to deterministic automata over bytes.
//
// What matches is the longest of the leftmost matches. Groups follow POSIX's rule: each subpattern, from left to right,
// takes the longest string that lets the whole match stay as it is. It is applied literally: the bounds of the whole
// are found first; then, from the outside in, each concatenation is divided where its first part is longest, with one
// automaton that reads the first part forward and one that reads the rest backward. Every step is linear in the length,
// but for two: repetitions that can end in many places, and expressions for which the automaton that finds where a
// match begins would be too large. These are tried from one place after the other.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::regex {

using Bytes = std::bitset<256>;

struct Node;
using NodePtr = std::shared_ptr<const Node>;

struct Node {
    enum Kind { Empty, Set, Begin, End, Concat, Alternatives, Repeat, Group };
    static constexpr int endless = -1;
    Kind kind = Empty;
    Bytes bytes;                // Set
    std::vector<NodePtr> parts; // Repeat and Group have one
    int min = 0, max = 0;       // Repeat; max may be endless
    uint32_t group = 0;         // Group: its number, from 1
};

// What is wrong with bytes [begin, end) of a pattern.
struct Problem {
    size_t begin = 0, end = 0;
    std::string message;
    std::string help; // or empty
};

struct Pattern {
    NodePtr root;
    uint32_t groups = 1; // with the whole match
};

std::optional<Pattern> parse(std::string_view text, Problem& problem);

// A state with its flags, as it is in the table. State 0 never accepts.
using Cell = uint16_t;
constexpr Cell state_mask = 0x3fff;
constexpr Cell accepts_inside = 0x4000;  // what was read is in the language
constexpr Cell accepts_at_edge = 0x8000; // ... if this is the string's edge towards which the automaton reads

// Where an automaton starts: in the middle of a string, and at the edge from which it reads.
struct Start {
    Cell inside = 0, edge = 0;
};

// Finding the groups: registers hold offsets in the string; 0 and 1 the whole match. `from` and `to` bound a range.
struct Op {
    enum Code : uint16_t {
        Search,  // register 0: the leftmost begin that `backward` finds; register 1: the last end for `forward`
        Try,     // the same without `backward`: from one begin after the other
        Done,    // the match is complete
        Mark,    // group `out` has the range
        Unset,   // group `out` has none
        After,   // register out = from + target
        Before,  // register out = to - target
        Jump,    // to op `target`
        IfEmpty, // jump if the range is empty
        Unless,  // jump unless `forward` accepts the range
        Split,   // register out: the last place with `forward` before it and `backward` after it; none: jump
        Last,    // the same repeated, each time after the one before: `out` is where the last one begins
    };
    Code code = Done;
    uint16_t from = 0, to = 1, out = 0, target = 0;
    Start forward, backward;
};

struct Program {
    uint32_t groups = 1;
    bool captures = false;                 // else there are no ops
    std::array<uint8_t, 256> classes = {}; // bytes that no automaton tells apart
    uint32_t width = 0;                    // classes; a state's row in the table
    std::vector<Cell> table;
    // Says whether there is a match, accepts_inside as soon as that is sure: from the begin of the string, or, if there
    // is no automaton for that, from one place after the other.
    Start test;
    bool test_everywhere = false;
    std::vector<Op> ops;
};

constexpr size_t max_states = 2000, max_ops = 1024, max_registers = 256, max_groups = 64;

// With `captures`, it can find the groups. A problem has no place: it is the pattern's size.
std::optional<Program> compile(const Pattern& pattern, bool captures, Problem& problem);

} // namespace sonde::regex
