// The kernel's list of its own symbols and its modules', /proc/kallsyms: the one reader of it.
//
// A line is "ffffffff81000000 T name", for a module's with a tab and "[module]" after it (kernel/kallsyms.c, s_show()).
// Addresses are 0 where the kernel shows none to this user (kernel.kptr_restrict).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sonde {

struct KernelSymbol {
    uint64_t address = 0;
    char letter = 0;               // its kind as nm writes it; upper case: global
    std::string_view name, module; // `module` is empty for the kernel's own

    bool is_function() const { return std::string_view("tTwW").find(letter) != std::string_view::npos; }
    bool is_variable() const { return std::string_view("aAbBdDgGrRsSuvV").find(letter) != std::string_view::npos; }
    bool is_global() const { return letter >= 'A' && letter <= 'Z'; }
};

// The list as it is now, which takes the kernel a tenth of a second.
Result<std::string> read_kallsyms();

// Takes the next symbol off the list; nullopt: there is none left. It points into the list.
//
//     for (std::string_view rest = lines(list); auto symbol = next_symbol(rest);)
std::optional<KernelSymbol> next_symbol(std::string_view& rest);

// Where the kernel has its variables with a first value. Its letter is T there on kernels that count the section to
// their code (7.2).
struct KernelData {
    uint64_t begin = 0, end = 0; // both 0: unknown

    bool has(const KernelSymbol& symbol) const { return symbol.address >= begin && symbol.address < end; }
};
KernelData find_kernel_data(std::string_view list);

// Of a list that could not be read: none.
inline std::string_view lines(const Result<std::string>& list) { return list ? std::string_view(*list) : ""; }

} // namespace sonde
