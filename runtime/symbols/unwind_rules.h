// Rules that tell handlers in the kernel how to find a function's caller (runtime/plan/file_table.h defines their
// bits).
//
// DWARF describes the caller's registers at an instruction by one row of a table (DWARF 5, section 6.4.1). Nearly all
// rows of real programs fit into a 32-bit rule: the CFA is sp or fp plus a constant, and the return address lies just
// below the CFA, or above the saved fp, or is in a register. Any other row becomes a short program of steps for a stack
// machine, which handlers interpret. A step corresponds to a DWARF operation.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "arch/architecture.h"

namespace sonde {

// A rule, and the address that it is valid from. Valid up to the next row.
struct UnwindRow {
    uint64_t address = 0; // as linked
    uint32_t rule = 0;
    uint32_t saves = 0; // where callee-saved registers other than fp are saved (SONDE_SAVED_*)
    bool same_rule(const UnwindRow& other) const { return rule == other.rule && saves == other.saves; }
};

// The compiled rules of a file.
struct UnwindRules {
    std::vector<UnwindRow> rows; // sorted by address
    std::vector<uint64_t> steps; // the programs of all rows; a rule has the index of its first step
};

// How to get a register of the caller (DWARF 5, section 6.4.1, "Register rules").
struct CfiPlace {
    // Same: unchanged. AtCfa: saved at CFA + offset. CfaItself: the value is CFA + offset. Register: in another
    // register. Expression: saved at the address that the expression computes. Value: the expression computes the
    // value.
    enum Kind : uint8_t { Same, AtCfa, CfaItself, Register, Expression, Value, Undefined } kind = Same;
    int64_t offset = 0;          // AtCfa, CfaItself: in bytes; Register: the number of the other register
    std::string_view expression; // DWARF operations, of Expression and Value
    bool operator==(const CfiPlace&) const = default;
};

// A row of DWARF's table: the CFA, and a place for each register. cfa_register and the index of `places` are numbers of
// Architecture::registers().
struct CfiState {
    uint64_t cfa_register = 0;
    int64_t cfa_offset = 0;
    bool cfa_is_expression = false;
    std::string_view cfa_expression;
    std::array<CfiPlace, most_unwind_registers> places;
};

// Compiles rows of DWARF's table to rules. Functions share programs: two equal ones are stored once.
class RuleCompiler {
  public:
    // Programs are appended to `steps`, which must outlive the compiler.
    RuleCompiler(const Architecture& architecture, std::vector<uint64_t>& steps)
        : architecture_(architecture), steps_(steps) {}

    const UnwindTraits& traits() const { return architecture_.unwind_traits(); }
    int word() const { return architecture_.word_size(); }
    // Converts a DWARF register number to that of Architecture::registers(). Returns no_register for registers that
    // rules do not track.
    uint64_t number(uint64_t dwarf_number) const;
    static constexpr uint64_t no_register = ~uint64_t{0};

    // Returns the rule of a row. The caller of this function must fill in the address. `interrupted`: the row is for a
    // signal frame, so the frame above was interrupted and its pc is not a return address.
    UnwindRow compile(const CfiState& described, bool interrupted);
    // Returns the rule for the frame that the kernel pushes for a signal in 64-bit code. All registers are saved there
    // (UnwindTraits::signal_frame).
    uint32_t signal_frame();
    // Returns the rule for the code after the system call clone() in 64-bit code. Two threads run this code. In the new
    // thread, the result is 0 and no caller exists. The old thread returns to the address on top of its stack.
    uint32_t after_clone();

  private:
    // Compiles a row to a program; nothing if that is impossible.
    std::optional<std::vector<uint64_t>> program(const CfiState& state, bool interrupted) const;
    // Stores a program, unless an equal one exists. Returns the rule that refers to it.
    uint32_t add(std::vector<uint64_t> program);

    const Architecture& architecture_;
    std::vector<uint64_t>& steps_;
    std::map<std::vector<uint64_t>, uint32_t> known_;
};

// Compiles a DWARF location expression to steps, or returns nothing if handlers do not support an operation or the
// result has too many steps. Register numbers in `code` are those of DWARF.
std::optional<std::vector<uint64_t>> compile_expression(std::string_view code, const Architecture& architecture);

} // namespace sonde
