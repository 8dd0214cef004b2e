// Creates the components of a module, and forwards each query to the component that answers it.
//
// A module is one program or library. Each component reads one kind of information and keeps what it has read, so the
// order of members below is also the order of dependencies: a component uses only those above it.
//
// visit_functions() can forget everything on its way. A search in a large program reads units one after another, and
// each of them is needed only until its functions have been visited. Without this, a pattern such as `*` would need
// memory for the debug information of the whole program.
#include "frontend/dwarf/dwarf_module.h"

#include <utility>

#include "frontend/dwarf/async_states.h"
#include "frontend/dwarf/call_returns.h"
#include "frontend/dwarf/calling_convention.h"
#include "frontend/dwarf/calls.h"
#include "frontend/dwarf/code_layout.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/dropped_results.h"
#include "frontend/dwarf/emitted_variants.h"
#include "frontend/dwarf/frames.h"
#include "frontend/dwarf/function_entries.h"
#include "frontend/dwarf/function_instances.h"
#include "frontend/dwarf/function_search.h"
#include "frontend/dwarf/globals.h"
#include "frontend/dwarf/ifuncs.h"
#include "frontend/dwarf/labels.h"
#include "frontend/dwarf/line_tables.h"
#include "frontend/dwarf/locations.h"
#include "frontend/dwarf/probe_safety.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/return_sites.h"
#include "frontend/dwarf/statements.h"
#include "frontend/dwarf/symbol_tables.h"
#include "frontend/dwarf/type_definitions.h"
#include "frontend/dwarf/type_names.h"
#include "frontend/dwarf/type_reader.h"
#include "frontend/dwarf/unit_index.h"
#include "frontend/dwarf/unwind_table.h"
#include "frontend/dwarf/variables.h"

namespace sonde {

// The components, each built from those above. Each header describes the component and its cost.
struct DwarfModule::Impl {
    explicit Impl(ProgramFile program) : file(std::move(program)) {}

    ProgramFile file;                                                // the ELF file: addresses, code, imports
    DebugFiles debug{file};                                          // libdw's view of the files, and DIEs by number
    SymbolTables symbols{file, debug};                               // functions without debug information
    UnitIndex units{file, debug};                                    // maps addresses and DIEs to functions
    LineTables lines;                                                // rows of the line tables, by unit
    TypeDefinitions definitions{units};                              // types of all units by name
    TypeReader types{file, definitions};                             // converts DIEs to types
    TypeNames type_names{file, debug, units, definitions, types};    // the names of types in scripts
    Variables variables{debug, units, types};                        // scopes at an address, parameters, globals
    FunctionInstances instances{file, debug, symbols, units, lines}; // functions with their places
    UnwindTable unwind{file, debug};                      // functions and frames according to the unwind information
    CodeLayout code{file, symbols, units, lines, unwind}; // beginnings of instructions
    Ifuncs ifuncs{file, code, unwind};                    // functions that are chosen when a program starts
    EmittedVariants variants{file, symbols, units};       // thunks, and variants of constructors and destructors
    // Matches patterns with functions.
    FunctionSearch functions{file, debug, symbols, units, variables, instances, ifuncs, variants};
    Statements statements{file, symbols, units, lines, instances, functions}; // maps lines to addresses and back
    ProbeSafety safety{file, symbols, code};                                  // which instructions can be probed
    ReturnSites returns{file, debug, symbols, units, unwind, code};           // the instructions that leave functions
    Calls calls{file, debug, units, instances, functions};                    // which function calls which
    Locations locations{file, debug, units, instances, statements};           // locations of variables
    Frames frames{debug, units, instances, locations};    // functions behind calls, and what they got
    CallReturns call_returns{file, unwind, code, frames}; // the instructions after calls of other modules
    DroppedResults dropped{file, debug, symbols};         // results that the compiler removed
    CallingConvention calling{file,      debug,     units,  types,
                              variables, locations, dropped}; // locations of arguments and results
    // Places where each call is counted once.
    FunctionEntries entries{file, debug, units, lines, instances, code, variants, calling};
    // Locations of parameters at the entry.
    ParameterLocations parameters{file, debug, symbols, variables, locations, calling};
    // State machines of async functions.
    AsyncStates async{file, debug, symbols, units, lines, types, statements};

    // Forgets everything that was read from the debug information, including libdw's memory; the next query reads it
    // again. Types, units and DIEs become invalid; a DieOffset remains valid.
    void forget() {
        units.forget();
        lines.forget();
        instances.forget();
        definitions.forget();
        types.forget();
        debug.forget();
    }
};

DwarfModule::DwarfModule(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DwarfModule::~DwarfModule() = default;

Result<std::unique_ptr<DwarfModule>> DwarfModule::open(const std::string& path, bool object) {
    Result<ProgramFile> file = ProgramFile::open(path, object);
    if (!file)
        return std::move(file).error();
    return std::unique_ptr<DwarfModule>(new DwarfModule(std::make_unique<Impl>(*std::move(file))));
}

const std::string& DwarfModule::path() const { return impl_->file.path(); }
ProgramFile& DwarfModule::file() const { return impl_->file; }
AsyncStates& DwarfModule::async_states() const { return impl_->async; }
CallReturns& DwarfModule::call_returns() const { return impl_->call_returns; }
ReturnSites& DwarfModule::returns() const { return impl_->returns; }
ProbeSafety& DwarfModule::safety() const { return impl_->safety; }
CallingConvention& DwarfModule::calling_convention() const { return impl_->calling; }
ParameterLocations& DwarfModule::parameter_locations() const { return impl_->parameters; }
SymbolTables& DwarfModule::symbols() const { return impl_->symbols; }
bool DwarfModule::has_debug_info() const { return impl_->debug.found(); }
const std::vector<std::string>& DwarfModule::debug_problems() const { return impl_->debug.problems(); }
const std::string& DwarfModule::refused_debug_information() const { return impl_->debug.refusal(); }
std::vector<FunctionInstance> DwarfModule::functions(const FunctionPattern& pattern) {
    return impl_->functions.find(pattern);
}
void DwarfModule::visit_functions(const FunctionPattern& pattern,
                                  const std::function<void(const FunctionInstance&)>& visit, uint64_t most_bytes) {
    const bool keeps = impl_->types.has_made_any(); // the caller may still use them
    uint64_t bytes = 0;
    impl_->functions.visit(pattern, visit, [&](uint64_t read) {
        bytes += read;
        if (keeps || bytes < most_bytes || !impl_->debug.may_forget())
            return;
        impl_->forget();
        bytes = 0;
    });
}
std::vector<Statement> DwarfModule::statements(const FunctionPattern& pattern) {
    return impl_->statements.find(pattern);
}
std::optional<Statement> DwarfModule::statement_at(Address address) { return impl_->statements.at(address); }
std::optional<Address> DwarfModule::statement_start(Address address) { return impl_->statements.start(address); }
std::vector<std::string> DwarfModule::function_names() { return impl_->functions.names(); }
std::vector<std::string> DwarfModule::source_files() { return impl_->statements.source_files(); }
std::vector<int> DwarfModule::statement_lines(std::string_view file) { return impl_->statements.lines_of(file); }
std::vector<Variable> DwarfModule::variables_at(Address address, bool globals) {
    return impl_->variables.at(address, globals);
}
std::vector<Variable> DwarfModule::variables_in(const FunctionInstance& function, Address address, bool globals) {
    return impl_->variables.in(function, address, globals);
}
std::vector<Variable> DwarfModule::variables_to_list(const FunctionInstance& function, Address address) {
    return impl_->variables.to_list(function, address);
}
std::vector<Variable> DwarfModule::parameters(const FunctionInstance& function) {
    return impl_->variables.parameters(function);
}
Location DwarfModule::locate(const Variable& variable, Address address) {
    return impl_->calling.corrected(variable, address, impl_->locations.locate(variable, address));
}
std::vector<LocationRange> DwarfModule::location_ranges(const Variable& variable, const FunctionInstance& function) {
    std::vector<LocationRange> ranges = impl_->locations.ranges(variable, function);
    for (LocationRange& range : ranges)
        range.place = impl_->calling.corrected(variable, range.low, std::move(range.place));
    return ranges;
}
std::optional<Address> DwarfModule::global_address(const Variable& variable) {
    return impl_->locations.global_address(variable);
}
std::vector<Variable> DwarfModule::globals(std::string_view name, std::string_view file) {
    return impl_->variables.globals(name, file);
}
std::vector<std::string> DwarfModule::global_names() { return sonde::global_names(impl_->units); }
const Type* DwarfModule::find_type(std::string_view name, DieOffset near) {
    return impl_->type_names.find_type(name, near);
}
std::optional<int64_t> DwarfModule::enumerator(std::string_view name, DieOffset near) {
    return impl_->type_names.enumerator(name, near);
}
std::optional<int64_t> DwarfModule::visible_enumerator(const FunctionInstance& function, Address address,
                                                       std::string_view name) {
    return impl_->type_names.visible_enumerator(function, address, name);
}
std::vector<std::string> DwarfModule::type_names() { return impl_->type_names.all(); }
const Type* DwarfModule::result_type(const FunctionInstance& function) {
    return impl_->variables.result_type(function);
}
std::vector<Label> DwarfModule::labels(const FunctionInstance& function) {
    return labels_in(impl_->file, impl_->debug, function);
}
std::vector<CallSite> DwarfModule::calls(const FunctionInstance& function) { return impl_->calls.in(function); }
std::optional<FrameRule> DwarfModule::frame_rule(Address address) { return impl_->unwind.frame_rule(address); }
std::string DwarfModule::signature(const FunctionInstance& function) { return impl_->variables.signature(function); }
Location DwarfModule::entry_stack_pointer(Address address) { return impl_->locations.entry_stack_pointer(address); }
std::optional<Address> DwarfModule::cheap_entry(const FunctionInstance& function) {
    return sonde::cheap_entry(impl_->file, function);
}
std::vector<Variable> DwarfModule::results(const FunctionInstance& function) {
    return impl_->variables.results(function);
}
FunctionPlaces DwarfModule::places(const FunctionInstance& function) { return impl_->entries.of(function); }
InstructionPlace DwarfModule::instruction_at(Address address) { return impl_->code.instruction_at(address); }

} // namespace sonde
