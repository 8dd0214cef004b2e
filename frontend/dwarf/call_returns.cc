// The module is searched twice. First, uses() looks at all bytes, without decoding them, for anything that could be a
// call or a jump to a PLT entry. This is fast. Then function_at() decodes only the functions where a match was found,
// and collects all addresses that can be reached in these functions.
//
// A byte sequence can look like a call without being one, for example in the middle of a longer instruction. Such a
// match is dropped only if decoding proves that it is inside of another instruction. A real call that is missed would
// lose a return silently, so all doubts end in an error. `Function::problem` is such a doubt.
//
// The register rax has the result only at the instruction right after the call. If a jump leads to the same
// instruction, rax can hold anything, and the probe would report a return that did not happen.
#include "frontend/dwarf/call_returns.h"

#include <algorithm>
#include <cstring>

#include <elf.h>
#include <unistd.h>

#include <fmt/format.h>

#include "frontend/dwarf/code_layout.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/return_sites.h"
#include "frontend/dwarf/unwind_table.h"
#include "frontend/machine/code_flow.h"
#include "frontend/machine/code_map.h"

namespace sonde {

namespace {

// Reads a number from the file at a linked address.
template <typename T> std::optional<T> read_at(const ProgramFile& file, Address address) {
    T value = 0;
    const std::optional<uint64_t> offset = file.elf().file_offset(address);
    if (!offset || pread(file.fd(), &value, sizeof value, static_cast<off_t>(*offset)) != sizeof value)
        return std::nullopt;
    return value;
}

// Adds the possible targets in a switch's jump table. Compilers store distances from the table, or addresses. Reading
// past the end of the table only adds targets that are not real, which makes the answer more careful.
void add_table(const ProgramFile& file, Address table, bool distances, std::set<Address>& out) {
    constexpr int most = 4096;
    for (int i = 0; i < most; i++) {
        std::optional<Address> target;
        if (distances) {
            if (auto distance = read_at<int32_t>(file, table + 4ull * static_cast<unsigned>(i)))
                target = table + static_cast<uint64_t>(int64_t{*distance});
        } else {
            target = read_at<uint64_t>(file, table + 8ull * static_cast<unsigned>(i));
        }
        if (!target || !file.is_executable(*target))
            return;
        out.insert(*target);
    }
}

} // namespace

// Finds all bytes that could be a direct call or jump to an entry.
//
// Decoding all code of a large library would take seconds, so this looks at each byte and does not know where
// instructions begin. A match may be in the middle of an instruction. That is checked later, for the few functions that
// contain a match.
const std::map<Address, CallReturns::Uses>& CallReturns::uses() {
    if (uses_)
        return *uses_;
    uses_.emplace();
    for (const PltEntry& entry : file_.plt())
        (*uses_)[entry.address];
    for (const ElfSection& section : file_.elf().sections()) {
        if (!(section.flags & SHF_EXECINSTR))
            continue;
        searched_ = true;
        const std::string_view code = file_.elf().section_data(section.name);
        file_.architecture().find_branches(code, [&](const PossibleBranch& one) {
            auto used = uses_->find(section.address + one.end + static_cast<uint64_t>(one.distance));
            if (used != uses_->end())
                (one.is_call ? used->second.calls : used->second.jumps).push_back(section.address + one.operand);
        });
    }
    return *uses_;
}

// Collects the facts about the function at an address: its instructions, and all targets that control can reach in it
// other than by a return. `problem` is set if some targets remain unknown; then no answer about this function is safe.
const CallReturns::Function& CallReturns::function_at(Address address) {
    std::optional<Stretch> stretch = code_.stretch_at(address);
    auto [found, fresh] = functions_.try_emplace(stretch ? stretch->low : address);
    Function& function = found->second;
    if (!fresh)
        return function;
    if (!stretch || !stretch->whole) {
        function.problem = "the end of the calling code is not known";
        return function;
    }
    const std::string bytes = file_.code(stretch->low, stretch->high);
    const CodeMap map(stretch->low, bytes, stretch->starts, true, file_.architecture());
    bool has_switch = false, has_table = false;
    for (Address at = stretch->low; at < stretch->high;) {
        const std::optional<Instruction> one =
            map.is_start(at) ? file_.architecture().decode(std::string_view(bytes).substr(at - stretch->low))
                             : std::nullopt;
        if (!one) {
            at += file_.architecture().instruction_alignment();
            continue;
        }
        // Note both ends of each instruction, to recognize matches of uses() that are inside another instruction.
        function.instructions[at] = at + one->length;
        at += one->length;
        if (one->is_call())
            function.behind_calls.insert(at);
        if (one->is_direct_jump())
            function.behind_jumps.insert(at);
        if (one->is_direct_jump())
            function.targets.insert(one->target(at));
        has_switch = has_switch || (one->is_indirect_jump() && !one->memory.is_fixed);
        // A switch loads the address of its table by `lea table(%rip)`, or jumps through `table(,%index,8)`.
        std::set<Address> table;
        // Tables of aligned instructions have elements of other sizes, which only add_flow() reads.
        const bool has_distances = file_.architecture().instruction_alignment() == 1;
        if (has_distances && one->operation == Operation::Address && one->memory.is_fixed)
            add_table(file_, one->memory.address(at), true, table);
        else if (one->is_indirect_jump() && one->memory.is_element_of_constant_table())
            add_table(file_, static_cast<Address>(one->memory.displacement), false, table);
        has_table = has_table || !table.empty();
        function.targets.merge(table);
    }
    if (has_switch && !has_table)
        has_table = add_flow(function, *stretch, bytes);
    if (has_switch && !has_table)
        function.problem = "an indirect jump may lead to this address";
    // Landing pads are entered by the unwinder, not by an instruction in the code.
    if (const UnwindEntry* entry = unwind_.at(address)) {
        std::optional<std::vector<Address>> pads = unwind_.landing_pads(*entry);
        if (!pads)
            function.problem = "the handler of an exception may begin at this address";
        else
            function.targets.insert(pads->begin(), pads->end());
    }
    return function;
}

// Adds the targets of the indirect jumps whose tables have other forms. Returns false if some remain unknown.
bool CallReturns::add_flow(Function& function, const Stretch& stretch, const std::string& bytes) {
    const CodeFlow flow(file_.architecture(), {{stretch.low, bytes}},
                        [&](Address at, size_t size) { return file_.data(at, size); });
    for (size_t i = 0; i < flow.nodes().size(); i++)
        if (flow.nodes()[i].is_indirect_jump)
            for (size_t target : flow.after(i))
                function.targets.insert(flow.nodes()[target].address);
    return !flow.is_cut() && !flow.has_unknown_jump();
}

// Returns why a probe at `behind`, the address after a call, would not be hit by each return and by nothing else; "" if
// it is safe.
std::string CallReturns::why_not(const PltEntry& entry, const Function& function, Address behind) {
    if (!function.problem.empty())
        return fmt::format("`{}` is called right before {:#x}, but {}", entry.name, behind, function.problem);
    if (!function.behind_calls.contains(behind))
        return fmt::format(
            "`{}` may be called right before {:#x}, but it is not known whether an instruction begins there",
            entry.name, behind);
    if (function.targets.contains(behind))
        return fmt::format("not only returns of `{}` lead to {:#x}, the address after a call", entry.name, behind);
    return "";
}

Result<std::vector<Address>> CallReturns::find(const PltEntry& entry) {
    constexpr Address distance_size = 4;
    const Uses& found = uses().at(entry.address);
    if (!searched_)
        return Error(
            fmt::format("`{}` has no section headers, so its calls of `{}` are not known", file_.path(), entry.name),
            unsafe_return);
    // A tail call `jmp write@plt` returns into the caller of this function, where no probe is.
    for (Address distance : found.jumps)
        if (const Function& function = function_at(distance);
            !function.is_inside(distance) || function.behind_jumps.contains(distance + distance_size))
            return Error(fmt::format("`{}` is also reached by a jump before {:#x}, and then returns to another caller",
                                     entry.name, distance + distance_size),
                         unsafe_return);
    std::vector<Address> out;
    for (Address distance : found.calls) {
        const Function& function = function_at(distance);
        const Address behind = distance + distance_size;
        if (function.is_inside(distance) && !function.behind_calls.contains(behind))
            continue; // these bytes only look like a call
        if (std::string why = why_not(entry, function, behind); !why.empty())
            return Error(std::move(why), unsafe_return);
        out.push_back(behind);
    }
    for (const ElfSection& section : file_.elf().sections()) {
        const uint64_t reach = file_.architecture().branch_distance();
        if ((section.flags & SHF_EXECINSTR) &&
            (entry.address > section.address + reach || section.address + section.size > entry.address + reach))
            return Error(fmt::format("`{}` has too much code for direct calls of `{}` from all of it, so its calls may "
                                     "be redirected by the linker",
                                     file_.path(), entry.name),
                         unsafe_return);
    }
    // In programs that are not position-independent, the address of the PLT entry can be used as a function pointer.
    // The symbol of the import then has this address.
    bool has_pointers = false;
    file_.elf().for_each_symbol([&](const ElfSymbol& symbol) {
        has_pointers = symbol.dynamic && symbol.section == SHN_UNDEF && symbol.address == entry.address;
        return !has_pointers;
    });
    if (has_pointers)
        return Error(fmt::format("`{}` is also called through pointers", entry.name), unsafe_return);
    if (out.empty())
        return Error(fmt::format("`{}` is not called through its entry", entry.name));
    return out;
}

} // namespace sonde
