// Traces the returns of functions by probes at the instructions that leave them.
//
// The alternative is to change the return address on the stack. That breaks everything that examines the stack while
// the function runs:
//
// * Go, which moves stacks;
// * unwinders, for exceptions, for cancelled threads, or for a program's own backtrace();
// * coroutines and signal stacks, which return in another order than the kernel expects;
// * system calls that the program handles itself.
//
// A program may load a library that does one of these at any time. So sonde changes return addresses only if the user
// asks for it with --attach=uretprobe. See return_sites.cc.
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

// Error::os_error of ReturnSites::find(): only a changed return address would work.
constexpr int unsafe_return = ECANCELED;

// Answers the question for one module. Keeps nothing but whether the program contains an unwinder.
class ReturnSites {
  public:
    ReturnSites(ProgramFile& file, DebugFiles& debug, SymbolTables& symbols, UnitIndex& units, UnwindTable& unwind,
                CodeLayout& code)
        : file_(file), debug_(debug), units_(units), unwind_(unwind), code_(code), exits_(file, symbols, unwind, code) {
    }

    // Returns the instructions that leave the function. An empty list means: change the return address instead; this
    // happens only with `may_change_address`, and never in Go. Fails if the function never returns. Fails with
    // `unsafe_return` if its exits cannot be determined.
    Result<std::vector<FunctionExit>> find(const FunctionInstance& function, bool may_change_address);
    // Whether exceptions or panics are known to pass the function: its language, or a part of its program, uses them.
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
