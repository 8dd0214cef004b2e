// The module's outside: opening it, and every call's way to the reader.
#include "frontend/dwarf/globals.h"
#include "frontend/dwarf/labels.h"
#include "frontend/dwarf/reader.h"

namespace sonde {

void DwarfReader::forget() {
    units_.forget();
    lines_.forget();
    instances_.forget();
    definitions_.forget();
    types_.forget();
    debug_.forget();
}

DwarfModule::DwarfModule(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DwarfModule::~DwarfModule() = default;

Result<std::unique_ptr<DwarfModule>> DwarfModule::open(const std::string& path, bool object) {
    Result<ProgramFile> file = ProgramFile::open(path, object);
    if (!file)
        return std::move(file).error();
    return std::unique_ptr<DwarfModule>(new DwarfModule(std::make_unique<Impl>(*std::move(file))));
}

const std::string& DwarfModule::path() const { return impl_->file_.path(); }
const std::string& DwarfModule::build_id() const { return impl_->file_.build_id(); }
int DwarfModule::fd() const { return impl_->file_.fd(); }
bool DwarfModule::has_debug_info() const { return impl_->debug_.found(); }
const std::vector<std::string>& DwarfModule::debug_problems() const { return impl_->debug_.problems(); }
bool DwarfModule::is_32_bit() const { return impl_->file_.is_32_bit(); }
bool DwarfModule::position_independent() const { return impl_->file_.position_independent(); }
std::vector<FunctionInstance> DwarfModule::functions(const FunctionPattern& pattern) {
    return impl_->functions_.find(pattern);
}
void DwarfModule::visit_functions(const FunctionPattern& pattern,
                                  const std::function<void(const FunctionInstance&)>& visit, uint64_t most_bytes) {
    const bool keeps = impl_->types_.has_made_any(); // somebody may have them
    uint64_t bytes = 0;
    impl_->functions_.visit(pattern, visit, [&](uint64_t read) {
        bytes += read;
        if (keeps || bytes < most_bytes || !impl_->debug_.may_forget())
            return;
        impl_->forget();
        bytes = 0;
    });
}
std::vector<Statement> DwarfModule::statements(const FunctionPattern& pattern) {
    return impl_->statements_.find(pattern);
}
std::optional<Statement> DwarfModule::statement_at(Address address) { return impl_->statements_.at(address); }
std::optional<Address> DwarfModule::statement_start(Address address) { return impl_->statements_.start(address); }
std::vector<std::string> DwarfModule::function_names() { return impl_->functions_.names(); }
std::vector<std::string> DwarfModule::source_files() { return impl_->statements_.source_files(); }
std::vector<int> DwarfModule::statement_lines(std::string_view file) { return impl_->statements_.lines_of(file); }
std::vector<Variable> DwarfModule::variables_at(Address address, bool globals) {
    return impl_->variables_.at(address, globals);
}
std::vector<Variable> DwarfModule::variables_in(const FunctionInstance& function, Address address, bool globals) {
    return impl_->variables_.in(function, address, globals);
}
std::vector<Variable> DwarfModule::variables_to_list(const FunctionInstance& function, Address address) {
    return impl_->variables_.to_list(function, address);
}
std::vector<Variable> DwarfModule::parameters(const FunctionInstance& function) {
    return impl_->variables_.parameters(function);
}
Location DwarfModule::locate(const Variable& variable, Address address) { return impl_->locate(variable, address); }
std::vector<LocationRange> DwarfModule::location_ranges(const Variable& variable, const FunctionInstance& function) {
    return impl_->location_ranges(variable, function);
}
std::optional<Address> DwarfModule::global_address(const Variable& variable) { return impl_->global_address(variable); }
std::vector<Variable> DwarfModule::globals(std::string_view name, std::string_view file) {
    return impl_->variables_.globals(name, file);
}
std::vector<std::string> DwarfModule::global_names() { return sonde::global_names(impl_->units_); }
const Type* DwarfModule::find_type(std::string_view name, DieOffset near) {
    return impl_->type_names_.find_type(name, near);
}
std::optional<int64_t> DwarfModule::enumerator(std::string_view name, DieOffset near) {
    return impl_->type_names_.enumerator(name, near);
}
std::optional<int64_t> DwarfModule::visible_enumerator(const FunctionInstance& function, Address address,
                                                       std::string_view name) {
    return impl_->type_names_.visible_enumerator(function, address, name);
}
std::vector<std::string> DwarfModule::type_names() { return impl_->type_names_.all(); }
const Type* DwarfModule::result_type(const FunctionInstance& function) {
    return impl_->variables_.result_type(function);
}
Location DwarfModule::argument_location(const FunctionInstance& function, const Variable& argument) {
    return impl_->argument_location(function, argument);
}
const std::vector<UsdtMark>& DwarfModule::marks() { return impl_->file_.marks(); }
const std::vector<PltEntry>& DwarfModule::plt() { return impl_->file_.plt(); }
std::vector<Label> DwarfModule::labels(const FunctionInstance& function) {
    return labels_in(impl_->file_, impl_->debug_, function);
}
std::vector<CallSite> DwarfModule::calls(const FunctionInstance& function) { return impl_->calls_.in(function); }
std::optional<FrameRule> DwarfModule::frame_rule(Address address) { return impl_->unwind_.frame_rule(address); }
bool DwarfModule::keeps_to_abi(const FunctionInstance& function) { return impl_->keeps_to_abi(function); }
std::string DwarfModule::signature(const FunctionInstance& function) { return impl_->variables_.signature(function); }
Location DwarfModule::return_address(Address address) { return impl_->return_address(address); }
std::optional<Address> DwarfModule::cheap_entry(const FunctionInstance& function) {
    return sonde::cheap_entry(impl_->file_, function);
}
Location DwarfModule::result_location(const FunctionInstance& function) { return impl_->result_location(function); }
std::vector<Variable> DwarfModule::results(const FunctionInstance& function) {
    return impl_->variables_.results(function);
}
Location DwarfModule::result_location(const FunctionInstance& function, const Variable& result) {
    return impl_->result_location(function, result);
}
Result<std::vector<Address>> DwarfModule::return_sites(const FunctionInstance& function, bool may_change_address) {
    return impl_->returns_.find(function, may_change_address);
}
bool DwarfModule::import_may_unwind(std::string_view symbol) { return impl_->returns_.import_may_unwind(symbol); }
std::optional<std::pair<std::string, Address>> DwarfModule::symbol_at(Address address) {
    return impl_->symbols_.at(address);
}
bool DwarfModule::is_ambiguous(std::string_view name) { return impl_->symbols_.is_ambiguous(name); }
std::optional<std::pair<std::string, Address>> DwarfModule::unique_symbol_before(Address address) {
    return impl_->symbols_.unique_before(address);
}
std::optional<std::pair<std::string, Address>> DwarfModule::unique_variable_before(Address address) {
    return impl_->symbols_.unique_variable_before(address);
}
std::optional<Address> DwarfModule::symbol_address(std::string_view name) { return impl_->symbols_.address_of(name); }
std::optional<uint64_t> DwarfModule::file_offset(Address address) const { return impl_->file_.file_offset(address); }
std::optional<Address> DwarfModule::address_of_offset(uint64_t offset) const {
    return impl_->file_.address_of_offset(offset);
}
InstructionPlace DwarfModule::instruction_at(Address address) { return impl_->code_.instruction_at(address); }

} // namespace sonde
