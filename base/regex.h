// POSIX extended regular expressions (IEEE Std 1003.1, 9.4), compiled to deterministic automata over bytes.
//
// A match is the longest of the leftmost matches. Groups follow POSIX's rule: each subpattern, from left to right,
// takes the longest string with which the whole match remains the same. This is implemented literally. First the bounds
// of the whole match are determined. Then each concatenation, from the outside in, is divided where its first part is
// longest. Two automata find this place: one reads the first part forward, one reads the rest backward.
//
// Example: `(a|ab)(c|bcd)(d*)` on "abcd" matches all four bytes. The first group can be "a" or "ab", and takes "ab". So
// the others are "c" and "d".
//
// Each step takes linear time, with two exceptions: repetitions that can end in many places, and expressions for which
// the automaton that finds the begin of a match would be too large. These are tried from one place after the other.
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

// A node of the parsed pattern. Nodes are immutable, and repeated parts share nodes.
struct Node {
    enum Kind { Empty, Set, Begin, End, Concat, Alternatives, Repeat, Group };
    static constexpr int endless = -1;
    Kind kind = Empty;
    Bytes bytes;                // Set
    std::vector<NodePtr> parts; // Repeat and Group have one
    int min = 0, max = 0;       // Repeat; max may be `endless`
    uint32_t group = 0;         // Group: its number, counted from 1
};

// A problem with bytes [begin, end) of a pattern.
struct Problem {
    size_t begin = 0, end = 0;
    std::string message;
    std::string help; // may be empty
};

// A parsed pattern.
struct Pattern {
    NodePtr root;
    uint32_t groups = 1; // including the whole match
};

// Parses a pattern. Returns nullopt and fills `problem` if the pattern is invalid.
std::optional<Pattern> parse(std::string_view text, Problem& problem);

// A state number with flags, as stored in the table. State 0 never accepts.
using Cell = uint16_t;
constexpr Cell state_mask = 0x3fff;
constexpr Cell accepts_inside = 0x4000;  // accepts the bytes read so far
constexpr Cell accepts_at_edge = 0x8000; // the same, if this is the end of the string in the automaton's direction

// The start states of an automaton: in the middle of a string, and at its edge.
struct Start {
    Cell inside = 0, edge = 0;
};

// Operations that find the groups. Registers contain offsets in the string; registers 0 and 1 are the whole match.
// `from` and `to` are registers that bound a range.
struct Op {
    enum Code : uint16_t {
        Search,  // register 0: the leftmost beginning that `backward` finds; register 1: the last end for `forward`
        Try,     // the same without `backward`: tries all beginnings in order
        Done,    // the match is complete
        Mark,    // the range is the match of group `out`
        Unset,   // group `out` has no match
        After,   // register `out` = from + target
        Before,  // register `out` = to - target
        Jump,    // continue with operation `target`
        IfEmpty, // jump if the range is empty
        Unless,  // jump unless `forward` accepts the range
        Split, // register `out`: the last place with `forward` before it and `backward` after it; jump if there is none
        Last,  // the same repeatedly, each time after the previous place; register `out`: start of the last part
    };
    Code code = Done;
    uint16_t from = 0, to = 1, out = 0, target = 0;
    Start forward, backward;
};

// A compiled pattern. codegen/lower/regex_image.h converts it to constant data for handlers.
struct Program {
    uint32_t groups = 1;
    bool captures = false;                 // false: there are no operations
    std::array<uint8_t, 256> classes = {}; // bytes that no automaton distinguishes have the same class
    uint32_t width = 0;                    // number of classes, which is the length of a state's row
    std::vector<Cell> table;
    // The automaton that tests for a match; has accepts_inside as soon as the result is certain. It starts at the
    // beginning of the string. If such an automaton would be too large (test_everywhere), it is started at every place.
    Start test;
    bool test_everywhere = false;
    std::vector<Op> ops;
};

constexpr size_t max_states = 2000, max_ops = 1024, max_registers = 256, max_groups = 64;

// Compiles a pattern. `captures`: with operations that find the groups. Returns nullopt if the automata are too large;
// `problem` has no range then.
std::optional<Program> compile(const Pattern& pattern, bool captures, Problem& problem);

} // namespace sonde::regex
