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

#include "base/byte_cursor.h"
#include "frontend/machine/page_addresses.h"

namespace sonde {
namespace {

constexpr size_t most_targets = 4096; // most elements of a jump table
constexpr size_t near = 10;           // instructions before a jump that can prepare it

// Computes FlowNode::effect: the address that is written or called, and in the low bits which of the two it is.
uint64_t effect_of(const Instruction& one, Address next, const RegisterFile& registers) {
    constexpr uint64_t written = 1, called = 2;
    if (one.flow == Flow::Call)
        return one.target(next) << 2 | called;
    const bool in_frame = one.memory.base == registers.stack_pointer || one.memory.base == registers.frame_pointer;
    if (!one.is_call() && (!one.memory.is_written || in_frame))
        return 0;
    return one.memory.address(next) << 2 | (one.is_call() ? called : written);
}

FlowNode node_of(const Instruction& one, Address at, const RegisterFile& registers) {
    FlowNode node;
    node.address = at;
    node.next = at + one.length;
    node.is_call = one.is_call();
    node.is_indirect_jump = one.is_indirect_jump();
    node.does_nothing = one.operation == Operation::Nothing;
    node.moves_stack = one.moves_stack;
    node.is_move = one.is_move;
    node.is_packed = one.is_packed;
    const int64_t constant = one.operation == Operation::Address ? one.memory.displacement : one.immediate;
    node.shape = node.is_jump ? one.shape : one.shape ^ static_cast<uint32_t>(constant) * 0x9e3779b1u;
    node.effect = effect_of(one, node.next, registers);
    node.is_jump = one.is_direct_jump();
    node.falls_through = !one.ends_flow();
    if (node.is_jump)
        node.target = one.target(node.next);
    if (one.flow == Flow::ConditionalJump)
        node.condition = one.condition;
    else if (one.flow == Flow::CountingJump)
        node.condition = jumps_by_other;
    return node;
}

} // namespace

CodeFlow::CodeFlow(const Architecture& architecture, std::vector<Part> parts, const ReadData& read_data,
                   const NeverReturns& never_returns)
    : alignment_(architecture.instruction_alignment()) {
    std::ranges::sort(parts, {}, &Part::low);
    for (const Part& part : parts)
        decode(architecture, part, never_returns);
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

void CodeFlow::decode(const Architecture& architecture, const Part& part, const NeverReturns& never_returns) {
    PageAddresses addresses;
    for (size_t at = 0; at < part.bytes.size();) {
        std::optional<Instruction> one = architecture.decode(std::string_view(part.bytes).substr(at));
        if (!one) {
            cut_ = true;
            return;
        }
        FlowNode node = node_of(*one, part.low + at, architecture.registers());
        if (one->flow == Flow::Call && never_returns && never_returns(one->target(node.next)))
            node.falls_through = false;
        // The load often replaces the table's address by the element.
        if (const std::optional<Address> table = addresses.address_in(one->memory.base);
            table && one->memory.element_size != 0)
            elements_.push_back({nodes_.size(), one->memory.element_size, *table});
        addresses.complete(*one, node.next);
        if (one->operation == Operation::Address && one->memory.is_relative && one->memory.page == 0)
            tables_.emplace_back(nodes_.size(), one->memory.address(node.next));
        if (one->operation == Operation::WithConstant)
            compared_.emplace_back(nodes_.size(), one->immediate);
        // `jmp *table(,%rax,8)`: the elements are addresses of 8 bytes. Programs that are not position-independent have
        // these.
        if (node.is_indirect_jump && one->memory.is_element_of_constant_table())
            node.target = static_cast<Address>(one->memory.displacement);
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
    Address at = 0;
    for (const int32_t distance : values_in<int32_t>(bytes)) {
        const Address target = table + static_cast<Address>(static_cast<int64_t>(distance));
        const bool is_next_table =
            at > 0 && std::ranges::any_of(tables_, [&](const auto& one) { return one.second == table + at; });
        if (is_next_table || !index_of(target))
            break;
        targets.push_back(target);
        at += sizeof distance;
    }
    return targets;
}

// Reads a table whose elements are distances from a label, in instructions, or from the table itself, in bytes:
//
//     adrp x1, table
//     add  x1, x1, :lo12:table    linkers may replace both by `nop; adr x1, table`
//     ldrb w1, [x1, w0, uxtw]
//     adr  x2, label
//     add  x1, x2, w1, sxtb #2
//     br   x1
//
// The addition extends the element with zeros or with its sign. If both lead to an instruction, the jump gets both
// edges.
std::vector<Address> CodeFlow::compact_table(size_t jump, size_t most, const ReadData& read_data) const {
    const auto is_near = [&](size_t node) { return node < jump && jump - node <= near; };
    const auto element =
        std::find_if(elements_.rbegin(), elements_.rend(), [&](const Element& one) { return is_near(one.node); });
    std::vector<Address> targets;
    if (element == elements_.rend() || element->size > sizeof(int32_t))
        return targets;
    const auto label = std::find_if(tables_.rbegin(), tables_.rend(), [&](const auto& one) {
        return is_near(one.first) && one.second != element->table;
    });
    const Address from = label == tables_.rend() ? element->table : label->second;
    const uint64_t unit = label == tables_.rend() ? 1 : alignment_;
    const std::string bytes = read_data(element->table, element->size * most);
    for (size_t at = 0; at + element->size <= bytes.size(); at += element->size) {
        uint64_t value = 0;
        std::memcpy(&value, &bytes[at], element->size); // little-endian
        const auto unused = static_cast<unsigned>(64 - 8 * element->size);
        const auto with_sign = static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
        const size_t before = targets.size();
        for (const uint64_t distance : {value, with_sign})
            if (index_of(from + distance * unit))
                targets.push_back(from + distance * unit);
        if (targets.size() == before)
            break;
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
        if (alignment_ > 1) {
            tables = {compact_table(jump, most, read_data)};
            most = 2 * most_targets;
        } else if (tables.empty())
            std::ranges::transform(found, std::back_inserter(tables), [](const auto& one) { return one.second; });
        // The instruction itself has the address of its table.
        if (nodes_[jump].target != 0) {
            const std::string bytes = read_data(nodes_[jump].target, 8 * most);
            std::vector<Address> targets;
            for (const Address target : values_in<Address>(bytes)) {
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
