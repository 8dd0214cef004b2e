// A program or library with its debug information: functions, statements, scopes, variables and locations.
//
// Everything is read lazily. Names come from the ELF symbol table or from an index of the compilation units, and a
// unit's DIEs are read only if they can matter. All addresses are ELF virtual addresses of the module, before
// relocation; file().file_offset() converts one to the offset that a uprobe needs. Only this folder and base/debug (for
// the runtime) use libdw.
//
// DwarfModule is the interface of the components in this folder. dwarf_module.cc lists them with their dependencies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "frontend/dwarf/calling_convention.h"
#include "frontend/dwarf/function_pattern.h"
#include "frontend/dwarf/module_data.h"
#include "frontend/dwarf/parameter_locations.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/symbol_tables.h"
#include "frontend/machine/address.h"
#include "frontend/machine/location.h"
#include "frontend/types/type.h"

namespace sonde {

class AsyncStates;
class CallReturns;
class ProbeSafety;
class ReturnSites;

// Owns all components, and the types that it returns. Not safe for use by several threads.
class DwarfModule {
  public:
    // Opens `path` and searches its debug information: inside, by build id and by debuglink. A file without debug
    // information can be opened as well: has_debug_info() is then false, and functions come from the symbol table.
    // Fails if the file is missing, not readable, not ELF, truncated or corrupt, or for another machine. `object`: a
    // kernel module, which is an object file; for its addresses see base/linked_object.h.
    static Result<std::unique_ptr<DwarfModule>> open(const std::string& path, bool object = false);
    ~DwarfModule();
    DwarfModule(const DwarfModule&) = delete;
    DwarfModule& operator=(const DwarfModule&) = delete;

    const std::string& path() const; // as opened, absolute
    // The ELF file: its addresses, code, PLT and static markers.
    ProgramFile& file() const;
    // Symbols of functions.
    SymbolTables& symbols() const;
    // Whether debug information exists. The first call searches it, and may download it.
    bool has_debug_info() const;
    // Returns problems during the search for debug information, as texts: files of other builds, errors from a server.
    const std::vector<std::string>& debug_problems() const;
    // Returns why existing debug information was not read (it would need too much memory), or "".
    const std::string& refused_debug_information() const;

    // Returns the functions whose name, file and declaration line match, sorted by address. The result includes inlined
    // copies, which the caller removes for `.call` and `.return`. It does not include functions that are only declared
    // or that were optimized away.
    std::vector<FunctionInstance> functions(const FunctionPattern& pattern);
    // The same for listings of large programs. Calls `visit` for each function with debug information, in no particular
    // order and possibly more than once. When more than `most_bytes` of debug information were read, the memory is
    // freed. Types obtained before that become invalid; a FunctionInstance stays valid.
    void visit_functions(const FunctionPattern& pattern, const std::function<void(const FunctionInstance&)>& visit,
                         uint64_t most_bytes = 8 << 20);

    // Returns statements (is_stmt rows of the line table): for each matching line and function, the lowest address of
    // each contiguous run of rows. A line that was inlined or that has several ranges gives several statements. For
    // line_kind None, returns the functions' entries.
    std::vector<Statement> statements(const FunctionPattern& pattern);

    // Returns the statement and function around an address; nullopt if the address is not in code.
    std::optional<Statement> statement_at(Address address);

    // Returns the beginning of the last row of the line table at or before an address; nullopt if no row covers the
    // address.
    std::optional<Address> statement_start(Address address);

    // Whether the kernel executes a probed instruction correctly, and equivalent places.
    ProbeSafety& safety() const;

    // Whether an instruction begins at the address. A breakpoint elsewhere would change what the program does.
    InstructionPlace instruction_at(Address address);

    // Returns function names for "did you mean", sorted without duplicates.
    std::vector<std::string> function_names();
    // Returns the paths of source files, sorted without duplicates.
    std::vector<std::string> source_files();
    // Returns the lines of `file` that have statements, sorted, for suggestions. `file` is a pattern as in
    // FunctionPattern::file.
    std::vector<int> statement_lines(std::string_view file);

    // Returns the variables that are visible at `address`: parameters and locals of the function or inlined copy, from
    // the innermost block outward. An inner name hides an outer one. With `globals`, includes those of the compilation
    // unit.
    std::vector<Variable> variables_at(Address address, bool globals = false);
    // The same for a given function or inlined copy. This matters if another one begins at the same address: the first
    // instruction of a function can belong to a function that is inlined into it.
    std::vector<Variable> variables_in(const FunctionInstance& function, Address address, bool globals = false);
    // The same without globals, for listings that only need names and type names. Does not read the members of records.
    std::vector<Variable> variables_to_list(const FunctionInstance& function, Address address);
    // Returns the parameters of that function instance, in order.
    std::vector<Variable> parameters(const FunctionInstance& function);
    // Returns the location of `variable` when execution is at `address`.
    Location locate(const Variable& variable, Address address);

    // Returns the locations at all addresses of `function`, in order and without gaps in the function's code.
    std::vector<LocationRange> location_ranges(const Variable& variable, const FunctionInstance& function);

    // Returns the link-time address of a global or static variable; add the load bias if position_independent().
    // Returns nullopt for a variable that is not global, is thread-local, or was optimized away.
    std::optional<Address> global_address(const Variable& variable);

    // Returns the globals and file-scope statics with that name, in the order of the file. In C++, the name may be "x",
    // "ns::x" or "C::x". With `file` (a pattern as in FunctionPattern::file), only those that the source file defines.
    std::vector<Variable> globals(std::string_view name, std::string_view file = {});
    // Returns the names of all globals for "did you mean", sorted without duplicates.
    std::vector<std::string> global_names();

    // Returns a type by its name: "struct s", "union u", "enum e", "int", a typedef, or a C++ class (qualified or not),
    // each followed by any number of `*`. The keyword may be omitted. If several types match, prefers the unit of the
    // function `near`. Returns null if none matches.
    const Type* find_type(std::string_view name, DieOffset near = 0);
    // Returns the value of an enumerator: in the unit of `near`, or else in the first unit that has one. Ignores
    // enumerations inside functions.
    std::optional<int64_t> enumerator(std::string_view name, DieOffset near = 0);
    // Returns the value of the enumerator that is visible at the address by the scope rules of C: in an enclosing
    // block, in the function, or in the file. Returns nullopt if there is none.
    std::optional<int64_t> visible_enumerator(const FunctionInstance& function, Address address, std::string_view name);
    // Returns the names that find_type() finds, with and without keywords, for "did you mean"; sorted without
    // duplicates.
    std::vector<std::string> type_names();

    // Returns the types of a function's parameters in C++ syntax: "(int, char const*)".
    std::string signature(const FunctionInstance& function);
    // Returns the type of the function's result, or of its first one; null for void or unknown.
    const Type* result_type(const FunctionInstance& function);
    // Returns all results. A C function has at most one, without a name. A Go function has any number, possibly with
    // names.
    std::vector<Variable> results(const FunctionInstance& function);
    // Locations of arguments and results.
    CallingConvention& calling_convention() const;
    // Locations of parameters at a function's beginning.
    ParameterLocations& parameter_locations() const;

    // The instructions at which functions return.
    ReturnSites& returns() const;

    // The addresses to which calls of other modules' functions return.
    CallReturns& call_returns() const;

    // Returns the places at which a function or inlined copy is hit once per call; usually its entry or body. `places`
    // is empty if no such place exists.
    FunctionPlaces places(const FunctionInstance& function);

    // Returns the stack pointer at the function's entry, as an address, when execution is at `address` of a function.
    Location entry_stack_pointer(Address address);

    // Returns the address of an instruction at the function's beginning that the kernel emulates: a `push`, possibly
    // after an `endbr64`, or a mark. Probing other instructions costs up to ten times as much. Before that instruction,
    // nothing but the program counter has changed.
    std::optional<Address> cheap_entry(const FunctionInstance& function);

    // Returns the labels in a function that have code, sorted by address.
    std::vector<Label> labels(const FunctionInstance& function);
    // Returns the direct calls in the function, and tail calls; not calls through pointers.
    std::vector<CallSite> calls(const FunctionInstance& function);

    // Futures of Rust and coroutines of C++.
    AsyncStates& async_states() const;

    // Returns nullopt if the frame is not described, or is described by an expression.
    std::optional<FrameRule> frame_rule(Address address);

  private:
    struct Impl;
    explicit DwarfModule(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace sonde
