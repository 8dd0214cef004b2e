// Places inside of functions: labels, calls of the module's other functions, and how frames are found there.
//
// Compilers describe calls only in optimised code (DWARF 5, section 3.4), so they are found in the code itself: a
// `call` with a distance is e8 and four bytes. Bytes that only look so lead to the very beginning of a function hardly
// ever, and whoever asks looks at the return address when the function runs.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <dwarf.h>

#include "frontend/types/dwarf_impl.h"

namespace sonde {

void DwarfReader::add_labels(Dwarf_Die& scope, const FunctionInstance& function, int depth,
                             std::vector<Label>& labels) {
    for_each_child(scope, [&](Dwarf_Die& child) {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_lexical_block && depth < max_die_depth)
            add_labels(child, function, depth + 1, labels);
        const char* name = tag == DW_TAG_label ? string_attribute(child, DW_AT_name) : nullptr;
        Dwarf_Addr address = 0;
        if (!name || dwarf_lowpc(&child, &address) != 0 || !is_executable(address))
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
    if (function.has_debug_info && unpack(function.die, &die))
        add_labels(die, function, 0, labels);
    std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.address < b.address; });
    return labels;
}

std::vector<CallSite> DwarfReader::calls(const FunctionInstance& function) {
    if (entries_.empty()) {
        // Of several names of one function the one that is described.
        for (FunctionInstance& one : functions(FunctionPattern()))
            if (!one.inlined)
                if (auto [entry, fresh] = entries_.try_emplace(one.entry, one); !fresh && !entry->second.has_debug_info)
                    entry->second = one;
    }
    std::vector<CallSite> calls;
    std::vector<std::pair<Address, Address>> parts = {{function.low, function.high}};
    Dwarf_Die die;
    if (function.has_debug_info && unpack(function.die, &die))
        parts = ranges(die).ranges;
    FunctionRef caller = function.has_debug_info ? find_function(function.die) : FunctionRef();
    constexpr char call = '\xe8';
    constexpr size_t call_size = 5;
    for (auto [low, high] : parts) {
        const std::string bytes = code(low, high);
        for (size_t at = 0; at + call_size <= bytes.size(); at++) {
            if (bytes[at] != call)
                continue;
            int32_t distance = 0;
            std::memcpy(&distance, &bytes[at + 1], sizeof distance);
            Address behind = low + at + call_size;
            auto callee = entries_.find(behind + static_cast<Address>(int64_t{distance}));
            // What an inlined copy calls is not its caller's.
            if (callee != entries_.end() && (!caller || function_at(*caller.unit, low + at) == caller))
                calls.push_back({behind, callee->second});
        }
    }
    if (caller)
        for (uint32_t i = 0; i < caller.unit->functions.size(); i++)
            if (const FunctionEntry& copy = caller.unit->functions[i]; copy.inlined && copy.parent == caller.index)
                if (const FunctionInstance* known = instance({caller.unit, i}))
                    calls.push_back({0, *known});
    return calls;
}

std::optional<FrameRule> DwarfReader::frame_rule(Address address) {
    constexpr int rbp = 6, rsp = 7;
    for (Dwarf_CFI* table : {eh_frame(), dwarf() ? dwarf_getcfi(dwarf()) : nullptr}) {
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
