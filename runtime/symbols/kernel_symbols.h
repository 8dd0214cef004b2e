// The symbols of the kernel and of its modules, from /proc/kallsyms.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/stack.h"

namespace sonde {

class KernelSymbols {
  public:
    // Reads what there is now. What modules had that are gone is kept as long as nothing else is in its place.
    void read();
    // The kernel shows no addresses (kernel.kptr_restrict), or none to this user.
    bool hidden() const { return hidden_; }

    // What lies at an address, as a sonde_symbol_style. Modules that were loaded meanwhile are looked for.
    std::string text(uint64_t address, uint64_t style);
    // From and to of the first symbol with that name; 0 and 0 if there is none.
    std::pair<uint64_t, uint64_t> find(std::string_view name) const;
    // The table of SONDE_KERNEL_FILE (symbols/file_table.h). Empty if no symbols are known.
    std::vector<uint64_t> compile() const;

  private:
    struct Symbol {
        uint64_t address, size;
        std::string_view name, module; // in `texts_`
    };
    const Symbol* at(uint64_t address) const;

    std::vector<Symbol> symbols_; // by address
    std::vector<std::unique_ptr<std::string>> texts_;
    bool hidden_ = false;
    int64_t read_at_ = 0; // now_ns()
};

} // namespace sonde
