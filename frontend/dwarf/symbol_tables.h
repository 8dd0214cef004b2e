// Functions in symbol tables: in the program, in the separate debug file, in the compressed table of a stripped program
// (.gnu_debugdata), and in the table that Go programs contain.
//
// All tables are read once, when first needed. A name is a view into the file, so a symbol takes 40 bytes. The tables
// are kept when debug information is freed.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/elf_file.h"
#include "base/go_table.h"
#include "frontend/machine/address.h"

namespace sonde {

class DebugFiles;
class ProgramFile;

// A symbol of a function.
struct CodeSymbol {
    std::string_view name; // in the ELF file's string table
    Address address = 0;
    uint64_t size = 0; // 0: unknown
    bool global = false;
};

class SymbolTables {
  public:
    SymbolTables(const ProgramFile& file, DebugFiles& debug) : file_(file), debug_(debug) {}

    // Returns the functions, sorted by address, then by name, without duplicates.
    const std::vector<CodeSymbol>& all();
    using Iterator = std::vector<CodeSymbol>::const_iterator;
    Iterator first_from(Address address);  // at or after an address
    Iterator first_after(Address address); // after an address

    // Returns the function symbol that covers an address, and its beginning. Prefers a global symbol.
    std::optional<std::pair<std::string, Address>> at(Address address);
    // Whether functions at different addresses have that symbol.
    bool is_ambiguous(std::string_view name);
    // Return the nearest symbol before an address, in the same section, whose name is unique: among functions, and
    // among variables.
    std::optional<std::pair<std::string, Address>> unique_before(Address address);
    std::optional<std::pair<std::string, Address>> unique_variable_before(Address address) const;
    // Returns the link-time address of a symbol of any kind.
    std::optional<Address> address_of(std::string_view name);
    // Whether the symbol of a variable covers the address.
    bool is_variable(Address address);

    // Whether a Go function begins at the address, according to the program's table.
    bool is_go_function(Address entry);

  private:
    const std::vector<GoFunction>& go_functions(); // empty if not a Go program

    const ProgramFile& file_;
    DebugFiles& debug_;
    bool loaded_ = false;
    std::vector<CodeSymbol> all_;
    std::optional<ElfFile> packed_; // the compressed table of a stripped program
    std::optional<std::vector<GoFunction>> go_functions_;
    std::optional<std::set<std::string_view>> ambiguous_; // names that several functions have
};

} // namespace sonde
