// Where calls pass arguments and results: the System V ABI for x86-64, section 3.2.3; i386's and Rust's own conventions
// for results; Go's in go_results.h.
//
// All of it follows from types. Nothing is kept.
#pragma once

#include <cstdint>
#include <optional>

#include "frontend/dwarf/module_data.h"

namespace sonde {

class DebugFiles;
class DroppedResults;
class Locations;
class ProgramFile;
class TypeReader;
class UnitIndex;
class Variables;

class CallingConvention {
  public:
    CallingConvention(const ProgramFile& file, DebugFiles& debug, UnitIndex& units, TypeReader& types,
                      Variables& variables, Locations& locations, DroppedResults& dropped)
        : file_(file), debug_(debug), units_(units), types_(types), variables_(variables), locations_(locations),
          dropped_(dropped) {}

    // Where the result is right after the function returned: rax, rax:rdx pieces, hidden pointer, or Unavailable
    // (floating point registers cannot be read). Of Go, whose functions have several: at the return instructions.
    Location result_location(const FunctionInstance& function);
    Location result_location(const FunctionInstance& function, const Variable& result);
    // Where a caller passes that parameter: it holds at the function's first instructions (see cheap_entry()) of code
    // that keeps to the ABI, as unoptimised C and C++ do.
    Location argument_location(const FunctionInstance& function, const Variable& argument);
    // A parameter's place at an address as it is said, or where the address leads that a caller has put there: LLVM
    // leaves that step out of optimised code (clang before 19, rustc 1.95).
    Location corrected(const Variable& parameter, Address address, Location place);
    // True for C and C++, whose compilers pass arguments by the ABI where code is not optimised.
    bool keeps_to_abi(const FunctionInstance& function);

  private:
    // The same, as if each result were used.
    Location full_result_location(const FunctionInstance& function);
    // What a parameter's own location tells of how it was passed.
    struct Described {
        std::optional<bool> by_address;
        bool in_other_object = false;
        std::optional<uint64_t> above_frame; // bytes above the return address, where the caller has put it
    };
    Described described(const FunctionInstance& function, const Variable& argument);

    const ProgramFile& file_;
    DebugFiles& debug_;
    UnitIndex& units_;
    TypeReader& types_;
    Variables& variables_;
    Locations& locations_;
    DroppedResults& dropped_;
};

} // namespace sonde
