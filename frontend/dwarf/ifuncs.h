// Functions that are chosen when a program starts: symbols of type STT_GNU_IFUNC, such as the C library's `memcpy`.
//
// The symbol's address is that of a resolver, which the dynamic linker calls once in each process, and whose result is
// what callers call. Which one that is depends on the processor and on the process' environment, so all functions that
// the resolver can return are probed: a process calls one of them. A resolver is a few instructions, and gives the
// addresses of its results as they are.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/types/address.h"

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
    const std::vector<Ifunc>& all();
    // The functions that a resolver can return, from their first address to behind the last, sorted; empty: its code
    // does not say.
    std::vector<std::pair<Address, Address>> implementations(Address resolver);

  private:
    const ProgramFile& file_;
    CodeLayout& code_;
    UnwindTable& unwind_;
    bool loaded_ = false;
    std::vector<Ifunc> all_;
};

} // namespace sonde
