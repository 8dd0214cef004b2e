// Finds the variables in scope at an address: from the innermost block outward to the function, then the globals of the
// unit.
//
// An inlined copy describes its variables by references to the abstract function, and omits those that were optimized
// away completely. These are added from the abstract function, so that a script gets the error "optimized out" and not
// "no such variable". Each query reads the DIEs again; only types are cached (type_reader.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/dwarf/module_data.h"
#include "frontend/dwarf/unit.h"

namespace sonde {

class DebugFiles;
class TypeReader;
class UnitIndex;

class Variables {
  public:
    Variables(DebugFiles& debug, UnitIndex& units, TypeReader& types) : debug_(debug), units_(units), types_(types) {}

    // See the functions of DwarfModule.
    std::vector<Variable> at(Address address, bool with_globals);
    std::vector<Variable> in(const FunctionInstance& function, Address address, bool with_globals);
    std::vector<Variable> to_list(const FunctionInstance& function, Address address);
    std::vector<Variable> globals(std::string_view name, std::string_view file);

    std::vector<Variable> parameters(const FunctionInstance& function);
    // Returns what a caller passes, in that order. This includes parameters without a name, and excludes parameters
    // that exist only in the source.
    std::vector<Variable> arguments(const FunctionInstance& function);
    std::vector<Variable> results(const FunctionInstance& function);
    const Type* result_type(const FunctionInstance& function);
    std::string signature(const FunctionInstance& function);

  private:
    // Whether to read only the names of types, or the types as expressions need them.
    enum class Depth { Names, Types };
    std::vector<Variable> in(FunctionRef function, Address address, bool with_globals);
    std::vector<Variable> locals(FunctionRef function, Address address, Depth depth);
    void add_variables(Dwarf_Die& scope, std::vector<Variable>& variables, bool parameters_only, Depth depth);
    void add_unit_globals(const FunctionRef& function, Unit& unit, std::vector<Variable>& variables);
    // `pack_name` is the name for a DIE without one (gcc's parts of a parameter pack).
    std::optional<Variable> make_variable(Dwarf_Die& die, Depth depth = Depth::Types, const char* pack_name = nullptr);

    DebugFiles& debug_;
    UnitIndex& units_;
    TypeReader& types_;
};

} // namespace sonde
