// Where calls of an inlined copy come in, by the flow of the code around it.
//
// The copy is a set of instructions. Calls come in at instructions that are reached from outside, but not each of these
// is a call. Compilers move instructions of the caller between those of the copy; what follows is the same call. They
// also unroll a loop around the copy, so that one copy has the code of several calls. In both cases flow leaves the
// copy and comes back:
//
//     sink += n, with the caller's i++ in it      sink += n, twice
//         mov  sink,%rdx                              add  %rdx,sink
//         inc  %rcx            caller                 inc  %rcx         caller
//         add  %rdi,%rdx                              add  %rdx,sink
//         mov  %rdx,sink                              inc  %rcx         caller
//
// A second call repeats the first one: a statement of the copy writes to the same place, or calls the same function,
// before the way in and behind it.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "frontend/types/code_flow.h"

namespace sonde {

using FlowNodes = std::set<size_t>;

// Where an instruction of a copy is in the source. Code of functions that are inlined into the copy is where the copy
// calls them.
struct SourcePlace {
    const char* file = nullptr; // unique per file
    int line = 0;               // 0: not known
    int column = 0;
    bool begins = false; // a statement

    bool is_same(const SourcePlace& other) const {
        return line != 0 && file == other.file && line == other.line && column == other.column;
    }
};

// The instructions of an inlined copy in the flow of the function around it.
class Copy {
  public:
    Copy(const CodeFlow& flow, const std::vector<std::pair<Address, Address>>& ranges);

    const CodeFlow& flow() const { return flow_; }
    bool has(size_t node) const { return inside_[node]; }

    // Nodes of it that are reached from outside, and the function's first one.
    FlowNodes entries(std::optional<size_t> first) const;
    // The nodes that a node leads to inside the copy, without passing `stop`. It is one of them only in a loop.
    FlowNodes reached(size_t from, std::optional<size_t> stop = std::nullopt) const;
    // Nodes outside that are reached from the function's first one without passing the copy, and those of the copy
    // where these paths end.
    FlowNodes first_reached(size_t first) const;
    // Whether execution can leave the copy after that node: to outside, by a return, or to an unknown place.
    bool leaves(size_t node) const;

  private:
    const CodeFlow& flow_;
    std::vector<bool> inside_;
};

// Where execution comes into a copy, and nodes of it that only lead to one of these places.
struct Ways {
    FlowNodes targets, leading;
};

// The node of the copy that a nop or a jump leads to; nullopt for all other nodes.
std::optional<size_t> leads_to(const Copy& copy, size_t node);
// The ways into a copy. `first`: the function's first node.
Ways ways_into(const Copy& copy, std::optional<size_t> first);
// Follows nops and jumps from a node, and returns the last node where other ways come in; else the node itself.
size_t joined(const Copy& copy, const FlowNodes& entries, size_t node, FlowNodes& leading);
// Of two ways where one always leads on to the other's place, keeps the place where they meet.
void meet(const Copy& copy, Ways& ways);

// Keeps the ways that calls come by, and adds nodes where the copy begins another time without having been left.
// `first`: the function's first node; `places`: by node. False: some of the code is of more calls than begin there.
bool drop_continuations(const Copy& copy, size_t first, const std::vector<SourcePlace>& places, Ways& ways);

} // namespace sonde
