// Where execution goes in a stretch of machine code of x86-64: from each instruction to the next ones.
//
// A probe at an address counts executions of that instruction. To count calls of a function, or passes through an
// inlined copy, one has to know who comes from where: loops come back to a function's first instruction, and an inlined
// copy has as many entries as compilers found useful. Jumps through a switch's table are followed where the table is
// found; its size is taken from the comparison before the jump, or else from its contents.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontend/types/address.h"

namespace sonde {

struct FlowNode {
    Address address = 0, next = 0; // the instruction, and the one behind it
    Address target = 0;            // of a direct jump in this code; 0: none
    bool falls_through = true;     // to `next`; a call does, once it returns
    bool is_jump = false;          // direct
    // 0 to 15: a jump if the flags say so, by the number in its opcode; 16: always; 17: by something else.
    uint8_t condition = 16;
    bool is_call = false;
    bool is_indirect_jump = false;
    bool does_nothing = false; // nop, endbr64
    bool moves_stack = false;  // may change rsp
    // Equal for instructions that write to the same place in memory, or call the same function; 0: neither. Places that
    // count from rsp or rbp are left out, as compilers keep their own values there.
    uint64_t effect = 0;
};
constexpr uint8_t jumps_always = 16, jumps_by_other = 17;

class CodeFlow {
  public:
    struct Part {
        Address low = 0;
        std::string bytes;
    };
    // Bytes of the file at an address that is not code.
    using ReadData = std::function<std::string(Address, size_t)>;

    // `parts` do not overlap; they are sorted here.
    CodeFlow(std::vector<Part> parts, const ReadData& read_data);

    // An instruction is not known, so this is not all.
    bool is_cut() const { return cut_; }
    // Some jump goes to addresses that nobody knows.
    bool has_unknown_jump() const { return unknown_jump_; }

    const std::vector<FlowNode>& nodes() const { return nodes_; }
    std::optional<size_t> index_of(Address address) const;
    const std::vector<size_t>& before(size_t node) const { return before_[node]; }
    const std::vector<size_t>& after(size_t node) const { return after_[node]; }

  private:
    void decode(const Part& part);
    void add_edge(size_t from, Address to);
    void follow_tables(const ReadData& read_data);
    std::vector<Address> table_at(Address table, size_t most, const ReadData& read_data) const;

    std::vector<FlowNode> nodes_;
    std::vector<std::pair<size_t, Address>> tables_;   // the address that a `lea` gives, and its node
    std::vector<std::pair<size_t, int64_t>> compared_; // nodes that compare with a constant
    std::vector<std::vector<size_t>> before_, after_;
    bool cut_ = false, unknown_jump_ = false;
};

} // namespace sonde
