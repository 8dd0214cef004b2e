// How a function's caller is found at an instruction, as rules that handlers in the kernel follow
// (symbols/file_table.h).
//
// DWARF describes the caller's registers at an instruction by a row of a table (DWARF 5, 6.4.1). Nearly all rows become
// one word: the CFA is rsp or rbp and a distance, and the return address lies below it. Everything else becomes a short
// program of steps, which handlers run as DWARF has it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/symbols/cfi_reader.h"

namespace sonde {

struct UnwindRow {
    uint64_t address = 0; // as linked
    uint32_t rule = 0;
    uint32_t saves = 0; // where other registers are saved
    bool same_rule(const UnwindRow& other) const { return rule == other.rule && saves == other.saves; }
};

struct UnwindRules {
    std::vector<UnwindRow> rows; // sorted by address
    std::vector<uint64_t> steps; // of all programs
};

// Where a register of the caller is.
struct CfiPlace {
    enum Kind : uint8_t { Same, AtCfa, CfaItself, Register, Expression, Value, Undefined } kind = Same;
    int64_t offset = 0;          // AtCfa, CfaItself: from the CFA; Register: its number
    std::string_view expression; // gives its address, or its value
    bool operator==(const CfiPlace&) const = default;
};

// A row of the table, with x86-64's numbers of registers.
struct CfiState {
    uint64_t cfa_register = 0;
    int64_t cfa_offset = 0;
    bool cfa_is_expression = false;
    std::string_view cfa_expression;
    std::array<CfiPlace, cfi::registers> places;
};

// Makes rules of rows. Equal programs are kept once.
class RuleCompiler {
  public:
    explicit RuleCompiler(std::vector<uint64_t>& steps) : steps_(steps) {}

    // The rule of a row, without its address. `interrupted`: the caller is no caller, but was interrupted by a signal.
    UnwindRow compile(const CfiState& state, const CfiWidth& width, bool interrupted);
    // That of the kernel's frame of a signal, which has all registers (struct rt_sigframe), in 64-bit code.
    uint32_t signal_frame();
    // The rule after the system call that starts a thread, in 64-bit code: nobody has called the new thread, whose
    // result is 0. The other one returns to the address on top of its stack.
    uint32_t after_clone();

  private:
    std::optional<std::vector<uint64_t>> program(const CfiState& state, const CfiWidth& width, bool interrupted) const;
    uint32_t add(std::vector<uint64_t> program);

    std::vector<uint64_t>& steps_;
    std::map<std::vector<uint64_t>, uint32_t> known_;
};

// A location expression as steps, or nothing: an operation that handlers cannot do, or more than they can take.
// `width`: the numbers of its registers.
std::optional<std::vector<uint64_t>> compile_expression(std::string_view code, const CfiWidth& width);

} // namespace sonde
