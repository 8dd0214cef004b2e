// Decides how the return of a function is traced, and finds the places.
//
// The problem. The kernel's own solution, the uretprobe, replaces the return address on the stack by the address of a
// trampoline when the function begins. Everything that looks at the stack then sees a wrong address. A C++ exception
// that passes the function ends the program, because the unwinder does not find the caller:
//
//     void f() { throw 1; }                    # terminate() is called, although main() would catch the exception
//     probe process("a.out").function("f").return { ... }
//
// The same happens to Go (which moves stacks), to programs that print their own backtrace, and to coroutines. A program
// can also load such a library later, so looking at the program when the session begins does not help.
//
// The idea. Leave the stack alone, and put ordinary breakpoints on all instructions that leave the function: `ret`, and
// jumps to other functions (tail calls). There the return address is on top of the stack, and the result is in its
// register, as after a return.
//
// What makes it work. The list of these instructions must be complete: a missing one means lost hits, without any sign.
// So the whole code of the function must be known. Its ranges come from the debug information, or else from symbols and
// unwind entries, and a function is often in several parts (`f.cold`). FunctionExits then decodes all of it. If
// anything remains unclear, such as an indirect jump whose targets are not known, the answer is an error with a reason,
// never a part of the list.
//
// Tail calls are special: `jmp g` at the end of f means that g returns to f's caller. At the jump, f has ended, but its
// result does not exist yet. Handlers that read `$return` are refused there.
//
// With --attach=uretprobe, the user asks for changed return addresses. Even then, functions that exceptions may pass
// keep their return address if the other method finds all returns with their results.
#include "frontend/dwarf/return_sites.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "frontend/dwarf/code_layout.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/language.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/unit_index.h"
#include "frontend/dwarf/unwind_table.h"

namespace sonde {

bool ReturnSites::has_unwinder() {
    constexpr std::string_view marks[] = {"_Unwind_RaiseException", "_Unwind_Resume", "__gxx_personality_v0",
                                          "rust_eh_personality"};
    if (has_unwinder_)
        return *has_unwinder_;
    bool found = false;
    file_.elf().for_each_symbol([&](const ElfSymbol& symbol) {
        found = std::ranges::find(marks, symbol.name) != std::end(marks);
        return !found;
    });
    has_unwinder_ = found;
    return found;
}

bool ReturnSites::may_unwind(const FunctionInstance& function) {
    FunctionRef found = function.has_debug_info ? units_.find_function(function.die) : FunctionRef();
    return (found && has_exceptions(found.unit->language)) || function.linkage_name.starts_with("_Z") ||
           function.linkage_name.starts_with("_R") || has_unwinder();
}

// Returns the ranges of the function's code. `whole`: they are exactly the function's code; otherwise it only begins
// with them.
FunctionExits::Parts ReturnSites::parts_of(const FunctionInstance& function, bool& whole) {
    Dwarf_Die die;
    whole = true;
    if (function.has_debug_info && !function.is_go && debug_.unpack(function.die, &die))
        return units_.ranges(die).ranges;
    if (function.high > function.low)
        return {{function.low, function.high}};
    std::optional<Stretch> stretch = code_.stretch_at(function.entry);
    whole = stretch && stretch->whole;
    return stretch ? FunctionExits::Parts{{whole ? stretch->low : function.entry, stretch->high}}
                   : FunctionExits::Parts();
}

Result<std::vector<FunctionExit>> ReturnSites::find(const FunctionInstance& function, bool may_change_address) {
    if (function.inlined)
        return std::vector<FunctionExit>();
    if (!function.is_go && !unwind_.is_entered_by_call(function.entry))
        return Error(
            fmt::format("`{}` is not entered by a call: the top of the stack at its entry is not a return address",
                        function.name),
            unsafe_return);
    const bool may_change = may_change_address && !function.is_go;
    if (may_change && !may_unwind(function))
        return std::vector<FunctionExit>();
    Result<std::vector<FunctionExit>> exits = exits_of(function);
    // For functions that exceptions may pass, prefer the exit instructions if they show all returns with their results.
    if (may_change && (!exits || std::ranges::any_of(*exits, &FunctionExit::is_jump)))
        return std::vector<FunctionExit>();
    return exits;
}

Result<std::vector<FunctionExit>> ReturnSites::exits_of(const FunctionInstance& function) {
    bool whole = true;
    FunctionExits::Parts parts = parts_of(function, whole);
    // The decoder begins with the part that contains the entry.
    for (auto& part : parts)
        if (function.entry >= part.first && function.entry < part.second)
            std::swap(part, parts.front());
    if (parts.empty())
        return Error(
            fmt::format("the end of the code of `{}` is not known, so its returns are not known either", function.name),
            unsafe_return);
    Result<std::vector<FunctionExit>> exits = exits_.find(function.name, std::move(parts), whole, function.is_go);
    if (!exits)
        return Error(std::move(exits).error().message, unsafe_return);
    if (exits->empty())
        return Error(
            fmt::format("`{}` has no return instruction: it ends only by an exception, or never", function.name));
    return exits;
}

} // namespace sonde
