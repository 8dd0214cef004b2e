// Calls of the module's other functions inside of a function.
//
// Compilers describe calls only in optimised code (DWARF 5, section 3.4), so they are found in the code itself: calls
// and jumps that lead to the beginning of another function, directly, through the table of calls (a library's own
// global functions are called so), or through the table's slot. The first question finds all functions of the module,
// which stay known.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "frontend/dwarf/module_data.h"

namespace sonde {

class DebugFiles;
class FunctionInstances;
class FunctionSearch;
class ProgramFile;
class UnitIndex;
struct X86Instruction;

class Calls {
  public:
    Calls(ProgramFile& file, DebugFiles& debug, UnitIndex& units, FunctionInstances& instances,
          FunctionSearch& functions)
        : file_(file), debug_(debug), units_(units), instances_(instances), functions_(functions) {}

    // As DwarfModule has them.
    std::vector<CallSite> in(const FunctionInstance& function);

  private:
    // What the table of calls leads to in this module, by the addresses of its entries and of its slots.
    const std::map<Address, Address>& own_slots();
    // Where a call or jump leads, `next` being the instruction after it; 0: nobody knows.
    Address called(const X86Instruction& one, Address next);

    ProgramFile& file_;
    DebugFiles& debug_;
    UnitIndex& units_;
    FunctionInstances& instances_;
    FunctionSearch& functions_;
    std::map<Address, FunctionInstance> entries_; // functions that can be called, once somebody asks for calls
    std::optional<std::map<Address, Address>> own_slots_;
};

} // namespace sonde
