// Symbols of the kernel and its modules.
//
// /proc/kallsyms has no sizes. A symbol extends to the next one, as in the kernel's own lookups (kernel/kallsyms.c).
//
// A stack may be printed minutes after it was recorded. Meanwhile a module may have been unloaded, and its symbols are
// gone from the list. So read() keeps the old symbols of such modules, as long as no other module occupies their
// addresses. Names are views of the text that was read, so the texts are kept, too.
//
// Handlers that need names get the same data as a table (compile()). It has the layout of a file's table, with the
// kernel as a file of its own (SONDE_KERNEL_FILE) and sonde_kernel_base() as its first byte.
#include "runtime/symbols/kernel_symbols.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <iterator>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/kallsyms.h"
#include "runtime/plan/file_table.h"

namespace sonde {
namespace {

constexpr uint64_t most_unknown = 4096;     // size of the last symbol
constexpr int64_t again_ns = 1'000'000'000; // pause between reads for unknown addresses
constexpr std::string_view kernel_itself = "kernel";

} // namespace

// The result has the current symbols, and old symbols of unloaded modules where no new symbol overlaps. Names point
// into the text of /proc/kallsyms, so older texts are kept while old symbols need them.
void KernelSymbols::read() {
    read_at_ = now_ns();
    Result<std::string> bytes = read_kallsyms();
    if (!bytes)
        return;
    texts_.push_back(std::make_unique<std::string>(*std::move(bytes)));
    std::string_view text = *texts_.back();
    std::vector<Symbol> fresh;
    std::set<std::string_view> modules;
    hidden_ = !text.empty();
    for (std::string_view rest = text; auto next = next_symbol(rest);) {
        Symbol symbol{next->address, 0, next->name, next->module.empty() ? kernel_itself : next->module};
        if (!next->module.empty())
            modules.insert(symbol.module);
        hidden_ = hidden_ && symbol.address == 0;
        if (symbol.address >= SONDE_KERNEL_LOWEST) // per-CPU symbols have small numbers, not addresses
            fresh.push_back(symbol);
    }
    // Of several names at one address, the kernel prefers the first.
    std::stable_sort(fresh.begin(), fresh.end(),
                     [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
    fresh.erase(std::unique(fresh.begin(), fresh.end(),
                            [](const Symbol& a, const Symbol& b) { return a.address == b.address; }),
                fresh.end());
    for (size_t i = 0; i < fresh.size(); i++)
        fresh[i].size = i + 1 < fresh.size() ? fresh[i + 1].address - fresh[i].address : most_unknown;
    // Keep the symbols of modules that were unloaded, unless a new module occupies their addresses.
    std::vector<Symbol> gone;
    auto free_at = [&](const Symbol& old) {
        auto next = std::upper_bound(fresh.begin(), fresh.end(), old.address,
                                     [](uint64_t wanted, const Symbol& one) { return wanted < one.address; });
        // Between two modules, the previous symbol only seems to extend this far, because sizes are not known.
        return next == fresh.begin() || (next - 1)->module == kernel_itself || next == fresh.end() ||
               (next - 1)->module != next->module;
    };
    for (const Symbol& old : symbols_)
        if (old.module != kernel_itself && !modules.contains(old.module) && free_at(old))
            gone.push_back(old);
    size_t middle = fresh.size();
    fresh.insert(fresh.end(), gone.begin(), gone.end());
    std::inplace_merge(fresh.begin(), fresh.begin() + static_cast<ptrdiff_t>(middle), fresh.end(),
                       [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
    // The old symbols limit the sizes of their predecessors.
    for (size_t i = 0; i + 1 < fresh.size(); i++)
        fresh[i].size = std::min(fresh[i].size, fresh[i + 1].address - fresh[i].address);
    symbols_ = std::move(fresh);
    if (gone.empty() && texts_.size() > 1)
        texts_.erase(texts_.begin(), texts_.end() - 1);
}

const KernelSymbols::Symbol* KernelSymbols::at(uint64_t address) const {
    auto next = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                 [](uint64_t wanted, const Symbol& one) { return wanted < one.address; });
    if (next == symbols_.begin())
        return nullptr;
    const Symbol* found = &*(next - 1);
    return address - found->address < found->size ? found : nullptr;
}

std::string KernelSymbols::text(uint64_t address, uint64_t style) {
    const uint64_t behind = style & SONDE_BEHIND_CALL ? 1 : 0;
    style &= SONDE_SYMBOL_STYLE;
    const Symbol* found = at(address - behind);
    if (!found && !hidden_ && now_ns() - read_at_ > again_ns) {
        read();
        found = at(address - behind);
    }
    if (style == SONDE_SYMBOL_MODULE)
        return found ? std::string(found->module) : "";
    if (!found || style >= SONDE_SYMBOL_LINE)
        return fmt::format("{:#x}", address);
    if (style == SONDE_SYMBOL_NAME)
        return std::string(found->name);
    std::string out = fmt::format("{}+{:#x}", found->name, address - found->address);
    if (style == SONDE_SYMBOL_DATA)
        out += fmt::format("/{:#x}", found->size);
    return style == SONDE_SYMBOL_BRIEF ? out : fmt::format("{} [{}]", out, found->module);
}

std::pair<uint64_t, uint64_t> KernelSymbols::find(std::string_view name) const {
    for (const Symbol& symbol : symbols_)
        if (symbol.name == name)
            return {symbol.address, symbol.address + symbol.size};
    return {0, 0};
}

std::vector<uint64_t> KernelSymbols::compile() const {
    if (symbols_.empty())
        return {};
    std::vector<uint64_t> texts;
    std::unordered_map<std::string_view, unsigned> modules;
    // A table has 4 GB. The kernel itself is in the middle: code that is farther away has no rows (programs of BPF, if
    // the kernel can be anywhere).
    sonde_table_head head{};
    const auto own = std::ranges::find(symbols_, kernel_itself, &Symbol::module);
    const uint64_t middle = (own == symbols_.end() ? symbols_.front() : *own).address;
    head.shift = SONDE_KERNEL_MOVES ? static_cast<unsigned>((middle - (1ULL << 31)) >> SONDE_KERNEL_BASE_SHIFT) : 0;
    const uint64_t base = sonde_kernel_base(head.shift);
    std::vector<Symbol> near;
    std::ranges::copy_if(symbols_, std::back_inserter(near),
                         [&](const Symbol& symbol) { return symbol.address - base <= UINT32_MAX; });
    auto first_text = static_cast<unsigned>(SONDE_TABLE_HEAD + SONDE_TABLE_ROW * near.size());
    auto add = [&](std::string_view text) {
        auto at = static_cast<unsigned>(texts.size());
        texts.resize(texts.size() + text.size() / 8 + 1);
        std::memcpy(&texts[at], text.data(), text.size());
        return first_text + at;
    };
    head.symbols = static_cast<unsigned>(near.size());
    head.path = head.name = add(kernel_itself);
    std::vector<uint64_t> out(first_text);
    std::memcpy(out.data(), &head, sizeof head);
    for (size_t i = 0; i < near.size(); i++) {
        const Symbol& symbol = near[i];
        auto [module, fresh] = modules.try_emplace(symbol.module, 0);
        if (fresh)
            module->second = add(symbol.module);
        const sonde_table_row row{static_cast<unsigned>(symbol.address - base),
                                  static_cast<unsigned>(std::min<uint64_t>(symbol.size, UINT32_MAX)), add(symbol.name),
                                  module->second};
        std::memcpy(&out[SONDE_TABLE_HEAD + SONDE_TABLE_ROW * i], &row, sizeof row);
    }
    out.insert(out.end(), texts.begin(), texts.end());
    return out;
}

} // namespace sonde
