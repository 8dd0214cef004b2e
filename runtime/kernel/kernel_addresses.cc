// Finds the addresses of kernel symbols that a script reads.
//
// The addresses change with each start of the kernel (KASLR), and with each loading of a module. So a plan contains
// only names, and the addresses are looked up when a session begins. A symbol of a module has the form
// "name\t[module]", as in /proc/kallsyms.
#include "runtime/kernel/kernel_addresses.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/kallsyms.h"

namespace sonde {

Result<std::map<std::string, uint64_t>> find_addresses(const plan::Plan& plan) {
    std::set<std::string, std::less<>> wanted;
    for (const plan::Global& global : plan.globals)
        if (!global.address_of.empty())
            wanted.insert(global.address_of);
    std::map<std::string, uint64_t> out;
    if (wanted.empty())
        return out;
    Result<std::string> text = read_kallsyms();
    if (!text)
        return std::move(text).error();
    bool shown = false; // per-CPU symbols can have address 0, but if all addresses are 0, the kernel hides them
    for (std::string_view rest = *text; auto symbol = next_symbol(rest);) {
        shown = shown || symbol->address != 0;
        std::string name(symbol->name); // in the notation of a plan
        if (!symbol->module.empty())
            name += fmt::format("\t[{}]", symbol->module);
        if (auto found = wanted.find(name); found != wanted.end())
            out.emplace(*found, symbol->address);
    }
    for (std::string name : wanted)
        if (!shown || !out.contains(name)) {
            std::replace(name.begin(), name.end(), '\t', ' '); // separates a name from its module
            return Error(fmt::format("the kernel does not show the address of `{}`, which the script reads: {}", name,
                                     shown ? "/proc/kallsyms does not have it (CONFIG_KALLSYMS_ALL)"
                                           : "run sonde as root, with /proc/sys/kernel/kptr_restrict below 2"));
        }
    return out;
}

} // namespace sonde
