// Where calls pass arguments and results: the System V ABI for x86-64, section 3.2.3; i386's and Rust's own conventions
// for results; Go's in go_results.h.
//
// All of it follows from types. Nothing is kept.
#pragma once

#include "frontend/dwarf/module_data.h"

namespace sonde {

class ProgramFile;
class TypeReader;
class UnitIndex;
class Variables;

class CallingConvention {
  public:
    CallingConvention(const ProgramFile& file, UnitIndex& units, TypeReader& types, Variables& variables)
        : file_(file), units_(units), types_(types), variables_(variables) {}

    // As DwarfModule has them.
    Location result_location(const FunctionInstance& function);
    Location result_location(const FunctionInstance& function, const Variable& result);
    Location argument_location(const FunctionInstance& function, const Variable& argument);
    bool keeps_to_abi(const FunctionInstance& function);

  private:
    // C++: a class that is not trivially copyable is constructed in the caller's memory, whatever its size.
    bool by_reference(const Type* type);

    const ProgramFile& file_;
    UnitIndex& units_;
    TypeReader& types_;
    Variables& variables_;
};

} // namespace sonde
