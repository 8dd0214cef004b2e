// Where functions return, for those whose return address must stay as it is: Go moves stacks, and the unwinders of C++
// and Rust end the program when they meet the address that a uretprobe puts there.
#include <algorithm>

#include <dwarf.h>

#include <fmt/format.h>

#include "frontend/types/dwarf_impl.h"
#include "frontend/types/x86_code.h"

namespace sonde {
namespace {

// The ways out of a function's code.
struct Exits {
    std::vector<Address> returns;
    std::vector<Address> jumps;     // where direct jumps lead
    bool calls = false;             // something may be thrown, and pass through
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
            exits.jumps.push_back(next + static_cast<uint64_t>(one->immediate));
        exits.calls = exits.calls || one->is_call();
        exits.unknown_jump = exits.unknown_jump || (one->is_indirect_jump() && !is_switch(*one, before));
        before = *one;
        at += one->length;
    }
}

// Languages whose errors unwind the stack.
bool has_exceptions(int language) {
    switch (language) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case DW_LANG_ObjC_plus_plus:
    case DW_LANG_Rust:
    case DW_LANG_D:
    case 0x2b: // C++17, C++20: DWARF 6
    case 0x2e:
        return true;
    default:
        return false;
    }
}

} // namespace

bool DwarfReader::may_unwind(const FunctionInstance& function) {
    if (FunctionRef found = function.has_debug_info ? find_function(function.die) : FunctionRef())
        return has_exceptions(found.unit->language);
    return function.linkage_name.starts_with("_Z") || function.linkage_name.starts_with("_R");
}

Result<std::vector<Address>> DwarfReader::return_sites(const FunctionInstance& function) {
    bool unwinds = !function.is_go && may_unwind(function);
    if (function.inlined || (!function.is_go && !unwinds))
        return std::vector<Address>();
    if (is_32_bit())
        return Error(
            fmt::format("`{}` may be left by an exception, which must not meet a changed return address, and its "
                        "return instructions are looked for in 64-bit code only",
                        function.name));
    std::vector<std::pair<Address, Address>> parts = {{function.low, function.high}};
    Dwarf_Die die;
    if (unwinds && function.has_debug_info && unpack(function.die, &die))
        parts = ranges(die).ranges;
    Exits exits;
    for (auto [low, high] : parts) {
        std::string bytes = code(low, high);
        if (bytes.empty())
            return Error(fmt::format("the code of `{}` is not in `{}`", function.name, path_));
        add_exits(low, bytes, exits);
    }
    if (unwinds) {
        bool leaves = std::any_of(exits.jumps.begin(), exits.jumps.end(), [&](Address target) {
            return std::none_of(parts.begin(), parts.end(),
                                [&](const auto& part) { return target >= part.first && target < part.second; });
        });
        if (!exits.calls || exits.unknown_jump || exits.unknown || leaves)
            return std::vector<Address>();
    }
    if (exits.unknown)
        return Error(
            fmt::format("`{}` has bytes at {:#x} that are no known instruction, so where it returns is not known",
                        function.name, *exits.unknown));
    if (exits.returns.empty())
        return Error(fmt::format("`{}` has no return instruction: it {} or never ends", function.name,
                                 unwinds ? "is left by exceptions only," : "ends in a jump"));
    return exits.returns;
}

} // namespace sonde
