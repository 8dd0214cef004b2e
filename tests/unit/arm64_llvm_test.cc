// The decoder of arm64 agrees with LLVM's disassembler.
#include <gtest/gtest.h>

#ifdef SONDE_HAS_DISASSEMBLER

#include <map>
#include <random>

#include "tests/fuzz/arm64_llvm.h"

namespace sonde {
namespace {

TEST(Arm64Code, InstructionsAreLlvms) {
    Arm64Llvm llvm;
    std::mt19937 random(30);
    size_t known = 0, only_ours = 0;
    constexpr int words = 400'000;
    for (int i = 0; i < words; i++) {
        const auto word = static_cast<uint32_t>(random());
        ASSERT_EQ(llvm.compare(word), "") << std::hex << word << ": " << llvm.text(word);
        const std::string code(reinterpret_cast<const char*>(&word), sizeof word);
        const bool ours = arm64_architecture().decode(code).has_value();
        known += ours;
        only_ours += ours && llvm.text(word).empty();
    }
    EXPECT_GT(known, words / 4U);
    // Reserved words in the groups of vectors, which the table does not describe in detail.
    EXPECT_LT(only_ours, known / 4);
}

// Where random words rarely lead: branches, exceptions and system instructions, and moves of constants.
TEST(Arm64Code, BranchesAreLlvms) {
    Arm64Llvm llvm;
    std::mt19937 random(31);
    constexpr uint32_t begins[][2] = {{0xd4000000, 0x00ffffff}, {0xd5000000, 0x003fffff}, {0xd6000000, 0x01ffffff},
                                      {0xd5032000, 0x00000fff}, {0xd5033000, 0x00000fff}, {0x54000000, 0x01ffffff},
                                      {0x34000000, 0x83ffffff}, {0x14000000, 0x83ffffff}, {0x12000000, 0xe1ffffff},
                                      {0xd63f0000, 0x01000fff}, {0xd65f0000, 0x00000fff}};
    for (const auto& [begin, bits] : begins)
        for (int i = 0; i < 20'000; i++) {
            const uint32_t word = begin | (static_cast<uint32_t>(random()) & bits);
            ASSERT_EQ(llvm.compare(word), "") << std::hex << word << ": " << llvm.text(word);
        }
}

} // namespace
} // namespace sonde

#endif
