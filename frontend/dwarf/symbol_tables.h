// The functions that symbol tables know: the program's, those of the file beside it, the packed table of a stripped
// program, and the table that Go's programs carry for themselves.
//
// All tables are read once, when somebody asks: a name is a view into the file, so a symbol costs 40 bytes. They stay
// when debug information is forgotten.
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
#include "frontend/types/address.h"

namespace sonde {

class DebugFiles;
class ProgramFile;

struct CodeSymbol {
    std::string_view name; // in the ELF file's string table
    Address address = 0;
    uint64_t size = 0; // 0: not known
    bool global = false;
};

class SymbolTables {
  public:
    SymbolTables(const ProgramFile& file, DebugFiles& debug) : file_(file), debug_(debug) {}

    // Functions, sorted by address, then by name, no duplicates.
    const std::vector<CodeSymbol>& all();
    using Iterator = std::vector<CodeSymbol>::const_iterator;
    Iterator first_from(Address address);  // at an address or after it
    Iterator first_after(Address address); // after it

    // The function symbol that covers an address, and where that begins; the global one of several.
    std::optional<std::pair<std::string, Address>> at(Address address);
    // Several functions at different places have that symbol.
    bool is_ambiguous(std::string_view name);
    // The nearest one before an address, in its section, that is the only one of its name; of functions, and of
    // variables.
    std::optional<std::pair<std::string, Address>> unique_before(Address address);
    std::optional<std::pair<std::string, Address>> unique_variable_before(Address address) const;
    // Link-time address of a symbol of any kind.
    std::optional<Address> address_of(std::string_view name);
    // Whether a variable's symbol covers an address.
    bool is_variable(Address address);

    // Whether a function of Go begins there, by the program's own table.
    bool is_go_function(Address entry);

  private:
    const std::vector<GoFunction>& go_functions(); // empty for other programs

    const ProgramFile& file_;
    DebugFiles& debug_;
    bool loaded_ = false;
    std::vector<CodeSymbol> all_;
    std::optional<ElfFile> packed_; // what a stripped program carries along
    std::optional<std::vector<GoFunction>> go_functions_;
    std::optional<std::set<std::string_view>> ambiguous_; // names of several of them
};

} // namespace sonde
