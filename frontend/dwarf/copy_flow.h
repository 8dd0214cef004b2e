// Finds where calls enter an inlined copy, in the control-flow graph of the function around it.
//
// The copy is a set of nodes of the graph. Each call enters the set at a node that has a predecessor outside. But not
// each such edge is a new call:
//
// 1. The compiler moves instructions of the caller between those of the copy. Execution leaves the copy for these and
//    comes back; this is still the same call.
// 2. The compiler unrolls a loop around the copy. Then one copy holds the code of several calls, and execution leaves
//    it between two calls.
//
//     Example for 1: sink += n                    Example for 2: sink += n, twice
//         mov  sink,%rdx                              add  %rdx,sink
//         inc  %rcx            caller                 inc  %rcx         caller
//         add  %rdi,%rdx                              add  %rdx,sink
//         mov  %rdx,sink                              inc  %rcx         caller
//
// A second call repeats what the first one did, and a continued call does not. So sonde compares the code before an
// entry with the code after it. The entry is a new call if a statement of the copy is on both sides, and writes to the
// same memory or calls the same function there.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "frontend/machine/code_flow.h"

namespace sonde {

using FlowNodes = std::set<size_t>;

// The place of an instruction in the source of the copied function. If the instruction belongs to a function that is
// inlined into the copy, this is the place of that call.
struct SourcePlace {
    const char* file = nullptr; // owned by libdw, one pointer for each file, so pointers can be compared
    int line = 0;               // 0: not known
    int column = 0;
    bool begins = false; // the instruction begins a statement
    // The instruction's own place in the line table. If the instruction belongs to such an inner function, this place
    // is in the inner function.
    int row_line = 0, row_column = 0;

    bool is_same(const SourcePlace& other) const {
        return line != 0 && file == other.file && line == other.line && column == other.column;
    }
};

// The nodes of an inlined copy in the graph of the function around it. `flow` must outlive it.
class Copy {
  public:
    Copy(const CodeFlow& flow, const std::vector<std::pair<Address, Address>>& ranges);

    const CodeFlow& flow() const { return flow_; }
    bool has(size_t node) const { return inside_[node]; }
    // Changes which nodes are in the copy (copy_verdict.h).
    void add(const FlowNodes& nodes);
    void remove(const FlowNodes& nodes);

    // Nodes of the copy that have a predecessor outside. `first`, the node of the function's entry, is one too if it is
    // in the copy.
    FlowNodes entries(std::optional<size_t> first) const;
    // Nodes that can be executed after `from` without leaving the copy and without passing `stop`. `from` itself is
    // among them only if it is in a loop.
    FlowNodes reached(size_t from, std::optional<size_t> stop = std::nullopt) const;
    // Nodes that can be executed from `firsts` without going through the copy: nodes outside, and the first nodes of
    // the copy on each path.
    FlowNodes first_reached(const FlowNodes& firsts) const;
    // Nodes outside to which no edge leads, such as landing pads of exceptions; without padding.
    FlowNodes unreached() const;
    // Whether execution can leave the copy after that node: to a node outside, by a return, or to an unknown target.
    bool leaves(size_t node) const;
    // The nodes of the copy that are reached from a node without leaving the copy or passing one of `stops`, and the
    // node itself.
    FlowNodes run_from(size_t node, const FlowNodes& stops) const;

  private:
    const CodeFlow& flow_;
    std::vector<bool> inside_;
};

// Entries of a copy. `targets` are the nodes where calls enter. `leading` are nodes of the copy before these, which do
// nothing but lead there (jumps and nops).
struct CopyEntries {
    FlowNodes targets, leading;
    // The code after an entry repeats itself, and nothing shows whether this is one call or several.
    bool is_doubtful = false;
};

// Whether the instruction decides where execution goes, writes to memory or calls a function. Compilers do not move
// such instructions out of the code of a call.
bool is_fixed(const FlowNode& node);
// A nop or an unconditional jump.
bool only_leads(const FlowNode& node);

// Returns the node of the copy that a nop or an unconditional jump leads to; nullopt for all other nodes.
std::optional<size_t> leads_to(const Copy& copy, size_t node);
// Finds all entries. `first` is the function's first node.
CopyEntries entries_of(const Copy& copy, std::optional<size_t> first);
// Follows nops and jumps from a node. Returns the last of these nodes that is an entry itself, or else the given node.
// Adds the passed nodes to `leading`.
size_t joined(const Copy& copy, const FlowNodes& entries, size_t node, FlowNodes& leading);
// If one entry always leads to another one, keeps only the second: the place where both paths meet.
void meet(const Copy& copy, CopyEntries& entries);

// Removes entries that continue a call. Adds places where a new call begins although execution has not left the copy.
// `first` is the function's first node; `places` has one element for each node.
//
// Returns false if some code belongs to more calls than the found entries. Then the copy cannot be probed: a count
// would be too low. Sets `is_doubtful` if some code may belong to more calls.
bool drop_continuations(const Copy& copy, size_t first, const std::vector<SourcePlace>& places, CopyEntries& entries);

} // namespace sonde
