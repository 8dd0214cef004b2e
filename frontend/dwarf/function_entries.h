// Where a probe of a function, or of an inlined copy of it, has to be so that it is hit once for each call.
//
// The first instruction is not enough. It may be the head of a loop, so that rounds would count as calls:
//
//     drain: mov (%rdi),%eax        What jumps there from inside of the function is known from its code: the probe is
//            ...                    told of it, and leaves out the arrivals from there.
//            jne drain
//
// An inlined copy has no calls, only code: its addresses in debug information. It begins wherever execution comes into
// them from outside. DW_AT_entry_pc is one of these places at best, and the lowest address none at all where compilers
// have put padding, the copy's end or a rare branch there. All ways into the copy are followed to where they meet, past
// jumps and nops that only some of them pass. copy_flow.h tells calls from returns into a copy that has been left.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "frontend/dwarf/copy_flow.h"
#include "frontend/dwarf/module_data.h"
#include "frontend/dwarf/unit.h"
#include "frontend/types/code_flow.h"

namespace sonde {

class CodeLayout;
class DebugFiles;
class FunctionInstances;
class LineTables;
class ProgramFile;
class UnitIndex;

class FunctionEntries {
  public:
    FunctionEntries(const ProgramFile& file, DebugFiles& debug, UnitIndex& units, LineTables& lines,
                    FunctionInstances& instances, CodeLayout& code)
        : file_(file), debug_(debug), units_(units), lines_(lines), instances_(instances), code_(code) {}

    // As DwarfModule has it.
    FunctionPlaces of(const FunctionInstance& function);

  private:
    using Parts = std::vector<std::pair<Address, Address>>;
    Parts parts_of(const FunctionInstance& function);
    CodeFlow flow_of(const Parts& parts) const;
    FunctionPlaces of_function(const FunctionInstance& function);
    FunctionPlaces of_copy(const FunctionInstance& copy);
    FlowNodes marked_entries(const Copy& copy, const FunctionInstance& function, FunctionRef ref);
    // Whether the mark at that address is of other copies, whose beginnings are among this one's code.
    bool marks_others(Address address, size_t marks, const FunctionInstance& copy, FunctionRef ref);
    std::vector<SourcePlace> source_places(const Copy& copy, FunctionRef ref);
    const CodeFlow& flow_around(FunctionRef function);

    const ProgramFile& file_;
    DebugFiles& debug_;
    UnitIndex& units_;
    LineTables& lines_;
    FunctionInstances& instances_;
    CodeLayout& code_;
    std::optional<std::pair<DieOffset, CodeFlow>> last_; // copies are asked for function by function
};

} // namespace sonde
