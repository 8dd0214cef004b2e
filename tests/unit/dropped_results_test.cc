#include "frontend/dwarf/dropped_results.h"

#include <string>

#include <gtest/gtest.h>

using namespace sonde;

// The code after a call, as bytes.
static bool reads(std::initializer_list<unsigned char> code) {
    return reads_result(host_architecture(), std::string(code.begin(), code.end()));
}

TEST(ReadsResult, OfIntegers) {
    EXPECT_TRUE(reads({0x85, 0xc0}));                                // test %eax,%eax
    EXPECT_TRUE(reads({0x48, 0x89, 0xc7}));                          // mov %rax,%rdi
    EXPECT_FALSE(reads({0x31, 0xc0, 0x85, 0xc0}));                   // xor %eax,%eax first
    EXPECT_FALSE(reads({0x8b, 0x05, 0, 0, 0, 0, 0x48, 0x89, 0xc7})); // mov 0(%rip),%eax first
    EXPECT_FALSE(reads({0xc3}));
    EXPECT_FALSE(reads({0x0f, 0x1f, 0x44, 0x00, 0x00, 0x89, 0xf0}));            // nopl 0(%rax,%rax,1); mov %esi,%eax
    EXPECT_FALSE(reads({0x83, 0xc8, 0xff, 0x85, 0xc0}));                        // or $-1,%eax first
    EXPECT_FALSE(reads({0x83, 0xe0, 0x00, 0x85, 0xc0}));                        // and $0,%eax first
    EXPECT_TRUE(reads({0x83, 0xc8, 0x01}));                                     // or $1,%eax
    EXPECT_TRUE(reads({0x50}));                                                 // push %rax
    EXPECT_FALSE(reads_result(host_architecture(), "\x50\x31\xc0\x50", false)); // ... that only reserves space
}

TEST(ReadsResult, VectorRegistersAreNotRax) {
    EXPECT_FALSE(reads({0x0f, 0x57, 0xc0, 0xc3}));                   // xorps %xmm0,%xmm0
    EXPECT_FALSE(reads({0x66, 0x0f, 0x38, 0x00, 0xc8, 0xc3}));       // pshufb %xmm0,%xmm1
    EXPECT_FALSE(reads({0xf3, 0x0f, 0x2c, 0xc0, 0x48, 0x89, 0xc7})); // cvttss2si %xmm0,%eax; mov %rax,%rdi
    EXPECT_TRUE(reads({0xf3, 0x48, 0x0f, 0x2a, 0xc0}));              // cvtsi2ss %rax,%xmm0
    EXPECT_TRUE(reads({0x66, 0x0f, 0x6e, 0xc0}));                    // movd %eax,%xmm0
    EXPECT_TRUE(reads({0x0f, 0x10, 0x00}));                          // movups (%rax),%xmm0
}
