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
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/dwarf_module.h"
#include "frontend/dwarf/function_instances.h"
#include "frontend/dwarf/function_search.h"
#include "frontend/dwarf/go.h"
#include "frontend/dwarf/language.h"
#include "frontend/dwarf/line_tables.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/statements.h"
#include "frontend/dwarf/symbol_text.h"
#include "frontend/dwarf/symbols.h"
#include "frontend/dwarf/type_definitions.h"
#include "frontend/dwarf/type_names.h"
#include "frontend/dwarf/type_reader.h"
#include "frontend/dwarf/unit.h"
#include "frontend/dwarf/unit_index.h"
#include "frontend/dwarf/variables.h"

namespace sonde {

struct X86Instruction;

class DwarfReader {
  public:
    explicit DwarfReader(ProgramFile file) : file_(std::move(file)) {}
    DwarfReader(const DwarfReader&) = delete;
    DwarfReader& operator=(const DwarfReader&) = delete;

    // calls.cc
    std::vector<Label> labels(const FunctionInstance& function);
    std::vector<CallSite> calls(const FunctionInstance& function);
    std::optional<FrameRule> frame_rule(Address address);

    // code_layout.cc
    InstructionPlace instruction_at(Address address);

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
    std::optional<Address> cheap_entry(const FunctionInstance& function);

    // go.cc
    Location result_location(const FunctionInstance& function, const Variable& result);
    // return_sites.cc
    Result<std::vector<Address>> return_sites(const FunctionInstance& function, bool may_change_address);
    bool import_may_unwind(std::string_view symbol);

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

    // Forgets everything that was read of the debug information, libdw's own memory with it: the next one who asks
    // reads it again. No type, unit or DIE outlives this; a DieOffset does.
    void forget();

  private:
    friend class LocationTranslator;

    // code_layout.cc
    // A function or a part of one, as unwinders know it.
    struct UnwindEntry {
        Address low = 0, high = 0;
        bool handles = false; // has a personality routine: exceptions are caught or cleaned up after
    };
    const std::vector<UnwindEntry>& unwind_entries(); // sorted by address
    const UnwindEntry* unwind_entry_at(Address address);
    // Code that belongs together, and addresses that instructions begin at. Not `whole`: where it ends is not known.
    struct Stretch {
        Address low = 0, high = 0;
        bool whole = false;
        std::vector<Address> starts;
    };
    static constexpr Address max_unsized = 64 << 10;
    std::optional<Stretch> stretch_at(Address address);
    // False where the unwinding entry says that the return address is not on top of the stack.
    bool is_entered_by_call(Address entry);

    // calls.cc
    void add_labels(Dwarf_Die& scope, const FunctionInstance& function, int depth, std::vector<Label>& labels);

    // return_sites.cc
    using Parts = std::vector<std::pair<Address, Address>>;
    bool throws(); // an unwinder is part of the program, or of a library that it needs
    bool may_unwind(const FunctionInstance& function);
    Parts parts_of(const FunctionInstance& function);
    bool is_split_off(Address target);
    bool cannot_unwind(Address function, int depth); // whatever it calls

    // go.cc
    // What the table of calls leads to in this module, by the addresses of its entries and of its slots.
    const std::map<Address, Address>& own_slots();
    Address called(const X86Instruction& one, Address next);
    bool passes_in_registers(const FunctionInstance& function);
    Location go_result_location(const FunctionInstance& function, const Variable& result);

    // calling_convention.cc
    bool by_reference(const Type* type);

    std::optional<std::vector<UnwindEntry>> unwind_entries_;
    std::optional<bool> throws_;
    std::map<Address, bool> cannot_unwind_;       // by functions' entries, as far as somebody has asked
    std::map<Address, FunctionInstance> entries_; // functions that can be called, once somebody asks for calls
    std::optional<std::map<Address, Address>> own_slots_;
};

class DwarfModule::Impl final : public DwarfReader {
  public:
    using DwarfReader::DwarfReader;
};

} // namespace sonde
