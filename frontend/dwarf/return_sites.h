// Where functions return, for those whose return address must stay as it is: Go moves stacks, and the unwinders of C++
// and Rust end the program when they meet the address that a uretprobe puts there.
//
// A function's code is walked from one instruction to the next. Where it calls what may unwind, or what nobody knows,
// it may be unwound itself; what is found about a function is kept, since many ask for the same few.
#pragma once

#include <cerrno>
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

// Error::os_error of ReturnSites::find().
constexpr int unsafe_return = ECANCELED;

class ReturnSites {
  public:
    ReturnSites(ProgramFile& file, DebugFiles& debug, SymbolTables& symbols, UnitIndex& units, UnwindTable& unwind,
                CodeLayout& code)
        : file_(file), debug_(debug), symbols_(symbols), units_(units), unwind_(unwind), code_(code) {}

    // The return instructions of a function whose return address must not be changed: Go's, and what exceptions or
    // panics may pass through. Empty: the address may be changed. `may_change_address`: the user says that nothing
    // unwinds. Errors: there is none, or they cannot be found; `unsafe_return`: a changed return address may end the
    // program, and nothing else tells when the function returns.
    Result<std::vector<Address>> find(const FunctionInstance& function, bool may_change_address = false);
    // Whether exceptions may pass through calls of that function of another module.
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
