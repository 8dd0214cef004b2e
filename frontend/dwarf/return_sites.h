// Where functions return, for those whose return address must stay as it is: Go moves stacks, and the unwinders of C++
// and Rust end the program when they meet the address that a uretprobe puts there.
//
// A function's code is walked from one instruction to the next. Where it calls what may unwind, or what nobody knows,
// it may be unwound itself; what is found about a function is kept, since many ask for the same few.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "frontend/dwarf/module_data.h"

namespace sonde {

class CodeLayout;
class DebugFiles;
class ProgramFile;
class SymbolTables;
class UnitIndex;
class UnwindTable;

class ReturnSites {
  public:
    ReturnSites(ProgramFile& file, DebugFiles& debug, SymbolTables& symbols, UnitIndex& units, UnwindTable& unwind,
                CodeLayout& code)
        : file_(file), debug_(debug), symbols_(symbols), units_(units), unwind_(unwind), code_(code) {}

    // As DwarfModule has them.
    Result<std::vector<Address>> find(const FunctionInstance& function, bool may_change_address);
    bool import_may_unwind(std::string_view symbol);

  private:
    using Parts = std::vector<std::pair<Address, Address>>;
    bool throws(); // an unwinder is part of the program, or of a library that it needs
    bool may_unwind(const FunctionInstance& function);
    Parts parts_of(const FunctionInstance& function);
    bool is_split_off(Address target);
    bool cannot_unwind(Address function, int depth); // whatever it calls

    ProgramFile& file_;
    DebugFiles& debug_;
    SymbolTables& symbols_;
    UnitIndex& units_;
    UnwindTable& unwind_;
    CodeLayout& code_;
    std::optional<bool> throws_;
    std::map<Address, bool> cannot_unwind_; // by functions' entries, as far as somebody has asked
};

} // namespace sonde
