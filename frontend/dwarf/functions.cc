// Functions by name: concrete ones, inlined copies, and those that only the symbol table knows.
//
// Parameters of unoptimised code live in the frame and are stored there by the prologue, so a probe on the first
// instruction would read garbage. `body` is where they are right: the address that the compiler marked as the end of
// the prologue (DWARF 5, section 6.2.2) or, where it marks none, the second row of the function's line table, as
// debuggers do. Where the function's first statement is a loop, that place is run once per round.
#include <algorithm>
#include <cstring>
#include <set>

#include <dwarf.h>
#include <fmt/format.h>

#include "base/demangle.h"
#include "base/glob.h"
#include "frontend/dwarf/name_filter.h"
#include "frontend/dwarf/reader.h"
#include "frontend/types/x86_code.h"

namespace sonde {

namespace {

bool line_matches(const FunctionPattern& pattern, int line) {
    switch (pattern.line_kind) {
    case FunctionPattern::Absolute:
        return line == pattern.line;
    case FunctionPattern::LineRange:
        return line >= pattern.line && line <= pattern.line_end;
    case FunctionPattern::None:
    case FunctionPattern::Relative:
    case FunctionPattern::Wildcard:
        break;
    }
    return true;
}

// The one register that an expression consists of, or that it is relative to; -1 for anything else.
int base_register(const Dwarf_Op& op) {
    if (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31)
        return op.atom - DW_OP_reg0;
    if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31)
        return op.atom - DW_OP_breg0;
    return -1;
}

} // namespace

bool DwarfReader::name_matches(FunctionRef function, const std::string& pattern) {
    if (pattern == "*")
        return true;
    const char* name = units_.bare_name(function);
    if (!name)
        return false;
    if (function.unit->language == DW_LANG_Go)
        return go_name_matches(pattern, name);
    if (glob_match(pattern, name))
        return true;
    if (is_c_language(function.unit->language))
        return false;
    if (pattern.find('<') == std::string::npos && strchr(name, '<') &&
        glob_match(pattern, without_template_arguments(name)))
        return true;
    bool wildcard = has_wildcard(pattern);
    if (wildcard || pattern.find("::") != std::string::npos) { // `*` crosses `::`
        FunctionRef naming = units_.naming_entry(function);
        if (naming->scope != no_index && qualified_matches(*naming.unit, naming->scope, name, pattern))
            return true;
    }
    return linkage_matches(function, pattern);
}

bool DwarfReader::matches(FunctionRef function, const FunctionPattern& pattern) {
    if (!name_matches(function, pattern.function))
        return false;
    const FunctionInstance* candidate = pattern.parameters.empty() ? nullptr : instance(function);
    return pattern.parameters.empty() ||
           (candidate && same_parameters(pattern.parameters, variables_.signature(*candidate)));
}

// By a mangled name, or by Rust's for what DWARF has no name for, as `<T as Trait>::f`.
bool DwarfReader::linkage_matches(FunctionRef function, const std::string& pattern) {
    bool is_rust =
        function.unit->language == DW_LANG_Rust && (pattern.find("::") != std::string::npos || has_wildcard(pattern));
    Dwarf_Die die;
    if ((!is_rust && !pattern.starts_with("_")) || !die_of(function, &die))
        return false;
    const char* linkage = string_attribute(die, DW_AT_linkage_name);
    return linkage && (glob_match(pattern, linkage) || (is_rust && symbol_matches(pattern, linkage)));
}

// True if parameters have a fixed home in the frame that the prologue fills.
bool DwarfReader::keeps_parameters_in_frame(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    Dwarf_Op* base = nullptr;
    size_t base_length = 0;
    bool cfa_base = false;
    if (dwarf_attr_integrate(&die, DW_AT_frame_base, &attribute) &&
        dwarf_getlocation(&attribute, &base, &base_length) == 0 && base_length == 1)
        cfa_base = base[0].atom == DW_OP_call_frame_cfa;
    bool parameters = false, in_frame = false;
    for_each_child(die, [&](Dwarf_Die& child) {
        if (dwarf_tag(&child) != DW_TAG_formal_parameter)
            return true;
        parameters = true;
        Dwarf_Op* ops = nullptr;
        size_t length = 0;
        // A location list says itself where it holds; only a single location is blind to the prologue.
        if (!dwarf_attr_integrate(&child, DW_AT_location, &attribute) ||
            dwarf_getlocation(&attribute, &ops, &length) != 0 || length == 0)
            return true;
        if (ops[0].atom == DW_OP_fbreg) {
            // Above the CFA are the arguments that the caller put on the stack; they are right from the start.
            in_frame = !cfa_base || static_cast<int64_t>(ops[0].number) < 0;
        } else {
            int reg = base_register(ops[0]);
            in_frame = ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31 && (reg == 6 || reg == 7);
        }
        return !in_frame;
    });
    if (parameters)
        return in_frame;
    // Without parameters nothing depends on the prologue but locals; gcc writes its options into the producer, and
    // clang uses rbp as the frame base only in unoptimised code.
    Dwarf_Die unit;
    const char* producer =
        dwarf_diecu(&die, &unit, nullptr, nullptr) ? string_attribute(unit, DW_AT_producer) : nullptr;
    if (producer && strncmp(producer, "GNU C", 5) == 0) {
        const char* level = strstr(producer, " -O");
        return !level || level[3] == '0';
    }
    return base && base_length == 1 && base_register(base[0]) == 6 && producer && strstr(producer, "clang");
}

namespace {

bool has_parameters(Dwarf_Die& die) {
    bool any = false;
    for_each_child(die, [&](Dwarf_Die& child) {
        any = dwarf_tag(&child) == DW_TAG_formal_parameter;
        return !any;
    });
    return any;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

} // namespace

Address DwarfReader::find_body(Unit& unit, Dwarf_Die& die, Address entry, Address high) {
    if (!keeps_parameters_in_frame(die))
        return entry;
    const std::vector<LineRow>& all = lines_.rows(unit);
    auto first = lines_.first_from(unit, entry);
    // The end of the function before, where each has a section of its own.
    while (first != all.end() && first->address == entry && first->end_sequence)
        ++first;
    auto in_function = [&](auto row) { return row != all.end() && row->address < high && !row->end_sequence; };
    for (auto row = first; in_function(row); ++row)
        if (row->prologue_end)
            return row->address;
    bool other_file = in_function(first) && first->file && *declaration_file(die) &&
                      file_name(first->file) != file_name(declaration_file(die));
    auto second = first;
    if (in_function(first) && !other_file && in_function(first + 1))
        ++second;
    // Two records of one address: there is no prologue. Parameters that are in the frame have been put there by one.
    bool parameters = has_parameters(die);
    while (parameters && in_function(second) && second->address == entry)
        ++second;
    return in_function(second) ? second->address : entry;
}

bool DwarfReader::runs_once(Address entry, Address body, Address high) const {
    const std::string bytes = file_.code(entry, high);
    for (size_t at = 0; at < bytes.size();) {
        std::optional<X86Instruction> one = decode_x86(std::string_view(bytes).substr(at));
        if (!one)
            return true; // nothing shows that it does not
        bool before = entry + at < body;
        at += one->length;
        Address target = entry + at + static_cast<uint64_t>(one->immediate);
        if (before && one->is_return())
            return false;
        if (one->is_direct_jump() && (before ? target > body || target < entry : target > entry && target <= body))
            return false;
    }
    return true;
}

std::optional<FunctionInstance> DwarfReader::make_instance(FunctionRef function) {
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
    if (dwarf_attr(&die, DW_AT_entry_pc, &attribute) && dwarf_formaddr(&attribute, &entry) == 0)
        instance.entry = entry;
    else if (dwarf_attr(&die, DW_AT_entry_pc, &attribute) && dwarf_formudata(&attribute, &distance) == 0)
        instance.entry = code.base + distance; // DWARF 5, section 2.18
    else if (!code.ranges.empty())
        // The first range is where a function begins; a cold part split off it may have lower addresses.
        instance.entry = instance.inlined ? std::min_element(code.ranges.begin(), code.ranges.end())->first
                                          : code.ranges.front().first;
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
    if (instance.name.find("{impl#") != std::string::npos)
        if (std::optional<std::string> plain = demangle(instance.linkage_name))
            instance.name = *std::move(plain);
    instance.file = declaration_file(die);
    if (dwarf_decl_line(&die, &instance.line) != 0)
        instance.line = 0;
    instance.external = flag_attribute(die, DW_AT_external);
    instance.is_go = function.unit->language == DW_LANG_Go;
    if (instance.is_go && instance.line == 0) // Go's debug information names only the file
        if (const LineRow* row = lines_.row_at(*function.unit, instance.entry))
            instance.line = row->line;
    if (instance.is_go && !instance.inlined)
        find_stack_check(file_, instance, entry_range_end);
    else
        instance.body =
            instance.inlined ? instance.entry : find_body(*function.unit, die, instance.entry, entry_range_end);
    if (!instance.is_go && instance.body != instance.entry && !file_.is_32_bit() &&
        !runs_once(instance.entry, instance.body, entry_range_end)) {
        if (has_parameters(die))
            instance.body_repeats = true;
        else
            instance.body = instance.entry;
    }
    instance.die = debug_.pack(die);
    return instance;
}

const FunctionInstance* DwarfReader::instance(FunctionRef function) {
    if (!function)
        return nullptr;
    auto [entry, added] = instances_[function.unit].try_emplace(function.index);
    if (added)
        entry->second = make_instance(function);
    return entry->second ? &*entry->second : nullptr;
}

FunctionInstance DwarfReader::symbol_instance(const Symbol& symbol) {
    FunctionInstance instance;
    instance.name = symbol.name;
    if (std::optional<std::string> plain = demangle(symbol.name)) {
        instance.name = symbol_name(*plain);
        instance.linkage_name = symbol.name;
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

namespace {

// By address and name, each once.
void sort_functions(std::vector<FunctionInstance>& found) {
    std::stable_sort(found.begin(), found.end(), [](const FunctionInstance& a, const FunctionInstance& b) {
        if (a.entry != b.entry)
            return a.entry < b.entry;
        if (a.name != b.name)
            return a.name < b.name;
        return a.inlined < b.inlined;
    });
    // A constructor's variants share one body; two inlined copies may begin at one address only by different names.
    auto same = [](const FunctionInstance& a, const FunctionInstance& b) {
        return a.entry == b.entry && a.name == b.name && a.inlined == b.inlined;
    };
    found.erase(std::unique(found.begin(), found.end(), same), found.end());
}

} // namespace

void DwarfReader::add_functions(Unit& unit, const FunctionPattern& pattern, std::vector<FunctionInstance>& found) {
    scan(unit);
    for (uint32_t i = 0; i < unit.functions.size(); i++) {
        FunctionRef function{&unit, i};
        if (!function->has_code || function->declaration || !matches(function, pattern))
            continue;
        const FunctionInstance* candidate = instance(function);
        if (candidate && !is_part(*candidate) && file_matches(pattern.file, candidate->file) &&
            line_matches(pattern, candidate->line))
            found.push_back(*candidate);
    }
}

void DwarfReader::visit_functions(const FunctionPattern& pattern,
                                  const std::function<void(const FunctionInstance&)>& visit, uint64_t most_bytes) {
    bool forgets = !types_.has_made_any(); // somebody may have the others
    uint64_t bytes = 0;
    std::set<Address> entries;
    for (size_t i = 0; i < units_.all().size(); i++) {
        Unit& unit = units_.all()[i];
        std::vector<FunctionInstance> found;
        add_functions(unit, pattern, found);
        sort_functions(found);
        for (const FunctionInstance& function : found) {
            if (!function.inlined)
                entries.insert(function.entry);
            visit(function);
        }
        bytes += unit.end - unit.begin;
        if (!forgets || bytes < most_bytes || !debug_.may_forget())
            continue;
        forget();
        bytes = 0;
    }
    std::vector<FunctionInstance> found;
    add_symbols(pattern, entries, found);
    for (const FunctionInstance& function : found)
        visit(function);
}

std::vector<FunctionInstance> DwarfReader::functions(const FunctionPattern& pattern) {
    std::vector<FunctionInstance> found;
    const NameFilter filter(debug_.dwarf(), pattern.function);
    for (Unit& unit : units_.all())
        if (filter.may_have(unit))
            add_functions(unit, pattern, found);
    std::set<Address> entries;
    for (const FunctionInstance& function : found)
        if (!function.inlined)
            entries.insert(function.entry);
    add_symbols(pattern, entries, found);
    sort_functions(found);
    return found;
}

std::vector<std::string> DwarfReader::function_names() {
    std::set<std::string> names;
    for (Unit& unit : units_.all()) {
        scan(unit);
        for (uint32_t i = 0; i < unit.functions.size(); i++) {
            FunctionRef function{&unit, i};
            const char* bare = function->has_code && !function->declaration ? units_.bare_name(function) : nullptr;
            if (!bare)
                continue;
            names.insert(
                is_c_language(unit.language) || unit.language == DW_LANG_Go ? bare : without_template_arguments(bare));
            if (!is_c_language(unit.language))
                names.insert(units_.qualified_name(function));
        }
    }
    for (const Symbol& symbol : symbols_.all()) {
        FunctionRef around = enclosing_subprogram(units_.function_at(symbol.address));
        const FunctionInstance* known = instance(around);
        // A mangled name is no help when the plain one is there.
        if (!known || (known->entry == symbol.address && !symbol.name.starts_with("_Z")))
            names.emplace(symbol.name);
    }
    names.erase("");
    return {names.begin(), names.end()};
}

} // namespace sonde
