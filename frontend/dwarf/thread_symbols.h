// Finds the places of thread-local variables by their symbols.
//
// gcc describes the location of a thread-local variable only if the assembler of the architecture can express it. On
// others, the DIE of such a variable has no location, as if the variable was optimized out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <elfutils/libdw.h>

namespace sonde {

class DebugFiles;
class ElfFile;
class ProgramFile;
struct Variable;

class ThreadSymbols {
  public:
    ThreadSymbols(const ProgramFile& file, DebugFiles& debug) : file_(file), debug_(debug) {}

    struct Found {
        std::optional<uint64_t> offset; // in the module's thread-local block
        std::string why;                // not "": a symbol exists, but it may be that of another variable
    };
    // `die`: the variable's, which has no location.
    Found find(const Variable& variable, Dwarf_Die die);

  private:
    struct Symbol {
        std::string name;
        std::string source; // the file name of its unit if it has internal linkage; else ""
        uint64_t offset = 0;
        bool operator==(const Symbol&) const = default;
    };
    void read();
    void read_file(const ElfFile& file);
    std::optional<uint64_t> named(std::string_view name, std::string_view source) const;
    Found find_in_function(std::string_view name, std::string_view source, Dwarf_Die& unit, Dwarf_Die& die) const;

    const ProgramFile& file_;
    DebugFiles& debug_;
    bool is_read_ = false;
    std::vector<Symbol> symbols_;
};

} // namespace sonde
