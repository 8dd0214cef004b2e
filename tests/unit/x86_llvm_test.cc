// The decoder's lengths and opcodes agree with LLVM's disassembler.
#include <gtest/gtest.h>

#ifdef SONDE_HAS_DISASSEMBLER

#include <random>

#include "tests/fuzz/llvm_length.h"

namespace sonde {
namespace {

// Code that is likely to be an instruction: an escape or a vector prefix, then random bytes.
std::string make_code(std::mt19937& random) {
    std::string out(15, '\0');
    for (char& byte : out)
        byte = static_cast<char>(random());
    const char* begins[] = {"",         "\x0f",         "\xc5",         "\xc4\xe1",     "\xc4\xe2",
                            "\xc4\xe3", "\x62\xf1\x7c", "\x62\xf2\x7d", "\x62\xf3\x7d", "\x0f\x38",
                            "\x0f\x3a", "\x66\x0f",     "\xf3\x0f",     "\xf2\x0f",     "\x48",
                            "\x41",     "\x66",         "\x67",         "\x8f\xe8",     "\x8f\xe9"};
    const std::string begin = begins[random() % std::size(begins)];
    return out.replace(0, begin.size(), begin);
}

TEST(X86Code, LengthsAreLlvms) {
    for (X86Mode mode : {X86Mode::Long, X86Mode::Protected}) {
        LlvmLength llvm(mode);
        std::mt19937 random(28);
        size_t known = 0;
        for (int i = 0; i < 200'000; i++) {
            const std::string code = make_code(random);
            known += decode_x86(code, mode).has_value();
            ASSERT_EQ(llvm.compare(code), "") << ::testing::PrintToString(code);
        }
        EXPECT_GT(known, 50'000U);
    }
}

// An opcode in a map of vector instructions is known if and only if LLVM knows it with some operand.
TEST(X86Code, VectorOpcodesAreLlvms) {
    LlvmLength llvm(X86Mode::Long);
    for (int map = 1; map <= 3; map++)
        for (int pp = 0; pp < 4; pp++)
            for (int opcode = 0; opcode < 256; opcode++) {
                bool ours = false, theirs = false;
                for (int bits = 0; bits < 8; bits++)
                    for (int operand = 0; operand < 256; operand++) {
                        const int vvvv = bits & 4 ? 5 : 15;
                        const char code[] = {'\xc4',
                                             static_cast<char>(0xe0 | map),
                                             static_cast<char>((bits & 1) << 7 | vvvv << 3 | (bits & 2) << 1 | pp),
                                             static_cast<char>(opcode),
                                             static_cast<char>(operand),
                                             '\x0f'};
                        const std::string text(code, sizeof code);
                        theirs = theirs || llvm.knows(text);
                        ours = ours || decode_x86(text + std::string(10, '\0')).has_value();
                        if (theirs && ours)
                            break;
                    }
                EXPECT_EQ(ours, theirs) << "map " << map << ", pp " << pp << ", opcode " << std::hex << opcode;
            }
}

} // namespace
} // namespace sonde

#endif
