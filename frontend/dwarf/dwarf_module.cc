// Opening a module: ELF headers, symbols, and where its debug information is.
//
// Debug information is looked for inside the file, then beside it (base/debug_file.h).
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <unistd.h>

#include <fmt/format.h>

#include "base/debug_file.h"
#include "base/path.h"
#include "frontend/dwarf/reader.h"

namespace sonde {

DwarfReader::~DwarfReader() {
    if (eh_frame_)
        dwarf_cfi_end(eh_frame_);
    if (dwarf_)
        dwarf_end(dwarf_);
    if (common_dwarf_)
        dwarf_end(common_dwarf_);
}

Result<void> DwarfReader::open(const std::string& path, bool object) {
    Result<ElfFile> file = object ? ElfFile::open_linked(path) : ElfFile::open_any_width(path);
    if (!file)
        return std::move(file).error();
    if (file->is_32_bit() && file->find_section(".gopclntab"))
        return Error(
            fmt::format("cannot open `{}`: it is a 32-bit program of Go; only 64-bit ones can be probed", path),
            foreign_program);
    main_ = *std::move(file);
    path_ = without_links(path);
    build_id_ = main_->build_id();
    if (!is_32_bit()) // whose threads are laid out in another way
        find_thread_local_bias();
    return {};
}

std::optional<uint64_t> DwarfReader::file_offset(Address address) const {
    for (const ElfSegment& segment : main_->segments())
        if (segment.executable && address >= segment.address && address - segment.address < segment.file_size)
            return address - segment.address + segment.offset;
    return std::nullopt;
}

const std::vector<UsdtMark>& DwarfReader::marks() {
    if (!marks_)
        marks_ = read_usdt_marks(*main_);
    return *marks_;
}

Dwarf_CFI* DwarfReader::eh_frame() {
    if (!eh_frame_opened_) {
        eh_frame_opened_ = true;
        // The stripped file has it; its debug file has only an empty section of that name.
        eh_frame_ = dwarf_getcfi_elf(main_->elf());
    }
    return eh_frame_;
}

const std::vector<PltEntry>& DwarfReader::plt() {
    if (!plt_)
        plt_ = read_plt(*main_);
    return *plt_;
}

bool DwarfReader::has_debug_info() {
    if (!debug_searched_) {
        debug_searched_ = true;
        if (!has_dwarf(*main_))
            debug_ = find_debug_file(*main_, {.may_download = true, .problems = &debug_problems_});
    }
    return debug_ || has_dwarf(*main_);
}

Dwarf* DwarfReader::dwarf() {
    if (!dwarf_opened_) {
        dwarf_opened_ = true;
        if (has_debug_info())
            dwarf_ = dwarf_begin_elf(debug_ ? debug_->elf() : main_->elf(), DWARF_C_READ, nullptr);
        if (dwarf_)
            dwarfs_.push_back(dwarf_);
        find_common();
    }
    return dwarf_;
}

void DwarfReader::forget() {
    unit_spans_.clear();
    unit_spans_built_ = unit_spans_overlap_ = false;
    units_.clear();
    units_listed_ = false;
    instances_.clear();
    rows_.clear();
    definitions_.clear();
    definitions_indexed_ = false;
    types_by_die_.clear();
    dies_by_type_.clear();
    types_.clear();
    if (eh_frame_)
        dwarf_cfi_end(eh_frame_);
    eh_frame_ = nullptr;
    eh_frame_opened_ = false;
    if (dwarf_)
        dwarf_end(dwarf_);
    dwarf_ = nullptr;
    dwarfs_.clear();
    dwarf_opened_ = false;
}

// dwz's common file: libdw finds it by its name only.
void DwarfReader::find_common() {
    const ElfFile& file = debug_ ? *debug_ : *main_;
    if (!dwarf_ || !file.find_section(".gnu_debugaltlink") || dwarf_getalt(dwarf_))
        return;
    common_ = find_common_file(file, {.may_download = true, .problems = &debug_problems_});
    common_dwarf_ = common_ ? dwarf_begin_elf(common_->elf(), DWARF_C_READ, nullptr) : nullptr;
    if (common_dwarf_)
        dwarf_setalt(dwarf_, common_dwarf_);
}

const std::vector<Symbol>& DwarfReader::symbols() {
    if (symbols_loaded_)
        return symbols_;
    symbols_loaded_ = true;
    // A segment may be executable as a whole and have data in it.
    std::vector<std::pair<Address, Address>> code;
    for (const ElfSection& section : main_->sections())
        if ((section.flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR))
            code.emplace_back(section.address, section.address + section.size);
    auto is_code = [&](Address address) {
        return is_executable(address) && (code.empty() || std::any_of(code.begin(), code.end(), [&](const auto& one) {
                                              return address >= one.first && address < one.second;
                                          }));
    };
    has_debug_info(); // so that the debug file's symbol table is there
    if (!debug_)
        packed_ = open_packed_symbols(*main_);
    for (const std::optional<ElfFile>* file : {&main_, &debug_, &packed_}) {
        if (!*file)
            continue;
        (*file)->for_each_symbol([&](const ElfSymbol& symbol) {
            // STT_GNU_IFUNC is a resolver, not the function; an undefined symbol is an import (PLT).
            if (symbol.type == STT_FUNC && symbol.section != SHN_UNDEF && is_code(symbol.address))
                symbols_.push_back({symbol.name, symbol.address, symbol.size, symbol.binding != STB_LOCAL});
            return true;
        });
    }
    // A stripped Go program still has its own table.
    std::set<Address> known;
    for (const Symbol& symbol : symbols_)
        known.insert(symbol.address);
    for (const GoFunction& function : go_functions())
        if (is_executable(function.address) && !known.contains(function.address))
            symbols_.push_back({function.name, function.address, function.size, true});
    std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
        return a.address != b.address ? a.address < b.address : a.name < b.name;
    });
    auto same = [](const Symbol& a, const Symbol& b) { return a.address == b.address && a.name == b.name; };
    symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), same), symbols_.end());
    return symbols_;
}

std::optional<std::pair<std::string, Address>> DwarfReader::symbol_at(Address address) {
    const std::vector<Symbol>& all = symbols();
    auto behind = std::upper_bound(all.begin(), all.end(), address,
                                   [](Address wanted, const Symbol& symbol) { return wanted < symbol.address; });
    const Symbol* best = nullptr;
    for (auto at = behind; at != all.begin() && (!best || std::prev(at)->address == best->address);) {
        --at;
        bool covers = address == at->address || address - at->address < at->size;
        if (covers && (!best || at->global))
            best = &*at;
        if (!covers && !best)
            break;
    }
    if (!best)
        return std::nullopt;
    return std::pair(std::string(best->name), best->address);
}

bool DwarfReader::is_ambiguous(std::string_view name) {
    if (!ambiguous_) {
        ambiguous_.emplace();
        std::map<std::string_view, Address> seen;
        for (const Symbol& symbol : symbols())
            if (auto [at, fresh] = seen.try_emplace(symbol.name, symbol.address);
                !fresh && at->second != symbol.address)
                ambiguous_->insert(symbol.name);
    }
    return ambiguous_->contains(name);
}

std::optional<std::pair<std::string, Address>> DwarfReader::unique_symbol_before(Address address) {
    const std::vector<Symbol>& all = symbols();
    auto at = std::upper_bound(all.begin(), all.end(), address,
                               [](Address wanted, const Symbol& symbol) { return wanted < symbol.address; });
    for (; at != all.begin() && main_->same_segment(std::prev(at)->address, address); --at)
        if (!is_ambiguous(std::prev(at)->name))
            return std::pair(std::string(std::prev(at)->name), std::prev(at)->address);
    return std::nullopt;
}

std::optional<std::pair<std::string, Address>> DwarfReader::unique_variable_before(Address address) {
    std::map<std::string_view, int> count;
    std::map<Address, std::string_view> places;
    main_->for_each_symbol([&](const ElfSymbol& symbol) {
        if (symbol.type == STT_OBJECT && symbol.section != SHN_UNDEF) {
            count[symbol.name]++;
            if (symbol.address <= address && main_->same_segment(symbol.address, address))
                places.emplace(symbol.address, symbol.name);
        }
        return true;
    });
    for (auto at = places.rbegin(); at != places.rend(); ++at)
        if (count[at->second] == 1)
            return std::pair(std::string(at->second), at->first);
    return std::nullopt;
}

std::optional<Address> DwarfReader::symbol_address(std::string_view name) {
    std::optional<Address> found;
    has_debug_info(); // so that the debug file's symbol table is there
    for (const std::optional<ElfFile>* file : {&main_, &debug_})
        if (*file && !found)
            (*file)->for_each_symbol([&](const ElfSymbol& symbol) {
                if (symbol.name == name && symbol.section != SHN_UNDEF)
                    found = symbol.address;
                return !found;
            });
    return found;
}

// The public interface: every call goes to the reader.

DwarfModule::DwarfModule(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DwarfModule::~DwarfModule() = default;

Result<std::unique_ptr<DwarfModule>> DwarfModule::open(const std::string& path, bool object) {
    std::unique_ptr<Impl> impl = std::make_unique<Impl>();
    Result<void> opened = impl->open(path, object);
    if (!opened)
        return std::move(opened).error();
    return std::unique_ptr<DwarfModule>(new DwarfModule(std::move(impl)));
}

const std::string& DwarfModule::path() const { return impl_->path(); }
const std::string& DwarfModule::build_id() const { return impl_->build_id(); }
int DwarfModule::fd() const { return impl_->fd(); }
bool DwarfModule::has_debug_info() const { return impl_->has_debug_info(); }
const std::vector<std::string>& DwarfModule::debug_problems() const { return impl_->debug_problems(); }
bool DwarfModule::is_32_bit() const { return impl_->is_32_bit(); }
bool DwarfModule::position_independent() const { return impl_->position_independent(); }
std::vector<FunctionInstance> DwarfModule::functions(const FunctionPattern& pattern) {
    return impl_->functions(pattern);
}
void DwarfModule::visit_functions(const FunctionPattern& pattern,
                                  const std::function<void(const FunctionInstance&)>& visit, uint64_t most_bytes) {
    impl_->visit_functions(pattern, visit, most_bytes);
}
std::vector<Statement> DwarfModule::statements(const FunctionPattern& pattern) { return impl_->statements(pattern); }
std::optional<Statement> DwarfModule::statement_at(Address address) { return impl_->statement_at(address); }
std::optional<Address> DwarfModule::statement_start(Address address) { return impl_->statement_start(address); }
std::vector<std::string> DwarfModule::function_names() { return impl_->function_names(); }
std::vector<std::string> DwarfModule::source_files() { return impl_->source_files(); }
std::vector<int> DwarfModule::statement_lines(std::string_view file) { return impl_->statement_lines(file); }
std::vector<Variable> DwarfModule::variables_at(Address address, bool globals) {
    return impl_->variables_at(address, globals);
}
std::vector<Variable> DwarfModule::variables_in(const FunctionInstance& function, Address address, bool globals) {
    return impl_->variables_in(function, address, globals);
}
std::vector<Variable> DwarfModule::variables_to_list(const FunctionInstance& function, Address address) {
    return impl_->variables_to_list(function, address);
}
std::vector<Variable> DwarfModule::parameters(const FunctionInstance& function) { return impl_->parameters(function); }
Location DwarfModule::locate(const Variable& variable, Address address) { return impl_->locate(variable, address); }
std::vector<LocationRange> DwarfModule::location_ranges(const Variable& variable, const FunctionInstance& function) {
    return impl_->location_ranges(variable, function);
}
std::optional<Address> DwarfModule::global_address(const Variable& variable) { return impl_->global_address(variable); }
std::vector<Variable> DwarfModule::globals(std::string_view name, std::string_view file) {
    return impl_->globals(name, file);
}
std::vector<std::string> DwarfModule::global_names() { return impl_->global_names(); }
const Type* DwarfModule::find_type(std::string_view name, DieOffset near) { return impl_->find_type(name, near); }
std::optional<int64_t> DwarfModule::enumerator(std::string_view name, DieOffset near) {
    return impl_->enumerator(name, near);
}
std::optional<int64_t> DwarfModule::visible_enumerator(const FunctionInstance& function, Address address,
                                                       std::string_view name) {
    return impl_->visible_enumerator(function, address, name);
}
std::vector<std::string> DwarfModule::type_names() { return impl_->type_names(); }
const Type* DwarfModule::result_type(const FunctionInstance& function) { return impl_->result_type(function); }
Location DwarfModule::argument_location(const FunctionInstance& function, const Variable& argument) {
    return impl_->argument_location(function, argument);
}
const std::vector<UsdtMark>& DwarfModule::marks() { return impl_->marks(); }
const std::vector<PltEntry>& DwarfModule::plt() { return impl_->plt(); }
std::vector<Label> DwarfModule::labels(const FunctionInstance& function) { return impl_->labels(function); }
std::vector<CallSite> DwarfModule::calls(const FunctionInstance& function) { return impl_->calls(function); }
std::optional<FrameRule> DwarfModule::frame_rule(Address address) { return impl_->frame_rule(address); }
bool DwarfModule::keeps_to_abi(const FunctionInstance& function) { return impl_->keeps_to_abi(function); }
std::string DwarfModule::signature(const FunctionInstance& function) { return impl_->signature(function); }
Location DwarfModule::return_address(Address address) { return impl_->return_address(address); }
std::optional<Address> DwarfModule::cheap_entry(const FunctionInstance& function) {
    return impl_->cheap_entry(function);
}
Location DwarfModule::result_location(const FunctionInstance& function) { return impl_->result_location(function); }
std::vector<Variable> DwarfModule::results(const FunctionInstance& function) { return impl_->results(function); }
Location DwarfModule::result_location(const FunctionInstance& function, const Variable& result) {
    return impl_->result_location(function, result);
}
Result<std::vector<Address>> DwarfModule::return_sites(const FunctionInstance& function, bool may_change_address) {
    return impl_->return_sites(function, may_change_address);
}
bool DwarfModule::import_may_unwind(std::string_view symbol) { return impl_->import_may_unwind(symbol); }
std::optional<std::pair<std::string, Address>> DwarfModule::symbol_at(Address address) {
    return impl_->symbol_at(address);
}
bool DwarfModule::is_ambiguous(std::string_view name) { return impl_->is_ambiguous(name); }
std::optional<std::pair<std::string, Address>> DwarfModule::unique_symbol_before(Address address) {
    return impl_->unique_symbol_before(address);
}
std::optional<std::pair<std::string, Address>> DwarfModule::unique_variable_before(Address address) {
    return impl_->unique_variable_before(address);
}
std::optional<Address> DwarfModule::symbol_address(std::string_view name) { return impl_->symbol_address(name); }
std::optional<uint64_t> DwarfModule::file_offset(Address address) const { return impl_->file_offset(address); }
std::optional<Address> DwarfModule::address_of_offset(uint64_t offset) const {
    return impl_->address_of_offset(offset);
}
InstructionPlace DwarfModule::instruction_at(Address address) { return impl_->instruction_at(address); }

} // namespace sonde
