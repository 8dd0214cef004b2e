// How a function's return is noticed: by probes at the instructions that leave it.
//
// The other way, a changed return address, breaks whatever else looks at the stack while the function runs: Go, which
// moves stacks; unwinders, be it for exceptions, cancelled threads or a program's own backtrace(); coroutines and
// signal stacks, which return in another order than the kernel expects; system calls that the program answers itself.
// A program may meet these through a library that it opens later. So nothing but the user's word
// (--attach=uretprobe) makes sonde change a return address.
#pragma once

#include <cerrno>
#include <optional>
#include <vector>

#include "base/result.h"
#include "frontend/dwarf/function_exits.h"
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
        : file_(file), debug_(debug), units_(units), unwind_(unwind), code_(code), exits_(file, symbols, unwind, code) {
    }

    // The instructions that leave a function. Empty: its return address is changed instead, which `may_change_address`
    // asks for; in Go it never is. Errors: the function has no return, or `unsafe_return`: only a changed return
    // address would tell of it.
    Result<std::vector<FunctionExit>> find(const FunctionInstance& function, bool may_change_address);
    // Whether exceptions or panics are known to pass the function: it or its program is made with them.
    bool may_unwind(const FunctionInstance& function);

  private:
    bool has_unwinder();
    Result<std::vector<FunctionExit>> exits_of(const FunctionInstance& function);
    FunctionExits::Parts parts_of(const FunctionInstance& function, bool& whole);

    ProgramFile& file_;
    DebugFiles& debug_;
    UnitIndex& units_;
    UnwindTable& unwind_;
    CodeLayout& code_;
    FunctionExits exits_;
    std::optional<bool> has_unwinder_;
};

} // namespace sonde
