// Reads the table of functions that Go programs contain for their own stack traces (.gopclntab). `strip` does not
// remove it.
//
// For the layouts see "Go 1.2 Runtime Symbol Information" by R. Cox, and Go's src/debug/gosym/pclntab.go and
// src/runtime/symtab.go, which have the changes of 1.16, 1.18 and 1.20.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sonde {

// A function of a Go program. Go's names contain dots, parentheses and brackets.
struct GoFunction {
    std::string_view name; // "main.(*Server).Serve"; valid as long as the table's bytes
    uint64_t address = 0;
    uint64_t size = 0; // up to the next function
};

// All functions, sorted by address. `text`: the address of the program's code (.text). Tables since 1.18 count from it,
// and position-independent programs do not contain it. Empty if the table is damaged or of another version.
std::vector<GoFunction> read_go_functions(std::string_view table, uint64_t text);

// The distance of the stack pointer from the function's CFA, from an address on.
struct GoHeight {
    uint64_t address = 0;
    int64_t bytes = 0; // without the return address
};
// A function's frame as Go's unwinder describes it.
struct GoFrame {
    uint64_t address = 0, end = 0;
    std::vector<GoHeight> heights; // sorted; empty: unknown
    bool outermost = false;        // the first function of a stack
    bool moves_stack = false;      // switches to another stack, so the heights are valid only at its beginning
};
// The frames of all functions, in the same order.
std::vector<GoFrame> read_go_frames(std::string_view table, uint64_t text);

// N of the Go version 1.N that compiled the program, from its section `.go.buildinfo`, which stripping does not remove.
// nullopt before 1.18, which stores the version elsewhere, and if the section is damaged.
//
// For the layout see Go's src/debug/buildinfo/buildinfo.go.
std::optional<int> read_go_version(std::string_view build_info);

// Offsets in structures of Go's runtime that goid() needs, on 64-bit machines.
struct GoLayout {
    uint64_t goid = 0, m = 0; // in runtime.g
    uint64_t curg = 0;        // in runtime.m
};
// The layout for Go 1.`version`; nullopt if it is unknown. See Go's src/runtime/runtime2.go, which changed in 1.23
// (g.syscallbp) and 1.25 (gobuf.ret was removed).
std::optional<GoLayout> go_layout(int version);

} // namespace sonde
