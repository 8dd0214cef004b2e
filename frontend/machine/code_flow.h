// The control-flow graph of machine code: for each instruction, the instructions that can be executed next.
//
// A breakpoint counts executions of one instruction, but sonde wants to count calls of a function or of an inlined
// copy. So it must know from which other instructions execution comes:
//
// * A loop can go back to the first instruction of a function.
// * Execution can enter an inlined copy at several instructions.
//
// An indirect jump of a `switch` gets an edge to each target in its jump table. The graph finds the table by the `lea`
// (Operation::Address) before the jump, and the table's size by the comparison with a constant before the jump. Without
// such a comparison, the table ends at the first element that does not lead to an instruction.
//
// Where instructions are aligned, tables are smaller: each element is a number of instructions from a label, in 1, 2 or
// 4 bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "arch/architecture.h"
#include "frontend/machine/address.h"

namespace sonde {

struct FlowNode {
    Address address = 0, next = 0; // addresses of this instruction and of the one after it in memory
    Address target = 0;            // of a direct jump; 0: none, or no direct jump
    bool falls_through = true;     // execution can continue at `next`; a call continues there when it returns
    bool is_jump = false;          // direct
    // When the jump is taken: Instruction::condition, 16: always, or 17: unknown (Flow::CountingJump).
    JumpCondition condition = 16;
    bool is_call = false;
    bool is_indirect_jump = false;
    bool does_nothing = false; // Operation::Nothing
    bool moves_stack = false;  // may change the stack pointer
    bool is_move = false;      // Instruction::is_move
    bool is_packed = false;    // Instruction::is_packed
    uint32_t shape = 0;        // Instruction::shape, combined with the instruction's constant
    // Two instructions with the same number write to the same memory, or call the same function. 0: neither. Memory
    // relative to the stack or frame pointer does not count, because compilers keep their own temporary values there.
    uint64_t effect = 0;
};
constexpr JumpCondition jumps_always = 16, jumps_by_other = 17;

class CodeFlow {
  public:
    struct Part {
        Address low = 0;
        std::string bytes;
    };
    // Reads bytes of the file at an address outside of the code, for jump tables. May return fewer bytes at the end.
    using ReadData = std::function<std::string(Address, size_t)>;

    // Whether the function at an address never returns to its caller. May be false in doubt: then a call has an edge to
    // the next instruction, which execution does not take.
    using NeverReturns = std::function<bool(Address)>;

    // `parts` must not overlap. They may come in any order.
    CodeFlow(const Architecture& architecture, std::vector<Part> parts, const ReadData& read_data,
             const NeverReturns& never_returns = {});

    // An instruction could not be decoded, so the graph lacks the rest of its part.
    bool is_cut() const { return cut_; }
    // The targets of an indirect jump are not known, so the graph lacks edges.
    bool has_unknown_jump() const { return unknown_jump_; }

    const std::vector<FlowNode>& nodes() const { return nodes_; }
    std::optional<size_t> index_of(Address address) const;
    const std::vector<size_t>& before(size_t node) const { return before_[node]; }
    const std::vector<size_t>& after(size_t node) const { return after_[node]; }

  private:
    void decode(const Architecture& architecture, const Part& part, const NeverReturns& never_returns);
    void add_edge(size_t from, Address to);
    void follow_tables(const ReadData& read_data);
    std::vector<Address> table_at(Address table, size_t most, const ReadData& read_data) const;
    std::vector<Address> compact_table(size_t jump, size_t most, const ReadData& read_data) const;

    std::vector<FlowNode> nodes_;
    // an instruction that computes an address, and the address: perhaps that of a jump table
    std::vector<std::pair<size_t, Address>> tables_;
    // An instruction that loads an element of a table.
    struct Element {
        size_t node, size;
        Address table;
    };
    std::vector<Element> elements_;
    std::vector<std::pair<size_t, int64_t>> compared_; // an instruction that compares with a constant, and the constant
    std::vector<std::vector<size_t>> before_, after_;
    size_t alignment_; // of instructions
    bool cut_ = false, unknown_jump_ = false;
};

} // namespace sonde
