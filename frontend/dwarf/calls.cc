// Places inside of functions: labels, calls of the module's other functions, and how frames are found there.
//
// Compilers describe calls only in optimised code (DWARF 5, section 3.4), so they are found in the code itself: calls
// and jumps that lead to the beginning of another function, directly, through the table of calls (a library's own
// global functions are called so), or through the table's slot.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include <dwarf.h>

#include "frontend/dwarf/reader.h"
#include "frontend/types/relocations.h"
#include "frontend/types/x86_code.h"

namespace sonde {

void DwarfReader::add_labels(Dwarf_Die& scope, const FunctionInstance& function, int depth,
                             std::vector<Label>& labels) {
    for_each_child(scope, [&](Dwarf_Die& child) {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_lexical_block && depth < max_die_depth)
            add_labels(child, function, depth + 1, labels);
        const char* name = tag == DW_TAG_label ? string_attribute(child, DW_AT_name) : nullptr;
        Dwarf_Addr address = 0;
        if (!name || dwarf_lowpc(&child, &address) != 0 || !file_.is_executable(address))
            return true;
        Label label{name, address, declaration_file(child), 0};
        if (dwarf_decl_line(&child, &label.line) != 0)
            label.line = 0;
        labels.push_back(std::move(label));
        return true;
    });
}

std::vector<Label> DwarfReader::labels(const FunctionInstance& function) {
    std::vector<Label> labels;
    Dwarf_Die die;
    if (function.has_debug_info && debug_.unpack(function.die, &die))
        add_labels(die, function, 0, labels);
    std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.address < b.address; });
    return labels;
}

const std::map<Address, Address>& DwarfReader::own_slots() {
    if (own_slots_)
        return *own_slots_;
    own_slots_.emplace();
    std::map<std::string_view, Address> own; // by name
    for_each_relocation(file_.elf(), [&](const Relocation& relocation) {
        if ((relocation.type == R_X86_64_JUMP_SLOT || relocation.type == R_X86_64_GLOB_DAT) &&
            relocation.symbol.st_shndx != SHN_UNDEF) {
            own_slots_->emplace(relocation.slot, relocation.symbol.st_value);
            own.emplace(relocation.name, relocation.symbol.st_value);
        }
    });
    for (const PltEntry& entry : file_.plt())
        if (auto found = own.find(entry.name); found != own.end())
            own_slots_->emplace(entry.address, found->second);
    return *own_slots_;
}

// Where a call or jump leads, `next` being the instruction after it; 0: nobody knows.
Address DwarfReader::called(const X86Instruction& one, Address next) {
    const bool indirect = one.opcode == 0xff, by_slot = indirect && (one.modrm & 0xc7) == 5; // disp(%rip)
    if (indirect && !by_slot)
        return 0;
    const Address to = next + static_cast<Address>(by_slot ? one.displacement : one.immediate);
    if (!by_slot && entries_.contains(to))
        return to;
    auto slot = own_slots().find(to);
    return slot == own_slots().end() ? 0 : slot->second;
}

std::vector<CallSite> DwarfReader::calls(const FunctionInstance& function) {
    if (entries_.empty()) {
        // Of several names of one function the one that is described.
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
    for (auto [low, high] : parts) {
        const std::string bytes = file_.code(low, high);
        for (size_t at = 0; at < bytes.size();) {
            const Address here = low + at;
            std::optional<X86Instruction> one = decode_x86(std::string_view(bytes).substr(at));
            at += one ? one->length : 1; // what cannot be decoded is passed over
            if (!one)
                continue;
            const bool jumps = (one->is_direct_jump() && one->map == 0 && one->opcode >> 4 == 0xe) ||
                               one->is_indirect_jump(); // a conditional one is none
            auto callee = one->is_call() || jumps ? entries_.find(called(*one, low + at)) : entries_.end();
            // A jump to its own beginning is a loop. What an inlined copy calls is not its caller's.
            if (callee == entries_.end() || (jumps && callee->first == function.entry) ||
                (caller && units_.function_at(*caller.unit, here) != caller))
                continue;
            if (jumps)
                calls.push_back({0, here, callee->second});
            else
                calls.push_back({low + at, std::nullopt, callee->second});
        }
    }
    if (caller)
        for (uint32_t i = 0; i < caller.unit->functions.size(); i++)
            if (const FunctionEntry& copy = caller.unit->functions[i]; copy.inlined && copy.parent == caller.index)
                if (const FunctionInstance* known = instances_.of({caller.unit, i}))
                    calls.push_back({0, std::nullopt, *known});
    return calls;
}

std::optional<FrameRule> DwarfReader::frame_rule(Address address) {
    constexpr int rbp = 6, rsp = 7;
    for (Dwarf_CFI* table : {debug_.eh_frame(), debug_.debug_frame()}) {
        Dwarf_Frame* found = nullptr;
        if (!table || dwarf_cfi_addrframe(table, address, &found) != 0)
            continue;
        std::unique_ptr<Dwarf_Frame, decltype(&free)> frame(found, free);
        Dwarf_Op memory[3], *ops = nullptr;
        size_t count = 0;
        if (dwarf_frame_cfa(frame.get(), &ops, &count) != 0 || count != 1)
            return std::nullopt;
        FrameRule rule;
        bool any = ops->atom == DW_OP_bregx;
        rule.cfa_register = any ? static_cast<int>(ops->number) : ops->atom - DW_OP_breg0;
        rule.cfa_offset = static_cast<int64_t>(any ? ops->number2 : ops->number);
        if (rule.cfa_register != rbp && rule.cfa_register != rsp)
            return std::nullopt;
        if (dwarf_frame_register(frame.get(), rbp, memory, &ops, &count) != 0)
            return std::nullopt;
        // libdw says "at the CFA and that much" with these; no operations at all: the register is as it was.
        if (ops && count >= 1 && ops[0].atom == DW_OP_call_frame_cfa)
            rule.saved_rbp = count >= 2 ? static_cast<int64_t>(ops[1].number) : 0;
        else if (ops && count != 0)
            return std::nullopt;
        return rule;
    }
    return std::nullopt;
}

} // namespace sonde
