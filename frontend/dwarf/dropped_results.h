// Results that the compiler has left out because no caller uses them.
//
// gcc makes a copy of a function that only its own file calls, as `f.isra.0`; clang changes the function itself, and
// marks it by DW_CC_nocall. Where a function always gives the same number, callers use that number, and the function
// gives none; then there is neither a name nor a mark. The debug information keeps the result's type, but its register
// has what the function used it for. The callers tell: a result that one of them reads is there.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "frontend/dwarf/module_data.h"
#include "frontend/types/address.h"

namespace sonde {

class DebugFiles;
class ProgramFile;
class SymbolTables;

class DroppedResults {
  public:
    DroppedResults(const ProgramFile& file, DebugFiles& debug, SymbolTables& symbols)
        : file_(file), debug_(debug), symbols_(symbols) {}

    // Whether a function that only its own file calls was optimised, and no direct call of it is followed by code that
    // reads rax. The first question reads the program's code once, for all direct calls.
    bool is_dropped(const FunctionInstance& function);

  private:
    bool is_optimised(const FunctionInstance& function);
    bool has_other_signature(const FunctionInstance& function);
    const std::vector<std::pair<Address, Address>>& calls(); // what is called and the return address, sorted

    void add_calls(Address low, Address high);

    const ProgramFile& file_;
    DebugFiles& debug_;
    SymbolTables& symbols_;
    bool has_calls_ = false;
    std::vector<std::pair<Address, Address>> calls_;
};

// Whether code from a return address on reads rax before it overwrites it, as far as it goes straight on.
bool reads_result(std::string_view code);

} // namespace sonde
