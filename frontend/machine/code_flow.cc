// The decoder sees one instruction at a time and in order of addresses, so the graph is built in two passes: decode()
// makes the nodes and notes everything that could belong to a jump table, then the edges are added.
//
// A `switch` in position-independent code looks like this:
//
//       cmp    $5,%edi              the table has 6 elements
//       ja     default
//       lea    table(%rip),%rdx     notes the table
//       movslq (%rdx,%rdi,4),%rax
//       add    %rdx,%rax
//       jmp    *%rax
//
// The code between these instructions varies, so they are connected only by their distance (`near`). If the compiler
// has moved the `lea` away, each noted table is a candidate. Additional edges can hide an entry or make a place look
// like a loop, which leads to a refusal. Missing edges would lead to wrong counts.
#include "frontend/machine/code_flow.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "arch/x86_64/decode.h"

namespace sonde {
namespace {

constexpr size_t most_targets = 4096; // most elements of a jump table
constexpr size_t near = 10;           // instructions before a jump that can prepare it

bool is_nop(const X86Instruction& one) {
    if (one.is_vector)
        return false;
    // `0f 1f` is the long nop; its operand is not read. `f3 0f 1e fa` is endbr64; all other codes 0f 1e are nops too.
    return (one.map == 0 && one.opcode == 0x90) || (one.map == 1 && (one.opcode == 0x1f || one.opcode == 0x1e));
}

// push, pop, call, ret, leave, enter, or an instruction that may write to rsp. A wrong "yes" does no harm.
bool may_move_stack(const X86Instruction& one) {
    if (one.is_vector)
        return false;
    const bool stack =
        one.map == 0 && ((one.opcode >= 0x50 && one.opcode <= 0x5f) || one.opcode == 0x68 || one.opcode == 0x6a ||
                         one.opcode == 0x8f || one.opcode == 0x9c || one.opcode == 0x9d || one.opcode == 0xc8 ||
                         one.opcode == 0xc9 || (one.opcode == 0xff && one.extension() == 6));
    const bool names_rsp = one.has_modrm && (one.extension() == 4 || (one.modrm >> 6 == 3 && (one.modrm & 7) == 4));
    return stack || one.is_call() || one.is_return() || names_rsp;
}

// ud2, ud1, hlt, int3: compilers put these after calls that do not return.
bool never_returns(const X86Instruction& one) {
    return !one.is_vector && ((one.map == 1 && (one.opcode == 0x0b || one.opcode == 0xb9)) ||
                              (one.map == 0 && (one.opcode == 0xf4 || one.opcode == 0xcc)));
}

// Whether the instruction writes to its memory operand. Rare instructions are missing.
bool writes_memory(const X86Instruction& one) {
    if (!one.has_modrm || one.modrm >> 6 == 3)
        return false;
    if (one.map == 1 && (one.is_vector || one.opcode < 0x80))
        return one.opcode == 0x11 || one.opcode == 0x13 || one.opcode == 0x17 || one.opcode == 0x29 ||
               one.opcode == 0x2b || one.opcode == 0x7e || one.opcode == 0x7f;
    if (one.is_vector || one.map != 0)
        return !one.is_vector && one.map == 1 && (one.opcode == 0xd6 || one.opcode == 0xe7 || one.opcode >> 4 == 9);
    const int group = one.extension();
    switch (one.opcode) {
    case 0x80:
    case 0x81:
    case 0x83:
        return group != 7; // cmp
    case 0xf6:
    case 0xf7:
        return group == 2 || group == 3; // not, neg
    case 0xfe:
    case 0xff:
        return group <= 1; // inc, dec
    case 0x86:
    case 0x87:
    case 0x88:
    case 0x89:
    case 0xc6:
    case 0xc7:
        return true;
    default:
        return (one.opcode < 0x38 && (one.opcode & 7) < 2) || one.opcode >> 1 == 0x60 || one.opcode >> 2 == 0x34;
    }
}

// Computes FlowNode::effect: the address that is written or called, and in the low bits which of the two it is.
uint64_t effect_of(const X86Instruction& one, Address next) {
    constexpr int rsp = 4, rbp = 5;
    constexpr uint64_t written = 1, called = 2;
    const auto operand = static_cast<uint64_t>(one.displacement);
    if (one.is_call() && !one.has_modrm)
        return (next + static_cast<Address>(one.immediate)) << 2 | called;
    if (!one.is_call() && (!writes_memory(one) || (!one.is_relative() && (one.base == rsp || one.base == rbp))))
        return 0;
    return (one.is_relative() ? next + operand : operand) << 2 | (one.is_call() ? called : written);
}

// A call falls through, as if it always returned. If it never does, the edge after it is harmless.
FlowNode node_of(const X86Instruction& one, Address at) {
    FlowNode node;
    node.address = at;
    node.next = at + one.length;
    node.is_call = one.is_call();
    node.is_indirect_jump = one.is_indirect_jump();
    node.does_nothing = is_nop(one);
    node.moves_stack = may_move_stack(one);
    node.effect = effect_of(one, node.next);
    node.is_jump = one.is_direct_jump();
    if (node.is_jump) {
        node.target = node.next + static_cast<Address>(one.immediate);
        if (one.opcode >> 4 == 7 || one.map == 1)
            node.condition = one.opcode & 0xf;
        else if (one.opcode >> 2 == 0x38) // loop, jrcxz
            node.condition = jumps_by_other;
    }
    const bool always = node.is_jump && node.condition == jumps_always;
    node.falls_through = !always && !node.is_indirect_jump && !one.is_return() && !never_returns(one);
    return node;
}

} // namespace

CodeFlow::CodeFlow(std::vector<Part> parts, const ReadData& read_data) {
    std::ranges::sort(parts, {}, &Part::low);
    for (const Part& part : parts)
        decode(part);
    before_.resize(nodes_.size());
    after_.resize(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); i++) {
        if (nodes_[i].falls_through)
            add_edge(i, nodes_[i].next);
        if (nodes_[i].is_jump)
            add_edge(i, nodes_[i].target);
    }
    follow_tables(read_data);
}

void CodeFlow::decode(const Part& part) {
    for (size_t at = 0; at < part.bytes.size();) {
        std::optional<X86Instruction> one = decode_x86(std::string_view(part.bytes).substr(at));
        if (!one) {
            cut_ = true;
            return;
        }
        FlowNode node = node_of(*one, part.low + at);
        const bool by_rip = !one->is_vector && one->has_modrm && (one->modrm & 0xc7) == 5;
        if (one->map == 0 && one->opcode == 0x8d && by_rip)
            tables_.emplace_back(nodes_.size(), node.next + static_cast<Address>(one->displacement));
        if (!one->is_vector && one->map == 0 &&
            (one->opcode == 0x83 || one->opcode == 0x81 || one->opcode == 0x3c || one->opcode == 0x3d ||
             one->opcode == 0x80))
            compared_.emplace_back(nodes_.size(), one->immediate);
        // `jmp *table(,%rax,8)`: the elements are addresses of 8 bytes. Programs that are not position-independent have
        // these.
        if (node.is_indirect_jump && one->modrm >> 6 == 0 && (one->modrm & 7) == 4 && one->base < 0)
            node.target = static_cast<Address>(one->displacement);
        nodes_.push_back(node);
        at += one->length;
    }
}

std::optional<size_t> CodeFlow::index_of(Address address) const {
    auto found = std::ranges::lower_bound(nodes_, address, {}, &FlowNode::address);
    if (found == nodes_.end() || found->address != address)
        return std::nullopt;
    return static_cast<size_t>(found - nodes_.begin());
}

void CodeFlow::add_edge(size_t from, Address to) {
    std::optional<size_t> target = index_of(to);
    if (!target || std::ranges::find(after_[from], *target) != after_[from].end())
        return;
    after_[from].push_back(*target);
    before_[*target].push_back(from);
}

// Reads a table whose elements are distances of 4 bytes from the table's beginning. Position-independent programs have
// these. The table ends where another one begins, or where an element does not lead to an instruction.
std::vector<Address> CodeFlow::table_at(Address table, size_t most, const ReadData& read_data) const {
    std::vector<Address> targets;
    const std::string bytes = read_data(table, 4 * most);
    for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
        int32_t distance = 0;
        memcpy(&distance, bytes.data() + at, sizeof distance);
        const Address target = table + static_cast<Address>(static_cast<int64_t>(distance));
        const bool is_next_table =
            at > 0 && std::ranges::any_of(tables_, [&](const auto& one) { return one.second == table + at; });
        if (is_next_table || !index_of(target))
            break;
        targets.push_back(target);
    }
    return targets;
}

// Adds edges from each indirect jump to the targets in its table.
void CodeFlow::follow_tables(const ReadData& read_data) {
    std::vector<size_t> jumps;
    for (size_t i = 0; i < nodes_.size(); i++)
        if (nodes_[i].is_indirect_jump)
            jumps.push_back(i);
    if (jumps.empty())
        return;
    // Each `lea` may give the address of a table: read all that look like one.
    std::vector<std::pair<size_t, std::vector<Address>>> found;
    for (const auto& [node, table] : tables_)
        if (std::vector<Address> targets = table_at(table, most_targets, read_data); !targets.empty())
            found.emplace_back(node, std::move(targets));
    for (size_t jump : jumps) {
        // "If above N, go to the default case": the table has N + 1 elements.
        size_t most = most_targets;
        for (const auto& [node, constant] : compared_)
            if (node < jump && jump - node <= near && constant >= 0 && constant < static_cast<int64_t>(most_targets))
                most = static_cast<size_t>(constant) + 1;
        // The `lea` of the table is shortly before the jump. If it is not, then the compiler has moved it out of a
        // loop, and it can be any `lea`. Too many edges are better than missing ones.
        std::vector<std::vector<Address>> tables;
        for (const auto& [node, targets] : found)
            if (node < jump && jump - node <= near)
                tables = {targets};
        if (tables.empty())
            std::ranges::transform(found, std::back_inserter(tables), [](const auto& one) { return one.second; });
        // The instruction itself has the address of its table.
        if (nodes_[jump].target != 0) {
            const std::string bytes = read_data(nodes_[jump].target, 8 * most);
            std::vector<Address> targets;
            for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
                Address target = 0;
                memcpy(&target, bytes.data() + at, sizeof target);
                if (!index_of(target))
                    break;
                targets.push_back(target);
            }
            tables = {targets};
        }
        bool any = false;
        for (const std::vector<Address>& targets : tables)
            for (size_t i = 0; i < std::min(most, targets.size()); i++) {
                add_edge(jump, targets[i]);
                any = true;
            }
        unknown_jump_ = unknown_jump_ || !any;
    }
}

} // namespace sonde
