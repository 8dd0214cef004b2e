// One program or library with its debug information: functions, statements, scopes, variables, locations.
//
// Reads lazily: names come from the ELF symbol table or an index of compilation units; a unit's DIEs are opened only
// when it can match. All addresses are ELF virtual addresses of the module (before relocation); file().file_offset()
// turns one into what a uprobe wants. libdw is wrapped by this folder and, for the runtime, by base/debug.
//
// The module is the outside of the components of this folder; which there are, and what each is built from, stands in
// dwarf_module.cc.
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
#include "frontend/types/address.h"
#include "frontend/types/location.h"
#include "frontend/types/type.h"

namespace sonde {

class CallReturns;
class ProbeSafety;
class ReturnSites;

class DwarfModule {
  public:
    // Opens `path` and looks for its debug information: inside, by build-id and by debuglink. A file without any
    // opens too (has_debug_info() is false; functions come from the symbol table). Errors: missing file, no
    // permission, not ELF, truncated or corrupt, wrong machine. `object`: a module of the kernel, which is an object
    // file; its addresses are those of base/linked_object.h.
    static Result<std::unique_ptr<DwarfModule>> open(const std::string& path, bool object = false);
    ~DwarfModule();
    DwarfModule(const DwarfModule&) = delete;
    DwarfModule& operator=(const DwarfModule&) = delete;

    const std::string& path() const; // as opened, absolute
    // The program or library itself: its addresses and places in the file, its table of calls, its static marks.
    ProgramFile& file() const;
    // Its functions' symbols, without debug information.
    SymbolTables& symbols() const;
    bool has_debug_info() const;
    // What stood in the way of debug information, in words: files of other builds, what a server said.
    const std::vector<std::string>& debug_problems() const;
    // Why debug information that is there was not read, as it would take too much memory; empty: none was refused.
    const std::string& refused_debug_information() const;

    // Functions whose name (and file, and declaration line) match, sorted by address. Inlined copies are included; a
    // caller drops them for `.call` and `.return`. Functions that are only declared or were optimised away are not.
    std::vector<FunctionInstance> functions(const FunctionPattern& pattern);
    // The same for listings of large programs: calls `visit` for each function that debug information describes, in no
    // order and maybe more than once, and forgets what has been read once it is more than `most_bytes` of debug
    // information. Types that were handed out meanwhile are gone then; a function may be kept.
    void visit_functions(const FunctionPattern& pattern, const std::function<void(const FunctionInstance&)>& visit,
                         uint64_t most_bytes = 8 << 20);

    // Statements (is_stmt rows): for each matching line and function the lowest address of each contiguous run, so
    // inlined and multi-address lines give several. For line_kind None: the functions' entries as statements.
    std::vector<Statement> statements(const FunctionPattern& pattern);

    // The statement and function around an address; nullopt if no code is there.
    std::optional<Statement> statement_at(Address address);

    // Where the line table's last record at or before an address begins; nullopt if no record covers it.
    std::optional<Address> statement_start(Address address);

    // Whether the kernel executes a probed instruction correctly, and where else the same is seen.
    ProbeSafety& safety() const;

    // Whether a breakpoint may be put there: one inside of an instruction or in data changes what the program does.
    InstructionPlace instruction_at(Address address);

    // Function names for "did you mean"; sorted, unique.
    std::vector<std::string> function_names();
    // Source files' paths; sorted, unique.
    std::vector<std::string> source_files();
    // Lines of `file` (a pattern as in FunctionPattern::file) that have statements, sorted; for "nearest line"
    // messages.
    std::vector<int> statement_lines(std::string_view file);

    // Variables visible at `address`, innermost scope first (an inner name hides an outer one): parameters and locals
    // of the function (or inlined copy) around it, its enclosing blocks. With `globals`, also the compilation unit's.
    std::vector<Variable> variables_at(Address address, bool globals = false);
    // The same for one function or inlined copy, when another one begins or goes on at that address (the first
    // instruction of a function may belong to a copy inlined into it). What is visible: the innermost block of
    // `function` there.
    std::vector<Variable> variables_in(const FunctionInstance& function, Address address, bool globals = false);
    // The same without globals for somebody who wants names only, of variables and types: records are left unread.
    std::vector<Variable> variables_to_list(const FunctionInstance& function, Address address);
    // Parameters of that function instance in order.
    std::vector<Variable> parameters(const FunctionInstance& function);
    // Where `variable` lives when execution is at `address`.
    Location locate(const Variable& variable, Address address);

    // The same for all addresses of `function`, in order; they follow each other wherever its code does.
    std::vector<LocationRange> location_ranges(const Variable& variable, const FunctionInstance& function);

    // Link-time address of a global or static variable; add the module's load bias when position_independent().
    // nullopt: not a global, thread-local, or optimised away.
    std::optional<Address> global_address(const Variable& variable);

    // Globals and statics at file scope with that name, in the order of the file; C++: "x", "ns::x" or "C::x". With
    // `file`, a pattern as in FunctionPattern::file, only what that source file defines.
    std::vector<Variable> globals(std::string_view name, std::string_view file = {});
    // Names of all globals for "did you mean"; sorted, unique.
    std::vector<std::string> global_names();

    // A type by its name: "struct s", "union u", "enum e", "int", a typedef, a C++ class, plain or qualified, each with
    // any number of `*` after it. The keyword may be missing. Of several the one is taken that the unit of `near`, a
    // function, has. Null if there is none.
    const Type* find_type(std::string_view name, DieOffset near = 0);
    // The value of the enumerator with that name: in the unit of `near`, else in the first unit that has one.
    // Enumerations inside of functions are not looked at.
    std::optional<int64_t> enumerator(std::string_view name, DieOffset near = 0);
    // The value of the enumerator that C's scopes show at the address in the function: of a block around it, of the
    // function, of the file. nullopt: there is none.
    std::optional<int64_t> visible_enumerator(const FunctionInstance& function, Address address, std::string_view name);
    // What find_type() finds, with and without the keywords, for "did you mean"; sorted, unique.
    std::vector<std::string> type_names();

    // Its parameters' types as C++ writes them, "(int, char const*)".
    std::string signature(const FunctionInstance& function);
    // The function's result, the first one of several; null for void or unknown.
    const Type* result_type(const FunctionInstance& function);
    // All results: C has at most one, without a name; Go any number, maybe with names.
    std::vector<Variable> results(const FunctionInstance& function);
    // Where arguments and results are.
    CallingConvention& calling_convention() const;
    // Where parameters are when their function begins.
    ParameterLocations& parameter_locations() const;

    // Where functions return whose return address must not be changed, and which those are.
    ReturnSites& returns() const;

    // Where calls of other modules' functions return to.
    CallReturns& call_returns() const;

    // Where probes of a function or an inlined copy are hit once a call. Its entry or body in most cases; `places` is
    // empty where there are none.
    FunctionPlaces places(const FunctionInstance& function);

    // Where the return address lies while execution is at `address` of a function.
    Location return_address(Address address);

    // The `push` that the function begins with, after an `endbr64`: the kernel emulates it where other instructions
    // are single-stepped, at up to ten times the cost of a probe. Nothing but the program counter has changed there.
    std::optional<Address> cheap_entry(const FunctionInstance& function);

    // The labels in a function that have code, by address.
    std::vector<Label> labels(const FunctionInstance& function);
    // Calls that are written with the function's name: not through pointers, nor jumps that take the place of a call.
    std::vector<CallSite> calls(const FunctionInstance& function);

    // nullopt where the frame is not described, or by an expression.
    std::optional<FrameRule> frame_rule(Address address);

  private:
    struct Impl;
    explicit DwarfModule(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace sonde
