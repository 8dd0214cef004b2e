// Detects results that the compiler has removed because no caller uses them.
//
// The debug information still describes such a result, but at the return, its register holds whatever the function used
// it for last. Reading it would give a wrong value without any sign of a problem.
//
// This optimization has three forms. If a function is called only in its own file, gcc creates a copy named `f.isra.0`.
// clang changes the function itself and marks it with DW_CC_nocall. If a function always returns the same number,
// callers use that number, and the function returns nothing; then neither a name nor a mark exists.
//
// So the callers are examined: if one of them reads the result after the call, the result exists.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "arch/architecture.h"
#include "frontend/dwarf/module_data.h"
#include "frontend/machine/address.h"

namespace sonde {

class DebugFiles;
class ProgramFile;
class SymbolTables;

class DroppedResults {
  public:
    DroppedResults(const ProgramFile& file, DebugFiles& debug, SymbolTables& symbols)
        : file_(file), debug_(debug), symbols_(symbols) {}

    // Whether the function's result was dropped: the function is only called in its own file, it was optimized, and
    // after no direct call the code reads the result register. The first query reads all code of the program to find
    // the direct calls.
    bool is_dropped(const FunctionInstance& function);

  private:
    bool is_optimised(const FunctionInstance& function);
    bool has_other_signature(const FunctionInstance& function);
    const std::vector<std::pair<Address, Address>>& calls(); // pairs of call target and return address, sorted

    void add_calls(Address low, Address high);

    const ProgramFile& file_;
    DebugFiles& debug_;
    SymbolTables& symbols_;
    bool has_calls_ = false;
    std::vector<std::pair<Address, Address>> calls_;
};

// Whether the code reads the result register before it overwrites it. Follows the code from a return address on to the
// first jump. `with_push`: a push of the register counts. It passes an argument, or only reserves stack space.
bool reads_result(const Architecture& architecture, std::string_view code, bool with_push = true);

} // namespace sonde
