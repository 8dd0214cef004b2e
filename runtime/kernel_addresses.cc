#include "runtime/kernel_addresses.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/fd.h"

namespace sonde {

Result<std::map<std::string, uint64_t>> find_addresses(const plan::Plan& plan) {
    std::set<std::string, std::less<>> wanted;
    for (const plan::Global& global : plan.globals)
        if (!global.address_of.empty())
            wanted.insert(global.address_of);
    std::map<std::string, uint64_t> out;
    if (wanted.empty())
        return out;
    Result<std::string> text = read_file("/proc/kallsyms");
    if (!text)
        return std::move(text).error();
    bool shown = false; // what belongs to each CPU may be at 0, but not everything is
    // "ADDRESS TYPE NAME" a line, and behind it a tab and a module.
    for (size_t begin = 0; begin < text->size();) {
        size_t end = std::min(text->find('\n', begin), text->size());
        std::string_view line(text->data() + begin, end - begin);
        uint64_t address = std::strtoull(text->c_str() + begin, nullptr, 16);
        begin = end + 1;
        size_t blank = line.find(' ');
        if (blank == std::string_view::npos || blank + 3 > line.size())
            continue;
        shown = shown || address != 0;
        if (auto found = wanted.find(line.substr(blank + 3)); found != wanted.end())
            out.emplace(*found, address);
    }
    for (std::string name : wanted)
        if (!shown || !out.contains(name)) {
            std::replace(name.begin(), name.end(), '\t', ' '); // in front of a module
            return Error(fmt::format("the kernel does not tell where `{}` is, which the script reads: {}", name,
                                     shown ? "/proc/kallsyms does not have it (CONFIG_KALLSYMS_ALL)"
                                           : "it shows no addresses, which takes root, and "
                                             "/proc/sys/kernel/kptr_restrict below 2"));
        }
    return out;
}

} // namespace sonde
