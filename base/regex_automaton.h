// Builds one table with all deterministic automata of a regular expression. For base/regex_*.cc only.
//
// A deterministic automaton reads each byte once: its next state is table[state][class of the byte]. So a test takes
// linear time and no memory. So BPF can run it, where neither recursion nor backtracking is possible.
//
// Bytes between which the expression does not distinguish form a class. For example, `[0-9]+x` has three classes:
// digits, `x`, and everything else. So a row of the table has 3 cells instead of 256.
//
// An automaton is made in three steps:
// - build() makes a nondeterministic automaton of items (Thompson's construction). A repetition becomes a fork: read
//   once more, or go on.
// - determinise() makes a state of each set of items that can be reached by the same bytes (the subset construction).
// - finish() merges states that accept the same strings (Moore's algorithm), over all automata at once, because many of
//   them have parts in common.
//
// What would break it: the number of states can grow exponentially. For `(a|b)*a(a|b){20}`, an automaton must remember
// the last 21 bytes, which takes two million states. So items, states and work are limited (too_large()).
//
// Anchors depend on the position in the string. `^` can only be passed before the first byte, so a match has two start
// states (Start): one for the string's edge, one for everywhere else. `$` can only be passed after the last byte, so
// each state has two flags: whether it accepts at the edge, and whether it accepts inside.
#pragma once

#include <map>

#include "base/regex.h"

namespace sonde::regex {

// All automata of one pattern, which share states and one table. The constructor determines the classes of bytes.
class Automata {
  public:
    explicit Automata(const Node& root);

    struct Kind {
        bool backward = false; // reads from the end to the beginning
        bool anywhere = false; // skips any bytes first
        bool settled = false;  // remains accepting, whatever follows
    };
    // Adds the automaton of a tree, ignoring groups. The cells are valid after finish() and translate().
    Start add(const Node& node, Kind kind);
    // If true, the result of add() is invalid.
    bool too_large() const { return too_large_; }
    // Merges equivalent states and fills the table.
    bool finish(Program& program);
    Cell translate(Cell raw) const { return translated_[raw]; }

  private:
    // A state of a nondeterministic automaton.
    struct Item {
        enum Kind { Fork, Read, AtStart, AtStop, Accept } kind = Fork;
        Bytes classes; // Read
        uint32_t next = 0, other = 0;
    };
    // A state before minimization.
    struct State {
        std::vector<Cell> row;
        bool inside = false, edge = false;
    };

    std::string text(const Node& node) const;
    Bytes classes_of(const Bytes& bytes) const;
    uint32_t item(Item item);
    uint32_t build(const Node& node, uint32_t next, bool backward);
    Start determinise(uint32_t start, bool settled);
    Cell state_of(const std::vector<uint32_t>& items, bool at_start, bool settled);
    void close(uint32_t from, bool at_start, bool at_stop);

    std::array<uint8_t, 256> class_of_ = {};
    uint32_t width_ = 1;
    bool too_large_ = false;
    size_t work_ = 0;
    std::vector<State> states_;
    std::vector<Cell> translated_;
    std::map<std::string, Start> known_;

    // State while an automaton is built.
    std::vector<Item> items_;
    std::map<std::vector<uint32_t>, Cell> numbers_;
    std::vector<std::vector<uint32_t>> pending_sets_;
    std::vector<Cell> pending_;
    std::vector<uint32_t> seen_, reached_, todo_;
    uint32_t stamp_ = 0;
};

} // namespace sonde::regex
