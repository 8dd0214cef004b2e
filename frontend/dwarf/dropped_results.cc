// Detects results that no caller uses. For example, clang turns this into a function without a result, because the only
// caller ignores it:
//
//     static int log(const char *s) { ...; return 0; }
//     void f() { log("a"); }
//
// After the call, rax contains a leftover. The debug information still declares an int, so `$return` would print
// garbage. The callers show the difference: if one of them reads rax after the call, the result exists.
//
// The analysis only looks at the few instructions after each call. If no caller is seen to read a register, the result
// is refused. This may refuse a result that exists, but never accepts one that does not.
#include "frontend/dwarf/dropped_results.h"

#include <elf.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/debug/die.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/symbol_tables.h"

namespace sonde {
namespace {

constexpr size_t bytes_at_once = 64, most_instructions = 32;
constexpr size_t longest_call = 8;

// A place in the code, and the registers that still have the result there.
struct Path {
    Address address = 0;
    ResultReads has_result = {true, true};
};

} // namespace

ResultReads reads_of_result(const Architecture& architecture, Address address,
                            const std::function<std::string(Address)>& code, bool with_push) {
    ResultReads reads = {};
    std::set<Address> seen;
    size_t left = most_instructions; // on all paths
    for (std::vector<Path> paths = {{address}}; !paths.empty();) {
        Path path = paths.back();
        paths.pop_back();
        std::string bytes;
        std::string_view rest;
        while (left > 0 && (path.has_result[0] || path.has_result[1]) && seen.insert(path.address).second) {
            left--;
            if (rest.size() < architecture.longest_instruction())
                rest = bytes = code(path.address);
            const std::optional<AnalyzedInstruction> analyzed = architecture.analyze(rest);
            if (!analyzed)
                break;
            const Instruction& one = analyzed->instruction;
            const Address next = path.address + one.length;
            const bool is_push = one.operation == Operation::Push && one.from >= 0;
            const ResultUse uses[] = {analyzed->result_use, architecture.use_of_second_result(rest)};
            for (size_t i = 0; i < reads.size() && !(is_push && !with_push); i++) {
                const ResultUse use = uses[i];
                reads[i] = reads[i] || (path.has_result[i] && use == ResultUse::Read);
                path.has_result[i] = path.has_result[i] && (use == ResultUse::None || one.is_direct_jump());
            }
            if (one.is_direct_jump()) {
                if (!one.ends_flow())
                    paths.push_back({next, path.has_result});
                path.address = one.target(next);
                rest = {};
                continue;
            }
            if (one.transfers() || one.ends_flow())
                break;
            rest.remove_prefix(std::min(one.length, rest.size()));
            path.address = next;
        }
    }
    return reads;
}

// Compilers describe calls only in optimized code.
bool DroppedResults::is_optimised(const FunctionInstance& function) {
    Dwarf_Die die;
    return debug_.unpack(function.die, &die) &&
           (dwarf_hasattr(&die, DW_AT_call_all_calls) || dwarf_hasattr(&die, DW_AT_GNU_all_call_sites));
}

// gcc changes the result only of copies whose symbols have other names: f.isra.0, or f.part.0 for a part of a function.
DroppedResults::Signature DroppedResults::signature(const FunctionInstance& function, bool is_gcc) {
    Dwarf_Die die;
    if (!debug_.unpack(function.die, &die))
        return Signature::Declared;
    if (number_attribute(die, DW_AT_calling_convention).value_or(DW_CC_normal) == DW_CC_nocall)
        return Signature::Changed;
    bool has_symbol = false, is_global = false;
    for (auto symbol = symbols_.first_from(function.low);
         symbol != symbols_.all().end() && symbol->address == function.low; ++symbol) {
        has_symbol = true;
        is_global = is_global || symbol->global;
        for (const char* mark : {".isra.", ".part."})
            if (symbol->name.find(mark) != std::string_view::npos)
                return Signature::Changed;
    }
    // A function that is external in the source can be local after link-time optimization.
    const bool is_external = has_symbol ? is_global : function.external;
    if ((is_gcc && has_symbol) || is_external || !is_optimised(function))
        return Signature::Declared;
    return Signature::Doubtful;
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

ResultReads DroppedResults::reads_after(Address address, bool with_push) const {
    return reads_of_result(
        file_.architecture(), address, [&](Address at) { return file_.code(at, at + bytes_at_once); }, with_push);
}

std::string DroppedResults::why_unknown(const FunctionInstance& function, size_t registers) {
    if (!function.has_debug_info || file_.is_32_bit())
        return "";
    const bool is_gcc = debug_.is_made_by_gcc(function);
    const Signature known = signature(function, is_gcc);
    if (known == Signature::Declared)
        return "";
    auto call = std::ranges::lower_bound(calls(), std::pair(function.low, Address(0)));
    // If no direct call is known, the function is called through its address, and then the caller expects the result.
    const bool is_called = call != calls_.end() && call->first == function.low;
    if (!is_called && known == Signature::Doubtful)
        return "";
    ResultReads reads = {};
    for (; call != calls_.end() && call->first == function.low; ++call) {
        const ResultReads after = reads_after(call->second, known == Signature::Doubtful);
        for (size_t i = 0; i < reads.size(); i++)
            reads[i] = reads[i] || after[i];
        // gcc removes the whole result or nothing.
        if (is_gcc ? reads[0] || (reads[1] && registers > 1) : reads[0] && (reads[1] || registers < 2))
            return "";
    }
    if (registers > 1 && (reads[0] || reads[1]))
        return "may have been changed by the compiler: it is in two registers, and sonde sees no caller that uses both";
    return known == Signature::Changed ? "was removed by the compiler, because no caller uses it"
                                       : "may have been removed by the compiler: sonde sees no caller that uses it";
}

} // namespace sonde
