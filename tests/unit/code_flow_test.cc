// The control-flow graph of machine code, with the jump tables of `switch`.
#include "frontend/machine/code_flow.h"

#include <elf.h>

#include <gtest/gtest.h>

namespace sonde {
namespace {

constexpr Address low = 0x1214, table = 0x20d;

// Offsets in instructions from the beginning, where the indirect jump leads. Empty if this is not known.
std::vector<size_t> targets(const std::vector<uint32_t>& words, const std::string& elements) {
    const std::string code(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t));
    const CodeFlow flow(*architecture_of(EM_AARCH64, false), {{low, code}}, [&](Address address, size_t size) {
        return address == table ? elements.substr(0, size) : std::string();
    });
    std::vector<size_t> out;
    for (size_t i = 0; i < flow.nodes().size(); i++)
        if (flow.nodes()[i].is_indirect_jump && !flow.has_unknown_jump())
            out = flow.after(i);
    std::ranges::sort(out);
    return out;
}

using Nodes = std::vector<size_t>;

// cmp w0, #3; b.hi; [adrp and add, or nop and adr]; ldrb w1, [x1, w0, uxtw]; adr x2, L; add x1, x2, w1, sxtb #2; br x1;
// mov; ret; L: mov; ret; mov; ret; ret
std::vector<uint32_t> byte_switch(uint32_t first, uint32_t second) {
    return {0x71000c1f, 0x540001a8, first,      second,     0x38604821, 0x100000a2, 0x8b218841, 0xd61f0020,
            0x52800020, 0xd65f03c0, 0x52800040, 0xd65f03c0, 0x52800060, 0xd65f03c0, 0xd65f03c0};
}

TEST(CodeFlow, TablesOfBytes) {
    const std::string elements("\xfe\0\2\4\1\1", 6); // the comparison says that the last two belong to something else
    EXPECT_EQ(targets(byte_switch(0xf0ffffe1, 0x91083421), elements), (Nodes{8, 10, 12, 14})); // adrp; add
    EXPECT_EQ(targets(byte_switch(0xd503201f, 0x30ff7f61), elements), (Nodes{8, 10, 12, 14})); // nop; adr
    EXPECT_EQ(targets(byte_switch(0xd503201f, 0xd503201f), elements), Nodes());
    EXPECT_EQ(targets(byte_switch(0xf0ffffe1, 0x91083421), "\x60"), Nodes()); // leads out of the code
}

// The elements are distances of 4 bytes from the table.
TEST(CodeFlow, TablesOfDistances) {
    // cmp w0, #1; b.hi; adrp x9, table; add x9, x9, :lo12:table; ldrsw x10, [x9, x0, lsl #2]; add x9, x9, x10; br x9;
    // nop; ret
    const std::vector<uint32_t> code = {0x7100041f, 0x540000e8, 0xf0ffffe9, 0x91083529, 0xb8a0792a,
                                        0x8b0a0129, 0xd61f0120, 0xd503201f, 0xd65f03c0};
    const auto element = [](size_t node) {
        const auto distance = static_cast<uint32_t>(low + 4 * node - table);
        return std::string(reinterpret_cast<const char*>(&distance), sizeof distance);
    };
    EXPECT_EQ(targets(code, element(7) + element(8)), (Nodes{7, 8}));
}

} // namespace
} // namespace sonde
