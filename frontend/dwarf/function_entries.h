// Finds the addresses for the breakpoints of a function or of an inlined copy. Each call must hit one of them exactly
// once.
//
// A function: its first instruction can be the head of a loop. Then each round of the loop executes it:
//
//     drain: mov (%rdi),%eax
//            ...
//            jne drain              this jump goes back to the first instruction
//
// The machine code shows which instructions inside of the function lead back there. These are given to the probe as
// "arrivals" (sema/arrivals.h), and the probe does not count them.
//
// An inlined copy: nothing calls it. The debug information gives only the addresses of its instructions. The copy is
// entered wherever execution comes to these addresses from outside. One attribute is not enough:
//
// * DW_AT_entry_pc is at best one of several entries.
// * The lowest address may be padding, the end of the copy, or a rarely used branch.
//
// Therefore sonde takes the control-flow graph of the function around the copy, and all edges that lead into the copy.
// Where several entries meet after a few jumps or nops, one place after these is enough. Not every edge into the copy
// is a new call: the compiler moves instructions of the caller between those of the copy. copy_flow.h explains how
// sonde finds the new calls.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "frontend/dwarf/copy_flow.h"
#include "frontend/dwarf/module_data.h"
#include "frontend/dwarf/unit.h"
#include "frontend/machine/code_flow.h"

namespace sonde {

class CallingConvention;
class CodeLayout;
class DebugFiles;
class EmittedVariants;
class FunctionInstances;
class LineTables;
class ProgramFile;
class UnitIndex;

class FunctionEntries {
  public:
    FunctionEntries(ProgramFile& file, DebugFiles& debug, UnitIndex& units, LineTables& lines,
                    FunctionInstances& instances, CodeLayout& code, EmittedVariants& variants,
                    CallingConvention& calling)
        : file_(file), debug_(debug), units_(units), lines_(lines), instances_(instances), code_(code),
          variants_(variants), calling_(calling) {}

    // Returns the places, or the reason why no place is right (see FunctionPlaces). If the code cannot be analyzed, the
    // only place is the function's entry.
    FunctionPlaces of(const FunctionInstance& function);

  private:
    using Parts = std::vector<std::pair<Address, Address>>;
    // The address ranges of the function or, for a copy, of the function around it.
    Parts parts_of(const FunctionInstance& function);
    CodeFlow flow_of(const Parts& parts);
    bool never_returns(Address function);
    FunctionPlaces of_function(const FunctionInstance& function);
    // The place after the prologue, if a loop comes back there.
    FunctionPlaces of_body(const FunctionInstance& function, const CodeFlow& flow);
    FunctionPlaces of_copy(const FunctionInstance& copy);
    // Why calls of an inlined copy may be missed, although its places are right; "" if they are not.
    std::string doubt_of(const FunctionInstance& copy, const FunctionInstance* around, const CopyEntries& entries);
    // The entries that the compiler has marked by statements (see the .cc file). Empty: it has not.
    FlowNodes marked_entries(const Copy& copy, const FunctionInstance& function, FunctionRef ref);
    // The other copies in the function around a copy that have the same declaration.
    std::vector<std::pair<FunctionRef, const FunctionInstance*>> copies_like(const FunctionInstance& copy,
                                                                             FunctionRef ref);
    // Whether all `marks` statements at that address belong to other copies of the same function. The beginning of
    // another copy can be among the addresses of this one.
    bool marks_others(Address address, size_t marks, const FunctionInstance& copy, FunctionRef ref);
    // The jumps from other copies of the same function at which a call that continues in this copy was counted.
    FlowNodes counted_before(const Copy& copy, const FunctionInstance& function, FunctionRef ref);
    bool is_in_other_copy(Address address, const FunctionInstance& copy, FunctionRef ref);
    bool is_merged(const Copy& copy, const FunctionInstance& function, FunctionRef ref, Dwarf_Die& die);
    // Which nodes have a line in the source.
    std::vector<bool> nodes_with_line(const CodeFlow& flow, FunctionRef ref);
    std::vector<SourcePlace> source_places(const Copy& copy, FunctionRef ref);
    // The graph of the function around a copy. The last one is kept, because callers ask for all copies of one function
    // in a row.
    const CodeFlow& flow_around(FunctionRef function);

    ProgramFile& file_;
    DebugFiles& debug_;
    UnitIndex& units_;
    LineTables& lines_;
    FunctionInstances& instances_;
    CodeLayout& code_;
    EmittedVariants& variants_;
    CallingConvention& calling_;
    std::optional<std::pair<DieOffset, CodeFlow>> last_; // the last result of flow_around
    std::optional<std::set<Address>> never_returning_;   // functions, or their entries in the linkage table
};

} // namespace sonde
