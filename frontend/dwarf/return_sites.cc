#include "frontend/dwarf/return_sites.h"

#include <algorithm>
#include <iterator>

#include <elf.h>

#include <fmt/format.h>

#include "frontend/dwarf/code_layout.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/language.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/symbol_tables.h"
#include "frontend/dwarf/unit_index.h"
#include "frontend/dwarf/unwind_table.h"
#include "frontend/types/x86_code.h"

namespace sonde {
namespace {

// Libraries without which nothing unwinds the stack.
constexpr std::string_view unwinders[] = {"libgcc_s.so", "libstdc++.so", "libc++.so", "libc++abi.so", "libunwind.so"};

// The ways out of a function's code.
struct Exits {
    std::vector<Address> returns;
    std::vector<Address> jumps;     // where direct jumps lead
    std::vector<Address> dead_ends; // where those lead that follow a call at once
    std::vector<Address> called;    // by direct calls
    bool calls_any = false;         // by an address that only the running program has
    bool unknown_jump = false;      // to an address from elsewhere than a table of its own
    std::optional<Address> unknown; // bytes that are no known instruction
};

// Compilers make a switch's jump either through a table of addresses, or by an address that they have just added up.
bool is_switch(const X86Instruction& jump, const X86Instruction& before) {
    bool in_register = jump.modrm >> 6 == 3;
    bool through_table = jump.modrm >> 6 == 0 && (jump.modrm & 7) == 4 && jump.base < 0;
    return in_register ? before.is_register_add() : through_table;
}

void add_exits(Address begin, std::string_view code, Exits& exits) {
    X86Instruction before;
    for (size_t at = 0; at < code.size();) {
        std::optional<X86Instruction> one = decode_x86(code.substr(at));
        if (!one) {
            exits.unknown = begin + at;
            return;
        }
        Address next = begin + at + one->length;
        if (one->is_return())
            exits.returns.push_back(begin + at);
        else if (one->is_direct_jump())
            (before.is_call() ? exits.dead_ends : exits.jumps).push_back(next + static_cast<uint64_t>(one->immediate));
        if (one->is_call() && one->opcode == 0xe8)
            exits.called.push_back(next + static_cast<uint64_t>(one->immediate));
        else
            exits.calls_any = exits.calls_any || one->is_call();
        exits.unknown_jump = exits.unknown_jump || (one->is_indirect_jump() && !is_switch(*one, before));
        before = *one;
        at += one->length;
    }
}

// Functions of other modules through which exceptions pass, or that begin to unwind, by their symbols. Those of C++ and
// Rust may, but for a few.
bool import_unwinds(std::string_view name) {
    constexpr std::string_view quiet[] = {"_ZdlPv",      "_ZdlPvm", "_ZdlPvSt11align_val_t", "_ZdlPvmSt11align_val_t",
                                          "_ZdaPv",      "_ZdaPvm", "_ZSt9terminatev",       "_ZNSaIcED1Ev",
                                          "_ZNSaIcED2Ev"};
    constexpr std::string_view calling_back[] = {
        "qsort",
        "qsort_r",
        "bsearch",
        "pthread_once",
        "call_once",
        "dl_iterate_phdr",
        "nftw",
        "ftw",
        "twalk",
        "tsearch",
        "lsearch",
        "scandir",
        "pthread_exit",
        "thrd_exit",
        "pthread_testcancel",
        "glob",
        "__libc_start_main",
        "pthread_cond_wait",
        "pthread_join",
        "sem_wait",
        "longjmp",
        "siglongjmp",
        "setcontext",
        "swapcontext",
    };
    auto among = [&](const auto& names) {
        return std::find(std::begin(names), std::end(names), name) != std::end(names);
    };
    if (name.starts_with("_Z") || name.starts_with("_R"))
        return !among(quiet);
    return name.starts_with("__cxa_throw") || name.starts_with("__cxa_rethrow") || name.starts_with("_Unwind_") ||
           name.starts_with("__cxa_call") || among(calling_back);
}

// Whether one of the libraries that the file needs unwinds the stack.
bool has_unwinder(const ElfFile& file) {
    std::string_view names = file.section_data(".dynstr");
    return std::any_of(std::begin(unwinders), std::end(unwinders),
                       [&](std::string_view library) { return names.find(library) != std::string_view::npos; });
}

} // namespace

bool ReturnSites::throws() {
    if (throws_)
        return *throws_;
    // Programs in C have unwinding tables as well, and nobody who goes by them but at a thread's end.
    constexpr std::string_view marks[] = {"_Unwind_RaiseException", "_Unwind_Resume", "__gxx_personality_v0",
                                          "rust_eh_personality"};
    // A return address that was changed on one stack is not found from another. The C library only has these.
    constexpr std::string_view switching[] = {"makecontext", "swapcontext"};
    auto among = [](const auto& names, std::string_view name) {
        return std::find(std::begin(names), std::end(names), name) != std::end(names);
    };
    bool found = false;
    file_.elf().for_each_symbol([&](const ElfSymbol& symbol) {
        found = among(marks, symbol.name) || (symbol.section == SHN_UNDEF && among(switching, symbol.name));
        return !found;
    });
    throws_ = found || has_unwinder(file_.elf());
    return *throws_;
}

bool ReturnSites::import_may_unwind(std::string_view symbol) {
    return throws() && import_unwinds(symbol.substr(0, symbol.find('@')));
}

bool ReturnSites::may_unwind(const FunctionInstance& function) {
    if (FunctionRef found = function.has_debug_info ? units_.find_function(function.die) : FunctionRef();
        found && has_exceptions(found.unit->language))
        return true;
    // What is written in C is passed through too, where it calls back.
    return function.linkage_name.starts_with("_Z") || function.linkage_name.starts_with("_R") || throws();
}

ReturnSites::Parts ReturnSites::parts_of(const FunctionInstance& function) {
    Dwarf_Die die;
    if (function.has_debug_info && !function.is_go && debug_.unpack(function.die, &die))
        return units_.ranges(die).ranges;
    if (function.high > function.low)
        return {{function.low, function.high}};
    std::optional<Stretch> stretch = code_.stretch_at(function.entry);
    return stretch && stretch->whole ? Parts{{stretch->low, stretch->high}} : Parts();
}

// Whether a jump leads to a part of the same function that the compiler has put elsewhere: the stack is not as a call
// leaves it there.
bool ReturnSites::is_split_off(Address target) {
    const UnwindEntry* entry = unwind_.at(target);
    if (!entry)
        return false;
    std::optional<std::pair<std::string, Address>> symbol = symbols_.at(target);
    return !unwind_.is_entered_by_call(target) || (symbol && symbol->first.ends_with(".cold"));
}

bool ReturnSites::cannot_unwind(Address entry, int depth) {
    constexpr int max_depth = 6;
    constexpr Address most_bytes = 16 << 10;
    auto [known, fresh] = cannot_unwind_.try_emplace(entry, false); // false: also of one that calls itself
    if (!fresh || depth > max_depth)
        return known->second;
    for (const PltEntry& one : file_.plt())
        if (one.address == entry)
            return known->second = !import_unwinds(one.name);
    std::optional<Stretch> stretch = code_.stretch_at(entry);
    if (!stretch || !stretch->whole || stretch->low != entry || stretch->high - entry > most_bytes)
        return false;
    Exits exits;
    add_exits(entry, file_.code(entry, stretch->high), exits);
    exits.jumps.insert(exits.jumps.end(), exits.dead_ends.begin(), exits.dead_ends.end());
    bool inside_only = !exits.unknown && !exits.unknown_jump && !exits.calls_any;
    bool result = inside_only && std::all_of(exits.jumps.begin(), exits.jumps.end(), [&](Address target) {
                      return (target >= entry && target < stretch->high) || cannot_unwind(target, depth + 1);
                  });
    result = result && std::all_of(exits.called.begin(), exits.called.end(),
                                   [&](Address target) { return cannot_unwind(target, depth + 1); });
    return cannot_unwind_[entry] = result;
}

Result<std::vector<Address>> ReturnSites::find(const FunctionInstance& function, bool may_change_address) {
    if (function.inlined)
        return std::vector<Address>();
    if (!function.is_go && !unwind_.is_entered_by_call(function.entry))
        return Error(fmt::format("`{}` is not called: what is on top of the stack where it begins is no return address",
                                 function.name),
                     unsafe_return);
    bool unwinds = !function.is_go && may_unwind(function);
    if (!function.is_go && !unwinds)
        return std::vector<Address>();
    auto refuse = [&](std::string why) -> Result<std::vector<Address>> {
        if (may_change_address)
            return std::vector<Address>();
        return Error(std::move(why), unsafe_return);
    };
    if (file_.is_32_bit())
        return refuse(
            fmt::format("`{}` may be left by an exception, which must not meet a changed return address, and its "
                        "return instructions are looked for in 64-bit code only",
                        function.name));
    Parts parts = function.is_go ? Parts{{function.low, function.high}} : parts_of(function);
    if (parts.empty())
        return refuse(
            fmt::format("where the code of `{}` ends is not known, so where it returns is not either", function.name));
    auto inside = [&](Address target) {
        return std::any_of(parts.begin(), parts.end(),
                           [&](const auto& part) { return target >= part.first && target < part.second; });
    };
    Exits exits;
    for (size_t i = 0; i < parts.size(); i++) {
        auto [low, high] = parts[i];
        std::string bytes = file_.code(low, high);
        if (bytes.empty())
            return refuse(fmt::format("the code of `{}` is not in `{}`", function.name, file_.path()));
        size_t before = exits.jumps.size();
        add_exits(low, bytes, exits);
        // clang's unoptimised code goes on after a call that does not return (`throw`) by a jump to its own end, where
        // nothing is. A jump to another function does not follow a call at once: the stack is not as it was called
        // with.
        std::ranges::copy_if(exits.dead_ends, std::back_inserter(exits.jumps),
                             [&](Address target) { return target != high; });
        exits.dead_ends.clear();
        // Symbols do not say which parts belong together.
        for (; unwinds && before < exits.jumps.size(); before++)
            if (Address target = exits.jumps[before]; !inside(target) && is_split_off(target))
                if (const UnwindEntry* entry = unwind_.at(target))
                    parts.emplace_back(entry->low, entry->high);
    }
    if (unwinds) {
        std::vector<Address> left_to;
        std::copy_if(exits.jumps.begin(), exits.jumps.end(), std::back_inserter(left_to),
                     [&](Address target) { return !inside(target); });
        auto is_safe = [&](Address target) { return cannot_unwind(target, 0); };
        bool leaves = exits.unknown_jump || !left_to.empty();
        bool passed = exits.calls_any || exits.unknown_jump || exits.unknown ||
                      !std::all_of(left_to.begin(), left_to.end(), is_safe) ||
                      !std::all_of(exits.called.begin(), exits.called.end(), is_safe);
        if (!passed)
            return std::vector<Address>();
        if (leaves)
            return refuse(
                fmt::format("`{}` is also left by a jump to another function, which returns in its place, and "
                            "an exception that meets a changed return address would end the program",
                            function.name));
    }
    if (exits.unknown) {
        std::string why =
            fmt::format("`{}` has bytes at {:#x} that are no known instruction, so where it returns is not known",
                        function.name, *exits.unknown);
        return unwinds ? refuse(std::move(why)) : Error(std::move(why));
    }
    if (exits.returns.empty())
        return Error(fmt::format("`{}` has no return instruction: it {} or never ends", function.name,
                                 unwinds ? "is left by exceptions only," : "ends in a jump"));
    return exits.returns;
}

} // namespace sonde
