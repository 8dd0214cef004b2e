// Inside of DwarfModule: one reader object whose methods are spread over the .cc files by topic.
//
// Everything is made on first use: opening a file reads headers only.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <elfutils/libdw.h>
#include <gelf.h>

#include "base/debug/die.h"
#include "base/elf_file.h"
#include "frontend/dwarf/calls.h"
#include "frontend/dwarf/code_layout.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/dwarf_module.h"
#include "frontend/dwarf/function_instances.h"
#include "frontend/dwarf/function_search.h"
#include "frontend/dwarf/go.h"
#include "frontend/dwarf/language.h"
#include "frontend/dwarf/line_tables.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/return_sites.h"
#include "frontend/dwarf/statements.h"
#include "frontend/dwarf/symbol_text.h"
#include "frontend/dwarf/symbols.h"
#include "frontend/dwarf/type_definitions.h"
#include "frontend/dwarf/type_names.h"
#include "frontend/dwarf/type_reader.h"
#include "frontend/dwarf/unit.h"
#include "frontend/dwarf/unit_index.h"
#include "frontend/dwarf/unwind_table.h"
#include "frontend/dwarf/variables.h"

namespace sonde {

class DwarfReader {
  public:
    explicit DwarfReader(ProgramFile file) : file_(std::move(file)) {}
    DwarfReader(const DwarfReader&) = delete;
    DwarfReader& operator=(const DwarfReader&) = delete;

    // location_expression.cc
    Location locate(const Variable& variable, Address address);
    std::optional<Address> global_address(const Variable& variable);
    // locations.cc
    std::vector<LocationRange> location_ranges(const Variable& variable, const FunctionInstance& function);
    Location return_address(Address address);

    // calling_convention.cc
    Location result_location(const FunctionInstance& function);
    Location narrow_result(const Type* type);
    Location argument_location(const FunctionInstance& function, const Variable& argument);
    bool keeps_to_abi(const FunctionInstance& function);

    // go.cc
    Location result_location(const FunctionInstance& function, const Variable& result);

    ProgramFile file_;
    DebugFiles debug_{file_};
    Symbols symbols_{file_, debug_};
    UnitIndex units_{file_, debug_};
    LineTables lines_;
    TypeDefinitions definitions_{units_};
    TypeReader types_{file_, definitions_};
    TypeNames type_names_{file_, debug_, units_, definitions_, types_};
    Variables variables_{debug_, units_, types_};
    FunctionInstances instances_{file_, debug_, symbols_, units_, lines_};
    FunctionSearch functions_{debug_, symbols_, units_, variables_, instances_};
    Statements statements_{file_, symbols_, units_, lines_, instances_, functions_};
    UnwindTable unwind_{file_, debug_};
    CodeLayout code_{file_, symbols_, units_, lines_, unwind_};
    ReturnSites returns_{file_, debug_, symbols_, units_, unwind_, code_};
    Calls calls_{file_, debug_, units_, instances_, functions_};

    // Forgets everything that was read of the debug information, libdw's own memory with it: the next one who asks
    // reads it again. No type, unit or DIE outlives this; a DieOffset does.
    void forget();

  private:
    friend class LocationTranslator;

    // go.cc
    bool passes_in_registers(const FunctionInstance& function);
    Location go_result_location(const FunctionInstance& function, const Variable& result);

    // calling_convention.cc
    bool by_reference(const Type* type);
};

class DwarfModule::Impl final : public DwarfReader {
  public:
    using DwarfReader::DwarfReader;
};

} // namespace sonde
