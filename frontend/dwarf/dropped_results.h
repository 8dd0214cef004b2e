// Detects results that the compiler has removed, or changed, because no caller uses all of them.
//
// The debug information still describes such a result, but at the return, its register holds whatever the function used
// it for last. Reading it would give a wrong value without any sign of a problem.
//
// If a function is called only in its own file, gcc creates a copy named `f.isra.0`, which returns nothing. clang and
// rustc (LLVM) change the function itself, often without a mark. They also change a result of two registers to the part
// that callers use, and that part is then in the first register:
//
//     struct two { long a, b; };
//     static struct two f(long);      if only f(...).b is used, `b` is in rax, and rdx has a leftover
//
// With link-time optimization, this happens to all functions that the linker makes local.
//
// So the callers are examined: if they read all registers of the result after calls, the result is as described.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "arch/architecture.h"
#include "frontend/dwarf/module_data.h"
#include "frontend/machine/address.h"

namespace sonde {

class DebugFiles;
class ProgramFile;
class SymbolTables;

// Whether code reads each of the result registers.
using ResultReads = std::array<bool, 2>;

class DroppedResults {
  public:
    DroppedResults(const ProgramFile& file, DebugFiles& debug, SymbolTables& symbols)
        : file_(file), debug_(debug), symbols_(symbols) {}

    // Returns why the function's result, which is in the first `registers` result registers, may not be there; "" if it
    // is. The first query reads all code of the program to find the direct calls.
    std::string why_unknown(const FunctionInstance& function, size_t registers);

  private:
    enum class Signature : uint8_t {
        Declared, // as in the source
        Changed,  // the compiler has marked it
        Doubtful,
    };
    Signature signature(const FunctionInstance& function, bool is_gcc);
    bool is_optimised(const FunctionInstance& function);
    ResultReads reads_after(Address address, bool with_push) const;
    const std::vector<std::pair<Address, Address>>& calls(); // pairs of call target and return address, sorted

    void add_calls(Address low, Address high);

    const ProgramFile& file_;
    DebugFiles& debug_;
    SymbolTables& symbols_;
    bool has_calls_ = false;
    std::vector<std::pair<Address, Address>> calls_;
};

// Returns the result registers that the code reads before it overwrites them. Follows the code from a return address
// on, and both ways at a conditional jump. `code(address)` returns some bytes at an address, or nothing. `with_push`: a
// push of the register counts. It passes an argument, or only reserves stack space.
ResultReads reads_of_result(const Architecture& architecture, Address address,
                            const std::function<std::string(Address)>& code, bool with_push);

} // namespace sonde
