// The set of possible callees is fixed (all functions of the module), so a call is found by its target: an address that
// is the entry of a function. Calls through other registers or memory have no known target and are missing from the
// result.
//
// A byte that cannot be decoded is skipped. After that, decoding may be out of step for a few instructions. A wrong
// callee is still unlikely, because its target would have to be the exact beginning of a function.
#include "frontend/dwarf/calls.h"

#include <elf.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/function_instances.h"
#include "frontend/dwarf/function_search.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/unit_index.h"
#include "frontend/machine/relocations.h"

namespace sonde {

// Slots of the global offset table that lead to functions of the module itself, and the PLT entries that use them.
// Other modules can replace such functions (symbol interposition), but then the call does not go to this module.
const std::map<Address, Address>& Calls::own_slots() {
    if (own_slots_)
        return *own_slots_;
    own_slots_.emplace();
    std::map<std::string_view, Address> own; // by name
    for_each_relocation(file_.elf(), [&](const Relocation& relocation) {
        if (relocation.is_to_symbol() && relocation.symbol.st_shndx != SHN_UNDEF) {
            own_slots_->emplace(relocation.slot, relocation.symbol.st_value);
            own.emplace(relocation.name, relocation.symbol.st_value);
        }
    });
    for (const PltEntry& entry : file_.plt())
        if (auto found = own.find(entry.name); found != own.end())
            own_slots_->emplace(entry.address, found->second);
    return *own_slots_;
}

Address Calls::called(const Instruction& one, Address next) {
    const bool is_indirect = one.flow == Flow::IndirectCall || one.flow == Flow::IndirectJump;
    if (is_indirect && !one.memory.is_fixed)
        return 0;
    const Address to = is_indirect ? one.memory.address(next) : one.target(next);
    if (!is_indirect && entries_.contains(to))
        return to;
    auto slot = own_slots().find(to);
    return slot == own_slots().end() ? 0 : slot->second;
}

std::vector<CallSite> Calls::in(const FunctionInstance& function) {
    if (entries_.empty()) {
        // If a function has several names, keep the one with debug information.
        for (FunctionInstance& one : functions_.find(FunctionPattern()))
            if (!one.inlined)
                if (auto [entry, fresh] = entries_.try_emplace(one.entry, one); !fresh && !entry->second.has_debug_info)
                    entry->second = one;
    }
    std::vector<CallSite> calls;
    std::vector<std::pair<Address, Address>> parts = {{function.low, function.high}};
    Dwarf_Die die;
    if (function.has_debug_info && debug_.unpack(function.die, &die))
        parts = units_.ranges(die).ranges;
    FunctionRef caller = function.has_debug_info ? units_.find_function(function.die) : FunctionRef();
    const auto is_own = [&](Address address) {
        return std::ranges::any_of(parts,
                                   [&](const auto& part) { return address >= part.first && address < part.second; });
    };
    for (auto [low, high] : parts) {
        const std::string bytes = file_.code(low, high);
        for (size_t at = 0; at < bytes.size();) {
            const Address here = low + at;
            const std::optional<Instruction> one = file_.architecture().decode(std::string_view(bytes).substr(at));
            at += one ? one->length : file_.architecture().instruction_alignment();
            if (!one)
                continue;
            const bool is_conditional = one->flow == Flow::ConditionalJump;
            const bool jumps = one->flow == Flow::Jump || is_conditional || one->is_indirect_jump();
            auto callee = one->is_call() || jumps ? entries_.find(called(*one, low + at)) : entries_.end();
            // A jump to the function's own beginning is a loop, and a jump to its cold part is no call. A call in an
            // inlined copy does not belong to the function around the copy.
            if (callee == entries_.end() || (jumps && is_own(callee->first)) ||
                (caller && units_.function_at(*caller.unit, here) != caller))
                continue;
            CallSite site{0, std::nullopt, callee->second};
            if (!jumps)
                site.return_address = low + at;
            else
                site.jump = TailJump{here, is_conditional ? std::optional(one->condition) : std::nullopt};
            calls.push_back(std::move(site));
        }
    }
    // Calls that were inlined have no call instruction; the inlined copies are listed in the debug information.
    if (caller)
        for (uint32_t i = 0; i < caller.unit->functions.size(); i++)
            if (const FunctionEntry& copy = caller.unit->functions[i]; copy.inlined && copy.parent == caller.index)
                if (const FunctionInstance* known = instances_.of({caller.unit, i}))
                    calls.push_back({0, std::nullopt, *known});
    return calls;
}

} // namespace sonde
