// Detects results that no caller uses. For example, gcc turns this into a function without a result, because the only
// caller ignores it:
//
//     static int log(const char *s) { ...; return 0; }
//     void f() { log("a"); }
//
// After the call, rax contains a leftover. The debug information still declares an int, so `$return` would print
// garbage. The callers show the difference: if one of them reads rax after the call, the result exists.
//
// The analysis only looks at the few instructions after each call. If none of the callers is seen to read rax, the
// result is refused. This may refuse a result that exists, but never accepts one that does not.
#include "frontend/dwarf/dropped_results.h"

#include <elf.h>

#include <algorithm>
#include <optional>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/debug/die.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/symbol_tables.h"

namespace sonde {
namespace {

constexpr size_t bytes_after_call = 64, most_instructions = 8;
constexpr size_t longest_call = 8;

} // namespace

bool reads_result(const Architecture& architecture, std::string_view code, bool with_push) {
    for (size_t i = 0; i < most_instructions && !code.empty(); i++) {
        const std::optional<AnalyzedInstruction> analyzed = architecture.analyze(code);
        if (!analyzed)
            return false;
        const Instruction& one = analyzed->instruction;
        const bool is_push = one.operation == Operation::Push && one.from >= 0;
        const ResultUse use = is_push && !with_push ? ResultUse::None : analyzed->result_use;
        if (use != ResultUse::None)
            return use == ResultUse::Read;
        code.remove_prefix(std::min(one.length, code.size()));
    }
    return false;
}

// Compilers describe calls only in optimized code.
bool DroppedResults::is_optimised(const FunctionInstance& function) {
    Dwarf_Die die;
    return debug_.unpack(function.die, &die) &&
           (dwarf_hasattr(&die, DW_AT_call_all_calls) || dwarf_hasattr(&die, DW_AT_GNU_all_call_sites));
}

bool DroppedResults::has_other_signature(const FunctionInstance& function) {
    Dwarf_Die die;
    if (!debug_.unpack(function.die, &die))
        return false;
    if (number_attribute(die, DW_AT_calling_convention).value_or(DW_CC_normal) == DW_CC_nocall)
        return true;
    for (auto symbol = symbols_.first_from(function.low);
         symbol != symbols_.all().end() && symbol->address == function.low; ++symbol)
        if (symbol->name.find(".isra.") != std::string_view::npos)
            return true;
    return false;
}

const std::vector<std::pair<Address, Address>>& DroppedResults::calls() {
    if (has_calls_)
        return calls_;
    has_calls_ = true;
    constexpr uint64_t portion = 8 << 20;
    for (const ElfSection& section : file_.elf().sections())
        if ((section.flags & SHF_EXECINSTR) && section.type == SHT_PROGBITS)
            for (uint64_t done = 0; done < section.size; done += portion)
                add_calls(section.address + done,
                          section.address + std::min(section.size, done + portion + longest_call));
    std::ranges::sort(calls_);
    return calls_;
}

void DroppedResults::add_calls(Address low, Address high) {
    const std::string code = file_.code(low, high);
    file_.architecture().find_branches(code, [&](const PossibleBranch& one) {
        const Address next = low + one.end;
        if (one.is_call)
            calls_.emplace_back(next + static_cast<Address>(one.distance), next);
    });
}

bool DroppedResults::is_dropped(const FunctionInstance& function) {
    if (!function.has_debug_info || file_.is_32_bit())
        return false;
    // The changed copy is local, even if the function in the source is external.
    const bool is_changed = has_other_signature(function);
    if (!is_changed && (function.external || !is_optimised(function)))
        return false;
    auto call = std::ranges::lower_bound(calls(), std::pair(function.low, Address(0)));
    // If no direct call is known, the function is called through its address, and then the caller expects the result.
    const bool is_called = call != calls_.end() && call->first == function.low;
    for (; call != calls_.end() && call->first == function.low; ++call)
        if (reads_result(file_.architecture(), file_.code(call->second, call->second + bytes_after_call), !is_changed))
            return false;
    return is_called || is_changed;
}

} // namespace sonde
