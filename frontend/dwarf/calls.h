// Finds the calls in a function that call other functions of the module.
//
// Compilers describe calls in debug information only for optimized code (DWARF 5, section 3.4), so calls are found in
// the code: calls and jumps to the beginning of another function. They can be direct, through the procedure linkage
// table (used by libraries for their own global functions), or through a slot of that table.
//
// The first query builds a list of all functions of the module, which is kept.
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
struct Instruction;

class Calls {
  public:
    Calls(ProgramFile& file, DebugFiles& debug, UnitIndex& units, FunctionInstances& instances,
          FunctionSearch& functions)
        : file_(file), debug_(debug), units_(units), instances_(instances), functions_(functions) {}

    // See DwarfModule::calls().
    std::vector<CallSite> in(const FunctionInstance& function);

  private:
    // Maps the addresses of PLT entries and of their slots to functions of this module.
    const std::map<Address, Address>& own_slots();
    // Returns the target of a call or jump; `next` is the address of the next instruction. Returns 0 if the target is
    // unknown.
    Address called(const Instruction& one, Address next);

    ProgramFile& file_;
    DebugFiles& debug_;
    UnitIndex& units_;
    FunctionInstances& instances_;
    FunctionSearch& functions_;
    std::map<Address, FunctionInstance> entries_; // all functions that can be called; filled by the first query
    std::optional<std::map<Address, Address>> own_slots_;
};

} // namespace sonde
