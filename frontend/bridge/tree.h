// The syntax tree of a script in bpftrace's or DTrace's language. The two languages have the same structure and
// different words: clauses with probes, a condition between slashes, and statements as in C. So one tree represents
// both.
//
// For example, the clause
//
//     kprobe:vfs_read /pid == 1/ { @reads[comm] = count(); }
//
// has the point `kprobe:vfs_read`, the condition Binary "==" (Name "pid", Number "1"), and one statement: Assign "="
// (Map "reads" (Name "comm"), Call "count" ()). Each node keeps its place in the text, for messages.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sonde::bridge {

struct Node;
using NodePtr = std::unique_ptr<Node>;

enum class NodeKind {
    Number,     // text
    String,     // text: as written, without the quotes
    Name,       // comm, arg0
    Variable,   // $x, this->x
    OfThread,   // self->x
    Positional, // $1, $#; text: "1"
    Map,        // @x[parts...]; text: "x", may be empty
    Call,       // text(parts...)
    Member,     // parts[0]->text
    Index,      // parts[0][parts[1]]
    Cast,       // (text)parts[0]
    SizeOf,     // sizeof(text)
    Tuple,      // (a, b)
    Prefix,     // text: the operator
    Postfix,
    Binary,
    Ternary,
    Assign, // text: "=", "+="
    // statements
    If,       // parts[0], body, other
    While,    // parts[0], body
    Unroll,   // parts[0], body
    Loop,     // for (parts[0]; parts[1]; parts[2]) body; any may be null
    ForMap,   // for ($text : parts[0]) body
    ForRange, // for ($text : parts[0]..parts[1]) body
    Jump,     // break, continue, return
    Block,    // body
};

struct Node {
    NodeKind kind;
    std::string text;
    std::vector<NodePtr> parts;
    std::vector<NodePtr> body, other;
    size_t begin = 0, end = 0; // bytes of the text
};

// Prefix of the names of maps that represent DTrace's global variables.
constexpr const char* global_prefix = "global->";

struct SpecText {
    std::string text; // kprobe:vfs_read
    size_t begin = 0, end = 0;
};

struct Clause {
    std::string comment; // comment above it
    std::vector<SpecText> points;
    NodePtr condition; // may be null
    std::vector<NodePtr> body;
    size_t begin = 0, end = 0;
};

// Text between clauses: struct definitions, #include, config, pragmas.
struct Aside {
    std::string what;
    size_t begin = 0, end = 0;
};

// let @x = hash(100), lruhash(100)
struct MapSize {
    std::string elements;
    bool forgets = false; // replaces the oldest element when it is full
};

struct Tree {
    std::vector<Clause> clauses;
    std::vector<Aside> asides;
    std::map<std::string, MapSize> sizes; // by name of the map
};

} // namespace sonde::bridge
