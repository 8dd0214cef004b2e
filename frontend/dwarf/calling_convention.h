// Computes where calls pass arguments and results, by the architecture's convention for C and C++. Also the conventions
// of 32-bit programs and of Rust for results. Go's convention is in go_results.h.
//
// Everything follows from the types. Nothing is cached.
#pragma once

#include <cstdint>
#include <optional>

#include "arch/value_passing.h"
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

    // Returns the location of the result right after the function returned: in a register, in pieces in registers, or
    // in memory (see Location::of_entry). Returns Unavailable for results in floating-point registers, which cannot be
    // read. For Go functions,
    // which can have several results: the location at the return instructions.
    Location result_location(const FunctionInstance& function);
    // The same for one of several results of a Go function.
    Location result_location(const FunctionInstance& function, const Variable& result);
    // Returns the location where a caller passes the parameter. It is valid at the function's first instructions (see
    // cheap_entry()), if the code follows the ABI, as unoptimized C and C++ code does.
    Location argument_location(const FunctionInstance& function, const Variable& argument);
    // Corrects the location of a parameter that is passed by address. In optimized code, LLVM omits the dereference
    // (clang before 19, rustc 1.95): the location is then the address of the pointer. Also corrects arguments of Go on
    // the stack. Returns `place` if it is right.
    Location corrected(const Variable& parameter, Address address, Location place);
    // Whether the function is C or C++, whose compilers follow the ABI in unoptimized code.
    bool keeps_to_abi(const FunctionInstance& function);

  private:
    PassedValue passed_as(const Type* type);
    // The same as result_location(), without the check whether the compiler dropped the result.
    Location full_result_location(const FunctionInstance& function);
    // Facts about how a parameter is passed, from its own location.
    struct Described {
        std::optional<bool> by_address;
        bool in_other_object = false;
        std::optional<uint64_t> above_frame; // if the caller passed it on the stack: bytes above the return address
    };
    Described described(const FunctionInstance& function, const Variable& argument);
    // Returns the location of a whole argument on the stack of Go, if `place` may be that of a part.
    Location whole_in_go(const Variable& parameter, Address address, Location place);

    const ProgramFile& file_;
    DebugFiles& debug_;
    UnitIndex& units_;
    TypeReader& types_;
    Variables& variables_;
    Locations& locations_;
    DroppedResults& dropped_;
};

} // namespace sonde
