// The questions are answered by decoding a few short functions, never by their names alone: whether gcc gives a thunk
// its own copy of the code depends on the size of the function and on the optimization level.
//
// Example: `struct B : virtual A { void f() override; }` needs a thunk for B::f, because a caller with an A* has
// another `this`. The thunk is usually "adjust rdi; jmp B::f". A probe at B::f sees that call. With -O2, gcc may
// duplicate a short B::f into the thunk, and then the probe must also be in the thunk.
#include "frontend/dwarf/emitted_variants.h"

#include <algorithm>
#include <functional>

#include "base/debug/die.h"
#include "base/symbol_parts.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/unit_index.h"

namespace sonde {
namespace {

// Calls `visit` with each instruction and the address of the next one. Returns false if an instruction cannot be
// decoded.
bool for_each_instruction(const ProgramFile& file, const CodeSymbol& symbol,
                          const std::function<void(const Instruction&, Address)>& visit) {
    const std::string bytes = file.code(symbol.address, symbol.address + symbol.size);
    for (size_t at = 0; at < bytes.size();) {
        const std::optional<Instruction> one = file.architecture().decode(std::string_view(bytes).substr(at));
        if (!one)
            return false;
        at += one->length;
        visit(*one, symbol.address + at);
    }
    return true;
}

} // namespace

// A function can have several symbols, and a library calls its own global functions through the PLT.
bool EmittedVariants::has_name(Address address, const std::vector<std::string>& names) {
    for (auto at = symbols_.first_from(address); at != symbols_.all().end() && at->address == address; ++at)
        if (std::ranges::find(names, at->name) != names.end())
            return true;
    const std::vector<PltEntry>& plt = file_.plt();
    const auto entry = std::ranges::lower_bound(plt, address, {}, &PltEntry::address);
    return entry != plt.end() && entry->address == address && std::ranges::find(names, entry->name) != names.end();
}

bool EmittedVariants::goes_to(const CodeSymbol& from, const std::vector<std::string>& names) {
    bool found = false;
    for_each_instruction(file_, from, [&](const Instruction& one, Address next) {
        const bool is_direct = one.is_direct_jump() || one.flow == Flow::Call;
        found = found || (is_direct && has_name(one.target(next), names));
    });
    return found;
}

// Whether the function has an inlined copy of a function with its own declaration: of another variant of itself.
bool EmittedVariants::contains_copy(FunctionRef function) {
    if (!function)
        return false;
    const FunctionRef named = units_.naming_entry(function);
    for (FunctionRef inner{function.unit, function.index + 1};
         inner.index < function.unit->functions.size() && is_inside_of(inner, function); inner.index++)
        if (inner->inlined && inner->has_code && units_.naming_entry(inner) == named)
            return true;
    return false;
}

bool EmittedVariants::contains_another(FunctionRef copy) {
    const auto symbol_of = [](FunctionRef function) {
        Dwarf_Die die;
        const char* name = die_of(function, &die) ? linkage_name(die) : nullptr;
        return std::string(name ? name : "");
    };
    // An inlined copy contains few others, so their names are read only for constructors and destructors.
    const std::vector<std::string> others = variants_run_by(symbol_of(copy));
    if (others.empty())
        return false;
    for (FunctionRef inner{copy.unit, copy.index + 1};
         inner.index < copy.unit->functions.size() && is_inside_of(inner, copy); inner.index++)
        if (inner->inlined && inner->has_code && std::ranges::find(others, symbol_of(inner)) != others.end())
            return true;
    return false;
}

bool EmittedVariants::runs_another(Address entry) {
    for (auto at = symbols_.first_from(entry); at != symbols_.all().end() && at->address == entry; ++at)
        if (const std::vector<std::string> others = variants_run_by(at->name);
            !others.empty() && (goes_to(*at, others) || contains_copy(enclosing_subprogram(units_.function_at(entry)))))
            return true;
    return false;
}

// A thunk without the code ends in a jump to the function or, if it adjusts the result, calls the function. The jump
// may be through the global offset table, and then nothing shows its target. But such a thunk has no return
// instruction. A jump through a variable is part of the function's code, which calls a function pointer last.
bool EmittedVariants::has_own_code(const CodeSymbol& thunk, const std::string& target) {
    bool jumps = false, returns = false;
    const auto goes_through_variable = [&](const Instruction& jump, Address next) {
        const bool is_fixed = jump.memory.exists && jump.memory.is_fixed;
        const ElfSection* section = is_fixed ? file_.section_at(jump.memory.address(next)) : nullptr;
        return section && !section->name.starts_with(".got");
    };
    const bool is_decoded = for_each_instruction(file_, thunk, [&](const Instruction& one, Address next) {
        jumps = jumps || (one.is_indirect_jump() && !goes_through_variable(one, next));
        returns = returns || one.is_return();
    });
    std::vector<std::string> names = variants_run_by(target);
    names.push_back(target);
    return is_decoded && thunk.size > 0 && (returns || !jumps) && !goes_to(thunk, names);
}

const std::vector<CodeSymbol>& EmittedVariants::thunks_with_code(const std::string& linkage_name) {
    static const std::vector<CodeSymbol> none;
    if (!thunks_) {
        thunks_.emplace();
        for (const CodeSymbol& symbol : symbols_.all())
            if (const std::string target = thunk_target(symbol.name); !target.empty() && !file_.is_32_bit() &&
                                                                      !units_.function_at(symbol.address) &&
                                                                      has_own_code(symbol, target))
                (*thunks_)[target].push_back(symbol);
    }
    const auto found = thunks_->find(linkage_name);
    return found == thunks_->end() ? none : found->second;
}

} // namespace sonde
