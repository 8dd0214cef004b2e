// Encodes regular expressions as constant data: struct sonde_regex, the operations, the table of all automata. The
// numbers of operations and of cells are rounded up to powers of two. An index is then masked before each access, which
// proves to the verifier that it is inside. The padding is never used.
#include "codegen/lower/regex_image.h"

#include <bit>
#include <cstring>

#include "codegen/rtlib/regex.h"

namespace sonde {

static_assert(SONDE_REGEX_REGISTERS == regex::max_registers && SONDE_REGEX_GROUPS == regex::max_groups);

std::string regex_image(const regex::Program& program) {
    auto start = [](regex::Start from) { return sonde_regex_start{from.inside, from.edge}; };
    size_t ops = std::bit_ceil(std::max<size_t>(program.ops.size(), 1)), cells = std::bit_ceil(program.table.size());
    sonde_regex head = {};
    head.width = program.width;
    head.table_at = static_cast<uint32_t>(sizeof(head) + ops * sizeof(sonde_regex_op));
    head.table_mask = static_cast<uint32_t>(cells - 1);
    head.op_mask = static_cast<uint32_t>(ops - 1);
    head.groups = program.groups;
    head.everywhere = program.test_everywhere;
    head.test = start(program.test);
    std::memcpy(head.classes, program.classes.data(), sizeof(head.classes));
    std::string out(reinterpret_cast<const char*>(&head), sizeof(head));
    for (const regex::Op& op : program.ops) {
        sonde_regex_op row = {op.code, op.from, op.to, op.out, op.target, 0, start(op.forward), start(op.backward)};
        out.append(reinterpret_cast<const char*>(&row), sizeof(row));
    }
    out.resize(head.table_at);
    out.append(reinterpret_cast<const char*>(program.table.data()), program.table.size() * sizeof(regex::Cell));
    out.resize(head.table_at + cells * sizeof(regex::Cell));
    return out;
}

} // namespace sonde
