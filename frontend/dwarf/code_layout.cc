// Finds the function around an address, and the instructions in it. In a stripped program there is little to rely on.
// The unwind entries are the best source: compilers create them for all functions, and they have exact bounds. Symbols
// can be missing, and assembly code often declares them without a size.
#include "frontend/dwarf/code_layout.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "frontend/dwarf/line_tables.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/symbol_tables.h"
#include "frontend/dwarf/unit_index.h"
#include "frontend/dwarf/unwind_table.h"
#include "frontend/machine/code_map.h"

namespace sonde {
namespace {

// Maximum amount of code that is read for one address.
constexpr Address most_code = 4 << 20;
constexpr Address max_unsized = 64 << 10;

} // namespace

std::optional<Stretch> CodeLayout::stretch_at(Address address) {
    const ElfSection* section = file_.section_at(address);
    if (section && !(section->flags & SHF_EXECINSTR))
        return std::nullopt;
    // The sources for a function's bounds are tried in the order of their reliability: unwind entries, debug
    // information, symbols. Sections with code from the linker come last.
    std::optional<Stretch> found;
    if (const UnwindEntry* entry = unwind_.at(address)) {
        found = {entry->low, entry->high, true, {entry->low}};
    } else if (FunctionRef around = enclosing_subprogram(units_.function_at(address))) {
        Dwarf_Die die;
        for (auto [low, high] : die_of(around, &die) ? units_.ranges(die).ranges : decltype(RangeList::ranges)())
            if (address >= low && address < high)
                found = {low, high, true, {low}};
    }
    // Several symbols can have the same address; one of them may have a size that covers the address.
    const std::vector<CodeSymbol>& all = symbols_.all();
    auto after = symbols_.first_after(address);
    for (auto at = after; !found && at != all.begin();) {
        --at;
        bool same = !section || at->address >= section->address;
        if (!same || after == all.begin() || at->address != std::prev(after)->address)
            break;
        if (at->size != 0 && address - at->address < at->size)
            found = {at->address, at->address + at->size, true, {at->address}};
    }
    if (!found && after != all.begin() && std::prev(after)->size == 0 &&
        (!section || std::prev(after)->address >= section->address)) {
        // Assembly code often has symbols without a size; such a symbol extends to the next one.
        Address high = section ? section->address + section->size : address + max_unsized;
        if (after != all.end())
            high = std::min(high, after->address);
        if (std::optional<Address> next = unwind_.next_after(address))
            high = std::min(high, *next);
        found = {std::prev(after)->address, high, false, {std::prev(after)->address}};
    }
    // The linker's own code has no symbols: the PLT and the code that runs before and after main().
    bool linked =
        section && (section->name.starts_with(".plt") || section->name == ".init" || section->name == ".fini");
    if (!found && linked)
        found = {section->address, section->address + section->size, true, {section->address}};
    // _start of a stripped program: only its first instructions are assumed.
    if (!found && file_.elf().entry() <= address && address - file_.elf().entry() < max_unsized)
        found = {file_.elf().entry(), address + 16, false, {file_.elf().entry()}};
    if (!found || found->high - found->low > most_code)
        return std::nullopt;
    // Symbols and rows of the line table are beginnings of instructions, too. They help where code cannot be followed.
    for (auto at = symbols_.first_from(found->low); at != all.end() && at->address < found->high; ++at)
        found->starts.push_back(at->address);
    if (Unit* unit = units_.unit_at(address)) {
        const std::vector<LineRow>& lines = lines_.rows(*unit);
        for (auto row = lines_.first_from(*unit, found->low); row != lines.end() && row->address < found->high; ++row)
            if (!row->end_sequence)
                found->starts.push_back(row->address);
    }
    return found;
}

InstructionPlace CodeLayout::instruction_at(Address address) {
    InstructionPlace out;
    if (!file_.is_executable(address)) {
        out.why = "the address is not in code";
        return out;
    }
    std::optional<Stretch> stretch = stretch_at(address);
    const ElfSection* section = file_.section_at(address);
    if ((!stretch && section && !(section->flags & SHF_EXECINSTR)) || symbols_.is_variable(address)) {
        out.why = "the address is in data";
        return out;
    }
    if (!stretch) {
        out.why = "no symbol, unwinding entry or debug information describes code at this address";
        return out;
    }
    out.function = stretch->low;
    if (file_.is_32_bit()) { // 32-bit code is not decoded
        std::sort(stretch->starts.begin(), stretch->starts.end());
        auto after = std::upper_bound(stretch->starts.begin(), stretch->starts.end(), address);
        if (after != stretch->starts.begin())
            out.before = *std::prev(after);
        if (out.before != address)
            out.why = "in 32-bit code, only the beginnings of functions and source lines are known";
        return out;
    }
    std::string bytes = file_.code(stretch->low, stretch->high);
    CodeMap map(stretch->low, bytes, stretch->starts, stretch->whole, file_.architecture());
    out.before = map.start_before(address);
    if (map.is_start(address))
        return out;
    out.inside = map.is_code(address);
    out.why =
        out.inside ? "the address is inside of an instruction" : "it is not known whether an instruction begins there";
    return out;
}

std::optional<Address> cheap_entry(const ProgramFile& file, const FunctionInstance& function) {
    if (function.inlined || file.is_32_bit())
        return std::nullopt;
    const Architecture& architecture = file.architecture();
    const std::string code = file.code(function.entry, function.entry + 2 * architecture.longest_instruction());
    std::string_view rest = code;
    std::optional<Instruction> one = architecture.decode(rest);
    if (one && one->operation == Operation::Nothing && !one->is_filling && architecture.is_single_stepped(rest)) {
        rest.remove_prefix(one->length); // endbr64
        one = architecture.decode(rest);
    }
    const bool is_cheap = one && !one->transfers() && !one->is_filling && !architecture.is_single_stepped(rest);
    return is_cheap ? std::optional(function.entry + (code.size() - rest.size())) : std::nullopt;
}

} // namespace sonde
