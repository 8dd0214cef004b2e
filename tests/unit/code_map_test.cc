// Finding the beginnings of instructions.
#include <elf.h>

#include <gtest/gtest.h>

#include "frontend/machine/code_map.h"

namespace sonde {
namespace {

const Architecture& x86_64() { return *architecture_of(EM_X86_64, false); }
const Architecture& arm64() { return *architecture_of(EM_AARCH64, false); }

constexpr Address low = 0x1000;

// Converts hexadecimal digits, separated by spaces, to bytes.
std::string bytes(std::string_view text) {
    std::string out;
    for (size_t i = 0; i + 1 < text.size(); i += 3)
        out += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
    return out;
}

// The offsets of all starts.
std::vector<size_t> starts(std::string_view text, bool whole = true, const std::vector<Address>& roots = {low}) {
    std::string code = bytes(text);
    CodeMap map(low, code, roots, whole, x86_64());
    std::vector<size_t> out;
    for (size_t i = 0; i < code.size(); i++)
        if (map.is_start(low + i))
            out.push_back(i);
    return out;
}

using Offsets = std::vector<size_t>;

TEST(CodeMap, FollowsJumps) {
    // test edi, edi; je +3; mov eax, 1 (after a jump); ret
    EXPECT_EQ(starts("85 ff 74 01 90 c3", false), (Offsets{0, 2, 4, 5}));
    // A jump over text that decodes as instructions with a rest.
    EXPECT_EQ(starts("eb 04 64 61 74 61 90 c3"), (Offsets{0, 6, 7}));
    EXPECT_EQ(starts("eb 08 00 00 00 00 00 00 00 00 c3"), (Offsets{0, 10}));
}

TEST(CodeMap, GapsReadAsCode) {
    // jmp rax, and its possible target: nop; ret.
    EXPECT_EQ(starts("ff e0 90 c3"), (Offsets{0, 2, 3}));
    EXPECT_EQ(starts("ff e0 90 c3", false), (Offsets{0}));
    // The last instruction is truncated.
    EXPECT_EQ(starts("ff e0 90 e8 00"), (Offsets{0}));
    EXPECT_EQ(starts("c3 cc cc cc 90 c3 cc cc"), (Offsets{0, 4, 5}));
}

TEST(CodeMap, NoInstructionInAnInstruction) {
    // jmp +1 leads to the byte after the `lock` of lock cmpxchg: no breakpoint is possible there or on the prefix.
    EXPECT_EQ(starts("74 01 f0 0f b1 0a c3"), (Offsets{0, 2, 6}));
}

// Instructions are at multiples of 4 bytes. Zeros between functions are padding; in front of code they are part of no
// instruction that begins with them, such as ldr x0, [x0].
TEST(CodeMap, WordsOfArm64) {
    const auto starts_in = [](const std::vector<uint32_t>& words) {
        const std::string_view code(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t));
        const CodeMap map(low, code, {low}, true, arm64());
        Offsets out;
        for (size_t i = 0; i < code.size(); i++)
            if (map.is_start(low + i))
                out.push_back(i);
        return out;
    };
    EXPECT_EQ(starts_in({0xd65f03c0, 0, 0, 0xf9400000, 0xd65f03c0, 0}), (Offsets{0, 12, 16})); // ret; ldr; ret
    EXPECT_EQ(starts_in({0xb4000040, 0xd65f03c0, 0xd65f03c0}), (Offsets{0, 4, 8}));            // cbz x0, .+8
    EXPECT_EQ(starts_in({0xd65f03c0, 0x61746164, 0xd65f03c0}), (Offsets{0}));                  // text
}

TEST(CodeMap, Before) {
    std::string code = bytes("48 c7 c0 01 00 00 00 c3");
    CodeMap map(low, code, {low}, true, x86_64());
    EXPECT_EQ(map.start_before(low + 3), low);
    EXPECT_EQ(map.start_before(low + 7), low + 7);
    EXPECT_TRUE(map.is_code(low + 3));
    EXPECT_FALSE(map.is_code(low + 8));
    EXPECT_FALSE(map.start_before(low - 1));
}

} // namespace
} // namespace sonde
