// Judges whether the entries of an inlined copy count its calls.
//
// copy_flow.h finds the entries. The machine code does not always show where a call begins, so this file looks for
// signs that the entries are wrong. If it finds one, the probe gets a doubt, which sonde reports as a warning. A wrong
// count without a warning looks like a right one.
//
// Nodes outside of the copy are of two kinds:
//
// * Nodes of the caller: they have a line in the source and compute something.
// * Neutral nodes: they have no line (line 0), or they only copy registers or jump. Compilers add such instructions to
//   loops of the copied function, too, so they do not show that the call has ended.
//
//     Example: list = next                        the loop belongs to the copied function, and so does the `mov`
//         mov  %rcx,%rsi         line 0
//         mov  8(%rdx),%rdx      copy
//         test %rdx,%rdx         copy
//         jne  to the first mov  copy
#pragma once

#include <cstddef>
#include <vector>

#include "frontend/dwarf/copy_flow.h"

namespace sonde {

// For each node: whether it is outside of the copy and shows that execution is in the caller. `has_line` says which
// nodes have a line in the source.
std::vector<bool> nodes_of_caller(const Copy& copy, const std::vector<bool>& has_line);

// Neutral nodes through which execution can leave the copy and come back to it, without a node of the caller in
// between. They are part of the call.
FlowNodes neutral_between(const Copy& copy, const std::vector<bool>& of_caller);

// Nodes that do nothing but copy registers and constants, apart from the rest of the copy: the compiler has moved them
// out of a loop around the copy, or behind the call. They are no entries. Each path from them enters the rest of the
// copy, or each path to them comes from there. `first` is the function's first node.
FlowNodes moved_nodes(const Copy& copy, size_t first);

// Why the entries may not be hit once per call; null if no sign of that was found. `first` is the function's first
// node.
const char* doubt_of_entries(const Copy& copy, const CopyEntries& entries, size_t first,
                             const std::vector<bool>& of_caller);

} // namespace sonde
