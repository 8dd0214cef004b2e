// Functions whose implementation is chosen when a program starts: symbols of type STT_GNU_IFUNC, such as `memcpy` in
// the C library.
//
// The symbol's address is that of a resolver. The dynamic linker calls it once in each process, and callers then call
// the function that it returned. The choice depends on the processor and on the environment. So sonde probes all
// functions that the resolver can return; each process calls one of them. A resolver is short, and its code contains
// the addresses of the implementations.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/machine/address.h"

namespace sonde {

class CodeLayout;
class ProgramFile;
class UnwindTable;

class Ifuncs {
  public:
    Ifuncs(const ProgramFile& file, CodeLayout& code, UnwindTable& unwind)
        : file_(file), code_(code), unwind_(unwind) {}

    struct Ifunc {
        std::string_view name; // in the ELF file's string table
        Address resolver = 0;
        bool global = false;
    };
    // All IFUNCs, sorted by name.
    const std::vector<Ifunc>& all();
    // Returns the address ranges [first, last + 1) of the functions that a resolver can return, sorted. Returns nothing
    // if its code does not contain their addresses.
    std::vector<std::pair<Address, Address>> implementations(Address resolver);

  private:
    const ProgramFile& file_;
    CodeLayout& code_;
    UnwindTable& unwind_;
    bool loaded_ = false;
    std::vector<Ifunc> all_;
};

} // namespace sonde
