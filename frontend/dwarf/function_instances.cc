// The debug information of one function is spread over several DIEs and written differently by each compiler. This file
// collects it into one FunctionInstance. The attributes, with the usual source first and then the fallbacks:
//
// * entry: DW_AT_entry_pc, else the range whose symbol is not a moved part (`.cold`), else the first range.
// * name: the qualified name in DWARF; the demangled symbol if DWARF omits template arguments (-gsimple-template-names)
//   or has placeholders (Rust's `{impl#0}`).
// * file and line: the declaration, else the first row of the line table.
// * body: the place after the prologue, from the line table, where parameters have their final locations.
//
// The body must be executed once for each call. If a loop comes back to it, a probe there would count iterations
// (body_repeats).
#include "frontend/dwarf/function_instances.h"

#include <algorithm>

#include <dwarf.h>

#include "base/debug/die.h"
#include "base/demangle.h"
#include "base/symbol_parts.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/function_body.h"
#include "frontend/dwarf/go.h"
#include "frontend/dwarf/language.h"
#include "frontend/dwarf/line_tables.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/symbol_tables.h"
#include "frontend/dwarf/symbol_text.h"
#include "frontend/dwarf/unit_index.h"

namespace sonde {
namespace {

// With -gsimple-template-names (LLVM), the name of `f<int>` is `f`, and only the symbol has the arguments. Returns the
// complete name, or "" if nothing is missing.
std::string with_template_arguments(const FunctionInstance& instance) {
    if (!instance.linkage_name.starts_with("_Z") || instance.linkage_name.find('I') == std::string::npos ||
        instance.name.find('<') != std::string::npos)
        return "";
    std::optional<std::string> plain = demangle(instance.linkage_name);
    std::string whole = plain ? symbol_name(*plain) : "";
    return whole.find('<') != std::string::npos && without_all_template_arguments(whole) == instance.name ? whole : "";
}

// Returns which part of a coroutine begins at the address, if all symbols there agree.
std::string part_at(SymbolTables& symbols, Address entry) {
    std::string_view part;
    for (auto at = symbols.first_from(entry); at != symbols.all().end() && at->address == entry; ++at)
        if (part = coroutine_part(at->name); part.empty())
            return "";
    return std::string(part);
}

// Returns where a function with several parts begins. The symbols tell, because other parts have special names or none.
// Otherwise it is the first range. (A part that was moved may have lower addresses.)
Address first_part(SymbolTables& symbols, const std::vector<std::pair<Address, Address>>& ranges) {
    for (const auto& range : ranges)
        for (auto at = symbols.first_from(range.first); at != symbols.all().end() && at->address == range.first; ++at)
            if (!is_moved_part(at->name) && !is_later_part(at->name))
                return range.first;
    return ranges.front().first;
}

bool is_lambda(Dwarf_Die& die) {
    const char* name = dwarf_diename(&die);
    Dwarf_Attribute attribute;
    return name && std::string_view(name).starts_with("operator()") &&
           dwarf_attr_integrate(&die, DW_AT_object_pointer, &attribute);
}

} // namespace

// Creates the instance: the entry, the ranges, the names, the declaration's position, and the body. Compilers disagree
// about most of these, hence the fallbacks.
std::optional<FunctionInstance> FunctionInstances::make(FunctionRef function) {
    Dwarf_Die die;
    const char* bare = units_.bare_name(function);
    if (!function->has_code || !bare || !die_of(function, &die))
        return std::nullopt;
    RangeList code = units_.ranges(die);
    FunctionInstance instance;
    instance.inlined = function->inlined;
    Dwarf_Attribute attribute;
    Dwarf_Word distance = 0;
    Dwarf_Addr entry = 0;
    // DW_AT_entry_pc is an address, or an offset from the first range.
    if (dwarf_attr(&die, DW_AT_entry_pc, &attribute) && dwarf_formaddr(&attribute, &entry) == 0)
        instance.entry = entry;
    else if (dwarf_attr(&die, DW_AT_entry_pc, &attribute) && dwarf_formudata(&attribute, &distance) == 0)
        instance.entry = code.base + distance; // DWARF 5, section 2.18
    else if (!code.ranges.empty())
        instance.entry = instance.inlined ? std::min_element(code.ranges.begin(), code.ranges.end())->first
                                          : first_part(symbols_, code.ranges);
    if (instance.entry == 0 || !file_.is_executable(instance.entry))
        return std::nullopt;
    instance.low = instance.high = instance.entry;
    Address entry_range_end = instance.entry;
    for (auto [low, high] : code.ranges) {
        instance.low = std::min(instance.low, low);
        instance.high = std::max(instance.high, high);
        if (instance.entry >= low && instance.entry < high)
            entry_range_end = high;
    }
    instance.name = units_.qualified_name(function);
    if (instance.name.empty())
        instance.name = bare;
    if (!is_c_language(function.unit->language)) {
        const char* linkage = linkage_name(die);
        instance.linkage_name = linkage ? linkage : "";
    }
    // Rust describes methods by the names `{impl#0}`; the symbol has the real name.
    if (instance.name.find("{impl#") != std::string::npos)
        if (std::optional<std::string> plain = demangle(instance.linkage_name))
            instance.name = *std::move(plain);
    if (std::string whole = with_template_arguments(instance); !whole.empty())
        instance.name = std::move(whole);
    if (!instance.inlined)
        instance.part = part_at(symbols_, instance.entry);
    instance.name += instance.part;
    instance.file = declaration_file(die);
    if (dwarf_decl_line(&die, &instance.line) != 0)
        instance.line = 0;
    // Free Pascal does not record the positions of declarations. gcc does not for lambdas, which it marks as
    // artificial. Use the first row of the line table instead.
    const LineRow* first = nullptr;
    if (instance.file.empty() && (!flag_attribute(die, DW_AT_artificial) || is_lambda(die) || !instance.part.empty()))
        first = lines_.row_at(*function.unit, instance.entry);
    if (first && first->file) {
        instance.file = first->file;
        instance.line = first->line;
    }
    instance.external = flag_attribute(die, DW_AT_external);
    instance.is_go = function.unit->language == DW_LANG_Go;
    if (instance.is_go && instance.line == 0) // Go's debug information has the file only
        if (const LineRow* row = lines_.row_at(*function.unit, instance.entry))
            instance.line = row->line;
    if (instance.is_go && !instance.inlined)
        find_stack_check(file_, instance, entry_range_end);
    else
        instance.body = instance.inlined ? instance.entry
                                         : find_body(file_.architecture().registers(), lines_, *function.unit, die,
                                                     instance.entry, entry_range_end);
    // If control can reach the body several times per call, a function with parameters must be probed before its
    // prologue (place_cheaply.cc). Without parameters, the entry will do.
    if (!instance.is_go && instance.body != instance.entry && !file_.is_32_bit() &&
        !runs_once(file_, instance.entry, instance.body, entry_range_end)) {
        if (has_parameters(die))
            instance.body_repeats = true;
        else
            instance.body = instance.entry;
    }
    instance.die = debug_.pack(die);
    return instance;
}

const FunctionInstance* FunctionInstances::of(FunctionRef function) {
    if (!function)
        return nullptr;
    auto [entry, added] = made_[function.unit].try_emplace(function.index);
    if (added)
        entry->second = make(function);
    return entry->second ? &*entry->second : nullptr;
}

FunctionInstance FunctionInstances::of_symbol(const CodeSymbol& symbol) {
    FunctionInstance instance;
    instance.name = symbol.name;
    if (std::optional<std::string> plain = demangle(symbol.name)) {
        instance.name = symbol_name(*plain);
        instance.linkage_name = symbol.name;
        instance.part = coroutine_part(symbol.name);
    }
    instance.external = symbol.global;
    instance.entry = instance.body = instance.low = symbol.address;
    instance.high = symbol.address + symbol.size;
    instance.has_debug_info = false;
    instance.is_go = symbols_.is_go_function(symbol.address);
    if (instance.is_go)
        find_stack_check(file_, instance, instance.high);
    return instance;
}

} // namespace sonde
