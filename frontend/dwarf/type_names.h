// Finds types and enumerators by their names in a script: `@cast(p, "struct s*")`.
//
// Nothing is cached. Types are found in the index of definitions. Enumerators are searched in the enumerations of the
// current unit, then of all others, because many are in anonymous enumerations, which no index contains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/dwarf/module_data.h"
#include "frontend/dwarf/unit.h"

namespace sonde {

class DebugFiles;
class ProgramFile;
class TypeDefinitions;
class TypeReader;
class UnitIndex;

class TypeNames {
  public:
    TypeNames(const ProgramFile& file, DebugFiles& debug, UnitIndex& units, TypeDefinitions& definitions,
              TypeReader& types)
        : file_(file), debug_(debug), units_(units), definitions_(definitions), types_(types) {}

    // See the functions of DwarfModule.
    const Type* find_type(std::string_view name, DieOffset near);
    std::optional<int64_t> enumerator(std::string_view name, DieOffset near);
    std::optional<int64_t> visible_enumerator(const FunctionInstance& function, Address address, std::string_view name);
    std::vector<std::string> all();

  private:
    const NamedEntry* best_type(std::string_view name, int tag, Unit* near, Unit** unit);
    std::optional<int64_t> enumerator_below(Dwarf_Die& parent, std::string_view name, bool in_structures, int depth);

    const ProgramFile& file_;
    DebugFiles& debug_;
    UnitIndex& units_;
    TypeDefinitions& definitions_;
    TypeReader& types_;
};

} // namespace sonde
