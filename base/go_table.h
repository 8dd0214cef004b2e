// The table of functions that every Go program carries for its own stack traces (.gopclntab); `strip` leaves it alone.
//
// Layouts: "Go 1.2 Runtime Symbol Information" by R. Cox, and Go's src/debug/gosym/pclntab.go and
// src/runtime/symtab.go, which have what 1.16, 1.18 and 1.20 changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sonde {

struct GoFunction {
    std::string_view name; // "main.(*Server).Serve"; lives as long as the table's bytes
    uint64_t address = 0;
    uint64_t size = 0; // up to the next function
};

// All functions, sorted by address. `text` is the address of the program's code (.text), which tables since 1.18 count
// from and position-independent programs do not name. Empty for a table of another version or a broken one.
std::vector<GoFunction> read_go_functions(std::string_view table, uint64_t text);

// How far below its CFA a function's stack pointer is, from an address on.
struct GoHeight {
    uint64_t address = 0;
    int64_t bytes = 0; // without the return address
};
// A function as the runtime's own unwinder sees it.
struct GoFrame {
    uint64_t address = 0, end = 0;
    std::vector<GoHeight> heights; // sorted; empty: not known
    bool outermost = false;        // nobody has called it
    bool moves_stack = false;      // it goes on on another stack, so that the heights hold only at its beginning
};
// The same of all functions, in the same order.
std::vector<GoFrame> read_go_frames(std::string_view table, uint64_t text);

// N of the Go 1.N whose compiler made the program: from its section `.go.buildinfo`, which stays when a program is
// stripped. Nullopt before 1.18, which has the version elsewhere, and where nothing can be read.
//
// Layout: Go's src/debug/buildinfo/buildinfo.go.
std::optional<int> read_go_version(std::string_view build_info);

// Where the runtime keeps what goid() needs, on 64-bit machines.
struct GoLayout {
    uint64_t goid = 0, m = 0; // in runtime.g
    uint64_t curg = 0;        // in runtime.m
};
// Of Go 1.`version`; nullopt: not known. Layout: Go's src/runtime/runtime2.go, which changed with 1.23 (g.syscallbp)
// and 1.25 (gobuf.ret is gone).
std::optional<GoLayout> go_layout(int version);

} // namespace sonde
