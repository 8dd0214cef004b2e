// Reads /proc/kallsyms.
//
// The file has more than 100,000 lines, and some readers need all of them. So nothing is copied: next_symbol() cuts a
// line from the front of the text, and the names are views of it.
#include "base/kallsyms.h"

#include <algorithm>
#include <charconv>

#include "base/fd.h"

namespace sonde {

Result<std::string> read_kallsyms() { return read_file("/proc/kallsyms"); }

std::optional<KernelSymbol> next_symbol(std::string_view& rest) {
    while (!rest.empty()) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        KernelSymbol symbol;
        const char *begin = line.data(), *end = begin + line.size();
        const char* after = std::from_chars(begin, end, symbol.address, 16).ptr;
        if (end - after < 4 || after == begin || after[0] != ' ' || after[2] != ' ')
            continue;
        symbol.letter = after[1];
        symbol.name = std::string_view(after + 3, end);
        if (size_t tab = symbol.name.find('\t'); tab != std::string_view::npos) {
            symbol.module = symbol.name.substr(std::min(tab + 2, symbol.name.size()));
            symbol.module.remove_suffix(std::min<size_t>(symbol.module.size(), 1));
            symbol.name = symbol.name.substr(0, tab);
        }
        return symbol;
    }
    return std::nullopt;
}

KernelData find_kernel_data(std::string_view list) {
    KernelData out;
    while (auto symbol = next_symbol(list)) {
        if (symbol->module.empty() && symbol->name == "_sdata")
            out.begin = symbol->address;
        if (symbol->module.empty() && symbol->name == "_edata")
            out.end = symbol->address;
    }
    return out;
}

} // namespace sonde
