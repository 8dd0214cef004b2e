// Finds the row of an instruction in the table, and excludes the words of the row that are not allocated.
//
// Some analyses decode all code of a program, so the rows are grouped by bits 25 to 28, which tell the main groups of
// instructions apart. At most about 40 rows are compared then.
#include "arch/arm64/decode.h"

#include <array>
#include <bit>
#include <cstring>
#include <iterator>

namespace sonde::arm64 {
namespace {

struct Row {
    uint32_t value, mask, operands;
    Kind kind;
};

constexpr Row rows[] = {
#define ENCODING(value, mask, operands, kind) {value, mask, operands, Kind::kind},
#include "arch/arm64/encodings.def"
#undef ENCODING
};

constexpr unsigned group_bit = 25;
constexpr size_t groups = 16;
constexpr size_t group_of(uint32_t word) { return word >> group_bit & (groups - 1); }

// The rows that a word of each group can have, in the table's order.
struct Index {
    std::array<uint16_t, groups + 1> first{};
    std::array<uint8_t, std::size(rows) * 4> row{};
};
constexpr Index index_of_rows = [] {
    Index out;
    uint16_t used = 0;
    for (size_t group = 0; group < groups; group++) {
        out.first[group] = used;
        for (size_t i = 0; i < std::size(rows); i++)
            if (((static_cast<uint32_t>(group) << group_bit ^ rows[i].value) & rows[i].mask &
                 (groups - 1) << group_bit) == 0)
                out.row[used++] = static_cast<uint8_t>(i);
    }
    out.first[groups] = used;
    return out;
}();

// Words of 32 bits must not use constants for 64.
bool is_shift_allocated(const Arm64Instruction& one) { return one.is_wide() || !one.bit(15); }

bool is_transfer_allocated(const Arm64Instruction& one) {
    const uint32_t size = one.field(30, 2), opcode = one.field(22, 2);
    if (one.bit(26)) // vectors: the sizes of 16 bytes
        return opcode < 2 || size == 0;
    return opcode != 3 || size < 2;
}

bool is_allocated(const Arm64Instruction& one) {
    switch (one.kind) {
    case Kind::LogicalConstant:
        return logical_constant(one).has_value();
    case Kind::MoveConstant:
        return one.field(29, 2) != 1 && (one.is_wide() || !one.bit(22));
    case Kind::Bitfield:
        return one.field(29, 2) != 3 && one.is_wide() == one.bit(22) &&
               (one.is_wide() || (!one.bit(21) && !one.bit(15)));
    case Kind::Extract:
        return one.is_wide() == one.bit(22) && (one.is_wide() || !one.bit(15));
    case Kind::Logical:
        return is_shift_allocated(one);
    case Kind::Add:
        return is_shift_allocated(one) && one.field(22, 2) != 3;
    case Kind::AddExtended:
        return one.field(10, 3) <= 4;
    case Kind::Literal:
        return !one.bit(26) || one.field(30, 2) != 3;
    case Kind::Pair: {
        const uint32_t opcode = one.field(30, 2);
        const bool is_moving = one.bit(23), is_load = one.bit(22);
        if (opcode == 3)
            return false;
        // Without a hint about the cache: ldpsw and stgp.
        return one.bit(26) || opcode != 1 || one.field(23, 2) != 0 || (is_moving && is_load);
    }
    case Kind::Offset: {
        const bool is_prefetch = !one.bit(26) && one.field(22, 2) == 2 && one.field(30, 2) == 3;
        const uint32_t mode = one.field(10, 2);
        return is_transfer_allocated(one) && !(is_prefetch && mode != 0) && !(mode == 2 && one.bit(26));
    }
    case Kind::ScaledOffset:
        return is_transfer_allocated(one);
    case Kind::IndexOffset:
        return is_transfer_allocated(one) && one.bit(14);
    case Kind::OrderedOffset:
        return one.field(22, 2) < 2 || one.field(30, 2) < 2 || (one.field(30, 2) == 2 && one.field(22, 2) == 2);
    default:
        return true;
    }
}

} // namespace

std::optional<Arm64Instruction> decode_arm64(std::string_view code) {
    if (code.size() < instruction_size)
        return std::nullopt;
    Arm64Instruction out;
    std::memcpy(&out.word, code.data(), sizeof out.word);
    const size_t group = group_of(out.word);
    for (size_t i = index_of_rows.first[group]; i < index_of_rows.first[group + 1]; i++) {
        const Row& row = rows[index_of_rows.row[i]];
        if ((out.word & row.mask) != row.value)
            continue;
        out.kind = row.kind;
        out.row = index_of_rows.row[i];
        out.opcode = out.word & ~row.operands;
        return is_allocated(out) ? std::optional(out) : std::nullopt;
    }
    return std::nullopt;
}

// DecodeBitMasks() in the manual, for logical constants: a run of ones in an element of 2 to 64 bits, rotated, and
// repeated in the register. The position of the highest zero in N:imms gives the element's size.
std::optional<uint64_t> logical_constant(const Arm64Instruction& one) {
    const uint32_t n = one.field(22, 1), rotation = one.field(16, 6), length = one.field(10, 6);
    const uint32_t pattern = n << 6 | (~length & 0x3f);
    if ((n && !one.is_wide()) || pattern < 2)
        return std::nullopt;
    const unsigned size = 1U << (std::bit_width(pattern) - 1);
    const unsigned ones = (length & (size - 1)) + 1, turn = rotation & (size - 1);
    if (ones == size)
        return std::nullopt;
    const uint64_t run = (uint64_t{1} << ones) - 1;
    uint64_t element = turn == 0 ? run : run >> turn | run << (size - turn);
    if (size < 64)
        element &= (uint64_t{1} << size) - 1;
    for (unsigned filled = size; filled < 64; filled *= 2)
        element |= element << filled;
    return one.is_wide() ? element : element & 0xffffffff;
}

} // namespace sonde::arm64
