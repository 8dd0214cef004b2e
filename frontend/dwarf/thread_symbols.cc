// A global variable has a symbol with its name. The symbol of a static variable follows the symbol with its file's
// name, and two files in different folders can have the same name. Then nothing is found.
//
// A static variable of a function has a symbol with another name:
//
//     void f(int) { static __thread int count; }       C: count.0, where the number says nothing
//                                                      C++: _ZZ1fiE5count, with the function's name
//
// An automatic variable that was optimized out has the same debug information as this one: a DIE without a location. So
// a symbol belongs to a DIE only if no other DIE is possible, and if no other symbol is.
#include "frontend/dwarf/thread_symbols.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <dwarf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/debug/die.h"
#include "base/elf_file.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/language.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/scopes.h"

namespace sonde {
namespace {

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Whether a symbol is that of a variable in a function. `function`: the function's mangled name without `_Z`, in C++;
// or "".
bool is_of_function(std::string_view symbol, const std::string& function, std::string_view variable) {
    if (function.empty())
        return symbol.starts_with(variable) && symbol.substr(variable.size()).starts_with('.') &&
               is_number(symbol.substr(variable.size() + 1));
    const std::string expected = fmt::format("_ZZ{}E{}{}", function, variable.size(), variable);
    // The number distinguishes variables in blocks of the function: _0, or __10_.
    return symbol.starts_with(expected) && (symbol.size() == expected.size() || symbol[expected.size()] == '_');
}

bool has_value(Dwarf_Die& die) { return dwarf_hasattr(&die, DW_AT_location) || dwarf_hasattr(&die, DW_AT_const_value); }

// Finds the variables of a unit's functions that may be the one with a symbol.
class Candidates {
  public:
    // Visits all DIEs.
    Candidates(Dwarf_Die& unit, std::string_view name) : name_(name), is_cxx_(is_cxx_language(dwarf_srclang(&unit))) {
        visit(unit, nullptr, 0);
    }

    // The function of a variable, as for is_of_function(). nullopt if the variable is in no function.
    std::optional<std::string> function_of(Dwarf_Die& variable) const {
        auto at = functions_.find(dwarf_dieoffset(&variable));
        return at == functions_.end() ? std::nullopt : std::optional(at->second);
    }
    // How many variables without a location are in functions with this name.
    size_t count(const std::string& function) const {
        return static_cast<size_t>(std::ranges::count_if(
            functions_, [&](const auto& one) { return one.second == function && !located_.contains(one.first); }));
    }

  private:
    void visit(Dwarf_Die& parent, const std::string* function, int depth) {
        if (depth >= max_die_depth)
            return;
        for_each_child(parent, [&](Dwarf_Die& child) {
            const int tag = dwarf_tag(&child);
            if (tag == DW_TAG_variable && function) {
                add(child, *function);
            } else if (tag == DW_TAG_subprogram) {
                const std::string inner = function_name(child);
                visit(child, &inner, depth + 1);
            } else if (tag != DW_TAG_variable) {
                visit(child, function, depth + 1);
            }
            return true;
        });
    }

    std::string function_name(Dwarf_Die& function) const {
        if (!is_cxx_)
            return "";
        if (const char* linkage = linkage_name(function); linkage && std::string_view(linkage).starts_with("_Z"))
            return linkage + 2;
        const std::string_view name = dwarf_diename(&function) ? dwarf_diename(&function) : "";
        return fmt::format("{}{}", name.size(), name);
    }

    void add(Dwarf_Die& die, const std::string& function) {
        const char* name = dwarf_diename(&die);
        if (!name || name != name_ || flag_attribute(die, DW_AT_declaration) || linkage_name(die))
            return;
        // An inlined copy of a thread-local variable has no location, too.
        Dwarf_Die source = original(die);
        if (has_value(die))
            located_.insert(dwarf_dieoffset(&source));
        functions_.emplace(dwarf_dieoffset(&source), function);
    }

    std::string_view name_;
    bool is_cxx_;
    std::map<Dwarf_Off, std::string> functions_; // by the offset of the variable's original DIE
    std::set<Dwarf_Off> located_;                // those that have a location or a value somewhere
};

} // namespace

void ThreadSymbols::read() {
    if (is_read_)
        return;
    is_read_ = true;
    read_file(file_.elf());
    if (const ElfFile* separate = debug_.separate())
        read_file(*separate);
}

void ThreadSymbols::read_file(const ElfFile& file) {
    std::map<std::string, int> sources;
    std::vector<Symbol> found;
    std::string within;
    file.for_each_symbol([&](const ElfSymbol& symbol) {
        if (symbol.type == STT_FILE) {
            within = symbol.name;
            sources[within]++;
        } else if (symbol.type == STT_TLS && symbol.section != SHN_UNDEF &&
                   (symbol.binding != STB_LOCAL || !within.empty())) {
            found.push_back({std::string(symbol.name), symbol.binding == STB_LOCAL ? within : "", symbol.address});
        }
        return true;
    });
    for (Symbol& one : found)
        if ((one.source.empty() || sources[one.source] == 1) && std::ranges::find(symbols_, one) == symbols_.end())
            symbols_.push_back(std::move(one));
}

// Returns the symbol's offset if exactly one place remains.
std::optional<uint64_t> ThreadSymbols::named(std::string_view name, std::string_view source) const {
    std::set<uint64_t> found;
    for (const Symbol& one : symbols_)
        if (one.name == name && one.source == source)
            found.insert(one.offset);
    return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
}

ThreadSymbols::Found ThreadSymbols::find(const Variable& variable, Dwarf_Die die) {
    Dwarf_Die unit;
    const char* linkage = linkage_name(die);
    const char* name = linkage ? linkage : dwarf_diename(&die);
    if (file_.thread_block_size() == 0 || variable.is_parameter || !name || !dwarf_diecu(&die, &unit, nullptr, nullptr))
        return {};
    read();
    if (flag_attribute(die, DW_AT_external))
        return {.offset = named(name, ""), .why = ""};
    const char* path = dwarf_diename(&unit);
    const std::string source = path ? std::filesystem::path(path).filename().native() : "";
    if (source.empty())
        return {};
    return variable.is_global || linkage ? Found{.offset = named(name, source), .why = ""}
                                         : find_in_function(name, source, unit, die);
}

ThreadSymbols::Found ThreadSymbols::find_in_function(std::string_view name, std::string_view source, Dwarf_Die& unit,
                                                     Dwarf_Die& die) const {
    // After link-time optimization, a unit has functions of several sources, which are not in `unit`.
    Dwarf_Die source_die = original(die), source_unit;
    if (!dwarf_diecu(&source_die, &source_unit, nullptr, nullptr) || source_unit.addr != unit.addr)
        return {};
    // Most variables without a location were optimized out.
    if (std::ranges::none_of(symbols_, [&](const Symbol& one) {
            return one.source == source && one.name.find(name) != std::string::npos;
        }))
        return {};
    const Candidates candidates(unit, name);
    const std::optional<std::string> function = candidates.function_of(source_die);
    if (!function)
        return {};
    std::set<std::string_view> names;
    std::set<uint64_t> offsets;
    for (const Symbol& one : symbols_)
        if (one.source == source && is_of_function(one.name, *function, name)) {
            names.insert(one.name);
            offsets.insert(one.offset);
        }
    if (offsets.empty())
        return {};
    if (offsets.size() == 1 && candidates.count(*function) == 1)
        return {.offset = *offsets.begin(), .why = ""};
    return {.offset = std::nullopt,
            .why = fmt::format("was optimized out, or is one of the thread-local variables `{}`, whose locations are "
                               "not in the debug information; give them different names",
                               fmt::join(names, "`, `"))};
}

} // namespace sonde
