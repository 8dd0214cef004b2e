// Inside of DwarfModule: one reader object whose methods are spread over the .cc files by topic.
//
// Beyond what libdw offers, it keeps an own index: one linear pass over a unit's DIEs (unit_index.cc) that remembers
// only functions, inlined copies, globals and type definitions. Names, types, ranges and locations are then read
// through libdw for the few DIEs that matter. Everything is made on first use: opening a file reads headers only.
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
#include "frontend/dwarf/language.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/symbol_text.h"
#include "frontend/dwarf/symbols.h"

namespace sonde {

constexpr uint32_t no_index = UINT32_MAX;

// A namespace, class or function that encloses others: parts of a qualified name.
struct ScopeEntry {
    const char* name = nullptr; // null: anonymous
    uint32_t parent = no_index;
    bool is_namespace = false;
    bool is_inline = false; // an inline namespace
};

// A DW_TAG_subprogram or DW_TAG_inlined_subroutine.
struct FunctionEntry {
    Dwarf_Off offset = 0;
    const char* name = nullptr;            // its own DW_AT_name
    const unsigned char* origin = nullptr; // value of DW_AT_abstract_origin or DW_AT_specification
    uint16_t origin_form = 0;
    bool inlined = false;
    bool has_code = false;
    bool declaration = false;
    uint32_t scope = no_index;  // enclosing namespace or class, in Unit::scopes
    uint32_t parent = no_index; // enclosing function, in Unit::functions
};

struct NamedEntry {
    Dwarf_Off offset = 0;
    const char* name = nullptr; // null: look it up through the DIE (a specification)
    int tag = 0;
    bool declaration = false;
    uint32_t scope = no_index;
    bool local = false; // inside a function
};

// Addresses [low, high) whose innermost function is `function`. A unit's spans do not overlap.
struct Span {
    Address low = 0, high = 0;
    uint32_t function = no_index;
};

struct Unit {
    Dwarf* dwarf = nullptr;       // of `die`; a split unit's is not the module's
    Dwarf_Die unit_die;           // has the line table and ranges (a skeleton, for split units)
    Dwarf_Die die;                // has the children
    Dwarf_Off begin = 0, end = 0; // of the header and behind the last DIE, in `dwarf`'s section
    int version = 0;
    int language = 0;

    bool scanned = false;
    std::vector<ScopeEntry> scopes;
    std::vector<FunctionEntry> functions; // in order of offset
    std::vector<NamedEntry> types;        // struct, union, class, enum, typedef, base type
    std::vector<NamedEntry> variables;    // outside functions

    bool spans_built = false;
    std::vector<Span> spans;                       // sorted
    std::multimap<Address, uint32_t> copy_entries; // where inlined copies begin -> in `functions`
};

class FileFilter; // statements.cc
struct X86Instruction;

// A function of a unit; `unit` null is none.
struct FunctionRef {
    Unit* unit = nullptr;
    uint32_t index = no_index;
    explicit operator bool() const { return unit != nullptr; }
    const FunctionEntry& operator*() const { return unit->functions[index]; }
    const FunctionEntry* operator->() const { return &unit->functions[index]; }
    bool operator==(const FunctionRef&) const = default;
};

struct RangeList {
    std::vector<std::pair<Address, Address>> ranges;
    Address base = 0; // what DW_AT_entry_pc as a constant counts from
};

// One row of a line table, decoded.
struct LineRow {
    Address address = 0;
    const char* file = nullptr; // unique per file within a unit
    int line = 0;
    bool is_statement = false;
    bool end_sequence = false;
    bool prologue_end = false;
};

class DwarfReader : private TypeSource {
  public:
    explicit DwarfReader(ProgramFile file) : file_(std::move(file)) {}
    DwarfReader(const DwarfReader&) = delete;
    DwarfReader& operator=(const DwarfReader&) = delete;

    // functions.cc
    std::vector<FunctionInstance> functions(const FunctionPattern& pattern);
    void visit_functions(const FunctionPattern& pattern, const std::function<void(const FunctionInstance&)>& visit,
                         uint64_t most_bytes);
    std::vector<std::string> function_names();
    const Type* result_type(const FunctionInstance& function);
    std::string signature(const FunctionInstance& function);

    // statements.cc
    std::vector<Statement> statements(const FunctionPattern& pattern);
    std::optional<Statement> statement_at(Address address);
    std::optional<Address> statement_start(Address address);
    std::vector<std::string> source_files();
    std::vector<int> statement_lines(std::string_view file);

    // calls.cc
    std::vector<Label> labels(const FunctionInstance& function);
    std::vector<CallSite> calls(const FunctionInstance& function);
    std::optional<FrameRule> frame_rule(Address address);

    // code_layout.cc
    InstructionPlace instruction_at(Address address);

    // variables.cc
    std::vector<Variable> variables_at(Address address, bool globals);
    std::vector<Variable> variables_in(const FunctionInstance& function, Address address, bool globals);
    std::vector<Variable> variables_to_list(const FunctionInstance& function, Address address);
    std::vector<Variable> parameters(const FunctionInstance& function);
    std::optional<int64_t> visible_enumerator(const FunctionInstance& function, Address address, std::string_view name);

    // type_names.cc
    const Type* find_type(std::string_view name, DieOffset near);
    std::optional<int64_t> enumerator(std::string_view name, DieOffset near);
    std::vector<std::string> type_names();
    std::vector<Variable> globals(std::string_view name, std::string_view file);
    std::vector<std::string> global_names();

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
    std::vector<Variable> results(const FunctionInstance& function);
    Location result_location(const FunctionInstance& function, const Variable& result);
    // return_sites.cc
    Result<std::vector<Address>> return_sites(const FunctionInstance& function, bool may_change_address);
    bool import_may_unwind(std::string_view symbol);

    ProgramFile file_;
    DebugFiles debug_{file_};
    Symbols symbols_{file_, debug_};

  private:
    friend class LocationTranslator;

    // Forgets everything that was read of the debug information, libdw's own memory with it: the next one who asks
    // reads it again. No type, unit or DIE outlives this; a DieOffset does.
    void forget();

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

    // unit_index.cc
    std::deque<Unit>& units();
    void scan(Unit& unit);
    Unit* unit_at(Address address);
    Unit* unit_of_offset(Dwarf* dwarf, Dwarf_Off offset);
    const std::vector<Span>& spans(Unit& unit);
    // The innermost function or inlined copy with code at `address`.
    FunctionRef function_at(Address address);
    FunctionRef function_at(Unit& unit, Address address);
    // The function that a line table's row belongs to. Where optimised code of several functions shares an address,
    // that is the one whose source the line is in.
    FunctionRef function_of(Unit& unit, const LineRow& row);
    // The function around the row that the pattern names: the line's own, or one that has an inlined copy of it.
    FunctionRef named_around(Unit& unit, const LineRow& row, const FunctionPattern& pattern);
    void add_statements(Unit& unit, const FunctionPattern& pattern, FileFilter& files, std::vector<Statement>& found);
    // The subprogram (not inlined copy) that a function is part of; itself for a subprogram.
    FunctionRef enclosing_subprogram(FunctionRef function) const;
    FunctionRef find_function(DieOffset die);
    // The entry that carries the name: follows abstract origins and specifications. Its name is null if there is none.
    FunctionRef naming_entry(FunctionRef function);
    const char* bare_name(FunctionRef function);
    std::string qualified_name(FunctionRef function);
    std::string scope_prefix(const Unit& unit, uint32_t scope) const;
    RangeList ranges(Dwarf_Die& die);

    bool die_of(FunctionRef function, Dwarf_Die* die);

    // functions.cc
    bool name_matches(FunctionRef function, const std::string& pattern);
    bool matches(FunctionRef function, const FunctionPattern& pattern); // name and parameters
    bool linkage_matches(FunctionRef function, const std::string& pattern);
    bool qualified_matches(const Unit& unit, uint32_t scope, std::string_view name, std::string_view pattern) const;
    void add_functions(Unit& unit, const FunctionPattern& pattern, std::vector<FunctionInstance>& found);
    const FunctionInstance* instance(FunctionRef function); // null: has no code after all; cached
    std::optional<FunctionInstance> make_instance(FunctionRef function);
    FunctionInstance symbol_instance(const Symbol& symbol);
    // False if a call may run the code at `body`, after the prologue, more than once, or may leave before it.
    bool runs_once(Address entry, Address body, Address high) const;

    // symbol_functions.cc
    bool is_part(const FunctionInstance& function); // split off a function that begins elsewhere
    bool symbol_has_name(const Symbol& symbol, const FunctionPattern& pattern);
    void add_symbol(const Symbol& symbol, const FunctionPattern& pattern, std::vector<FunctionInstance>& found);
    // Those that match and begin at none of `entries`, where functions with debug information have matched.
    void add_symbols(const FunctionPattern& pattern, const std::set<Address>& entries,
                     std::vector<FunctionInstance>& found);
    // Where parameters are right; `entry` if the code is optimised.
    Address find_body(Unit& unit, Dwarf_Die& die, Address entry, Address high);
    bool keeps_parameters_in_frame(Dwarf_Die& die);

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
    // runtime.g, as goid() needs it, of a program without debug information; null: it is not known, or another name.
    const Type* go_runtime_type(std::string_view name);
    // What the table of calls leads to in this module, by the addresses of its entries and of its slots.
    const std::map<Address, Address>& own_slots();
    Address called(const X86Instruction& one, Address next);
    // The jump of the function's check of its stack; nullopt if it has none.
    std::optional<Address> stack_check(Address entry, Address high) const;
    void find_stack_check(FunctionInstance& function, Address high) const; // sets `body`
    bool passes_in_registers(const FunctionInstance& function);
    Location go_result_location(const FunctionInstance& function, const Variable& result);

    // statements.cc
    const std::vector<LineRow>& rows(Unit& unit); // sorted by address
    bool has_file(Unit& unit, const std::string& pattern);
    const LineRow* row_at(Unit& unit, Address address);
    // "41-44, 47": lines of `function` with code inside the ranges; empty if there are none.
    std::string describe_lines(FunctionRef function, const std::vector<std::pair<Address, Address>>& ranges);

    // variables.cc
    // Whether types are read as deep as expressions need them.
    enum class Depth { Names, Types };
    std::vector<Variable> locals_in(FunctionRef function, Address address, Depth depth);
    std::vector<Dwarf_Die> scopes_around(FunctionRef function, Address address);
    std::vector<Variable> variables_in(FunctionRef function, Address address, bool globals);
    void add_variables(Dwarf_Die& scope, std::vector<Variable>& variables, bool parameters_only, Depth depth);
    // The function around `address` that `die`, a variable, belongs to.
    FunctionRef owner_of(Dwarf_Die& die, FunctionRef innermost);
    std::optional<Variable> make_variable(Dwarf_Die& die, Depth depth = Depth::Types);
    void add_unit_globals(Unit& unit, std::vector<Variable>& variables);
    // The definition of a declared global; false if no unit defines it.
    bool find_global(Dwarf_Die& declaration, Unit* first, Dwarf_Die* die);

    // type_reader.cc
    bool by_reference(const Type* type); // calling_convention.cc
    const Type* type_of(Dwarf_Die& die); // of a DIE with DW_AT_type; null: void
    const Type* type_from(Dwarf_Die& type_die);
    Type* make_type(Dwarf_Die& die);
    void complete(Type& record) override;
    void complete_deep(const Type* type);
    void add_members(Dwarf_Die& record, Type& type, int depth);
    void add_variants(Dwarf_Die& part, Type& type);
    void add_member(Dwarf_Die& die, Type& type, bool base);
    std::string scope_of(Dwarf_Die& die);
    void index_definitions();
    bool find_definition(Dwarf_Die& declaration, Dwarf_Die* definition);
    bool type_die(const Type* type, Dwarf_Die* die) const;

    // type_names.cc
    std::optional<int64_t> enumerator_below(Dwarf_Die& parent, std::string_view name, bool in_structures, int depth);
    const NamedEntry* best_type(std::string_view name, int tag, Unit* near, Unit** unit);
    std::string qualified_global(Dwarf_Die& die);

    std::optional<std::vector<UnwindEntry>> unwind_entries_;
    std::optional<bool> throws_;
    std::map<Address, bool> cannot_unwind_;       // by functions' entries, as far as somebody has asked
    std::map<Address, FunctionInstance> entries_; // functions that can be called, once somebody asks for calls
    std::optional<std::map<Address, Address>> own_slots_;
    bool units_listed_ = false;
    std::deque<Unit> units_;
    bool unit_spans_built_ = false;
    std::vector<std::pair<Span, Unit*>> unit_spans_;
    bool unit_spans_overlap_ = false;

    // Functions and rows by unit.
    std::unordered_map<const Unit*, std::unordered_map<uint32_t, std::optional<FunctionInstance>>> instances_;
    std::unordered_map<const Unit*, std::vector<LineRow>> rows_;

    std::unordered_map<const void*, Type*> types_by_die_;
    std::unordered_map<const Type*, Dwarf_Die> dies_by_type_;
    std::deque<Type> types_;
    int type_depth_ = 0;
    bool definitions_indexed_ = false;
    std::unordered_multimap<std::string_view, std::pair<Unit*, uint32_t>> definitions_;
};

class DwarfModule::Impl final : public DwarfReader {
  public:
    using DwarfReader::DwarfReader;
};

// Whether a pattern means a function of Go with that name.
bool go_name_matches(std::string_view pattern, std::string_view name);
// As qualified names have it: "ns", "(anonymous namespace)".
const char* scope_name(const ScopeEntry& scope);

} // namespace sonde
