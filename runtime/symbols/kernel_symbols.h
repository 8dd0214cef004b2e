// Symbols of the kernel and its modules, from /proc/kallsyms.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/stack.h"

namespace sonde {

// The symbols of the running kernel. Not for several threads.
class KernelSymbols {
  public:
    // Reads the current symbols. Symbols of modules that were unloaded remain until another module uses their
    // addresses, so that recorded addresses still have names.
    void read();
    // True if the kernel hides its addresses from all users or from this one (kernel.kptr_restrict).
    bool hidden() const { return hidden_; }

    // Returns the text for an address in a sonde_symbol_style. Reads the symbols again for an unknown address, at most
    // once a second, since a module may have been loaded.
    std::string text(uint64_t address, uint64_t style);
    // Returns the begin and end of the first symbol with that name; {0, 0} if none exists.
    std::pair<uint64_t, uint64_t> find(std::string_view name) const;
    // Returns the table for SONDE_KERNEL_FILE (runtime/plan/file_table.h). Empty if no symbols are known.
    std::vector<uint64_t> compile() const;

  private:
    // A symbol. Its names point into `texts_`.
    struct Symbol {
        uint64_t address, size;
        std::string_view name, module; // in `texts_`
    };
    // Returns the symbol that contains an address, or null.
    const Symbol* at(uint64_t address) const;

    std::vector<Symbol> symbols_; // sorted by address
    // Contents of /proc/kallsyms: the newest one, and older ones with names of unloaded modules.
    std::vector<std::unique_ptr<std::string>> texts_;
    bool hidden_ = false;
    int64_t read_at_ = 0; // now_ns()
};

} // namespace sonde
