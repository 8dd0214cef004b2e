// Reads /proc/kallsyms, the kernel's list of its symbols and those of its modules. Nothing else in sonde reads it.
//
// A line is "ffffffff81000000 T name"; for a module's symbol, a tab and "[module]" follow (kernel/kallsyms.c,
// s_show()). Addresses are 0 if the kernel hides them from this user (kernel.kptr_restrict).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sonde {

// A line of the list.
struct KernelSymbol {
    uint64_t address = 0;
    char letter = 0;               // its type as printed by nm; upper case: global
    std::string_view name, module; // `module` is empty for symbols of the kernel itself

    bool is_function() const { return std::string_view("tTwW").find(letter) != std::string_view::npos; }
    bool is_variable() const { return std::string_view("aAbBdDgGrRsSuvV").find(letter) != std::string_view::npos; }
    bool is_global() const { return letter >= 'A' && letter <= 'Z'; }
};

// The current list. Reading it takes the kernel a tenth of a second.
Result<std::string> read_kallsyms();

// Removes the next symbol from the list and returns it; nullopt at the end. The names point into the list.
//
//     for (std::string_view rest = lines(list); auto symbol = next_symbol(rest);)
std::optional<KernelSymbol> next_symbol(std::string_view& rest);

// The addresses of the kernel's initialized variables. Kernels that count this section as code (7.2) list them with the
// letter T.
struct KernelData {
    uint64_t begin = 0, end = 0; // both 0: unknown

    bool has(const KernelSymbol& symbol) const { return symbol.address >= begin && symbol.address < end; }
};
// Reads the range from the symbols _sdata and _edata.
KernelData find_kernel_data(std::string_view list);

// The lines of the list, or none if it could not be read.
inline std::string_view lines(const Result<std::string>& list) { return list ? std::string_view(*list) : ""; }

} // namespace sonde
