#include "frontend/dwarf/dropped_results.h"

#include <string>

#include <elf.h>

#include <gtest/gtest.h>

using namespace sonde;

static const Architecture& x86_64() { return *architecture_of(EM_X86_64, false); }
static const Architecture& arm64() { return *architecture_of(EM_AARCH64, false); }

// The code after a call, as bytes at address 0.
static ResultReads reads_of(std::initializer_list<unsigned char> code, bool with_push = true) {
    const std::string bytes(code.begin(), code.end());
    return reads_of_result(
        x86_64(), 0, [&](Address at) { return at < bytes.size() ? bytes.substr(at) : ""; }, with_push);
}
static bool reads(std::initializer_list<unsigned char> code) { return reads_of(code)[0]; }

TEST(ReadsResult, OfIntegers) {
    EXPECT_TRUE(reads({0x85, 0xc0}));                                // test %eax,%eax
    EXPECT_TRUE(reads({0x48, 0x89, 0xc7}));                          // mov %rax,%rdi
    EXPECT_FALSE(reads({0x31, 0xc0, 0x85, 0xc0}));                   // xor %eax,%eax first
    EXPECT_FALSE(reads({0x8b, 0x05, 0, 0, 0, 0, 0x48, 0x89, 0xc7})); // mov 0(%rip),%eax first
    EXPECT_FALSE(reads({0xc3}));
    EXPECT_FALSE(reads({0x0f, 0x1f, 0x44, 0x00, 0x00, 0x89, 0xf0})); // nopl 0(%rax,%rax,1); mov %esi,%eax
    EXPECT_FALSE(reads({0x83, 0xc8, 0xff, 0x85, 0xc0}));             // or $-1,%eax first
    EXPECT_FALSE(reads({0x83, 0xe0, 0x00, 0x85, 0xc0}));             // and $0,%eax first
    EXPECT_TRUE(reads({0x83, 0xc8, 0x01}));                          // or $1,%eax
    EXPECT_TRUE(reads({0x50}));                                      // push %rax
    EXPECT_FALSE(reads_of({0x50, 0x31, 0xc0, 0x50}, false)[0]);      // ... that only reserves space
}

TEST(ReadsResult, VectorRegistersAreNotRax) {
    EXPECT_FALSE(reads({0x0f, 0x57, 0xc0, 0xc3}));                   // xorps %xmm0,%xmm0
    EXPECT_FALSE(reads({0x66, 0x0f, 0x38, 0x00, 0xc8, 0xc3}));       // pshufb %xmm0,%xmm1
    EXPECT_FALSE(reads({0xf3, 0x0f, 0x2c, 0xc0, 0x48, 0x89, 0xc7})); // cvttss2si %xmm0,%eax; mov %rax,%rdi
    EXPECT_TRUE(reads({0xf3, 0x48, 0x0f, 0x2a, 0xc0}));              // cvtsi2ss %rax,%xmm0
    EXPECT_TRUE(reads({0x66, 0x0f, 0x6e, 0xc0}));                    // movd %eax,%xmm0
    EXPECT_TRUE(reads({0x0f, 0x10, 0x00}));                          // movups (%rax),%xmm0
}

TEST(ReadsResult, OfTwoRegisters) {
    constexpr ResultReads both = {true, true}, first = {true, false}, second = {false, true};
    EXPECT_EQ(reads_of({0x48, 0x01, 0xd0}), both);                       // add %rdx,%rax
    EXPECT_EQ(reads_of({0x48, 0x89, 0xc7, 0xc3}), first);                // mov %rax,%rdi; ret
    EXPECT_EQ(reads_of({0x48, 0x89, 0xd7, 0xc3}), second);               // mov %rdx,%rdi; ret
    EXPECT_EQ(reads_of({0x48, 0x99, 0x48, 0x01, 0xd0}), first);          // cqto; add %rdx,%rax
    EXPECT_EQ(reads_of({0xe8, 0, 0, 0, 0, 0x48, 0x01, 0xd0})[1], false); // call first
}

TEST(ReadsResult, BehindJumps) {
    constexpr ResultReads both = {true, true};
    // test %al,%al; je 1f; ret; 1: test %dl,%dl
    EXPECT_EQ(reads_of({0x84, 0xc0, 0x74, 0x01, 0xc3, 0x84, 0xd2, 0xc3}), both);
    // test %al,%al; je 1f; test %dl,%dl; 1: ret
    EXPECT_EQ(reads_of({0x84, 0xc0, 0x74, 0x02, 0x84, 0xd2, 0xc3}), both);
    // jmp 1f; test %eax,%eax; 1: ret
    EXPECT_FALSE(reads({0xeb, 0x02, 0x85, 0xc0, 0xc3}));
    // 1: jmp 1b
    EXPECT_FALSE(reads({0xeb, 0xfe}));
    // xor %eax,%eax; je 1f; 1: test %eax,%eax
    EXPECT_FALSE(reads({0x31, 0xc0, 0x74, 0x00, 0x85, 0xc0}));
}

// On arm64, jumps read registers.
TEST(ReadsResult, ByJumps) {
    const auto reads = [](const std::vector<uint32_t>& words) {
        const std::string bytes(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t));
        return reads_of_result(arm64(), 0, [&](Address at) { return at < bytes.size() ? bytes.substr(at) : ""; }, true);
    };
    EXPECT_EQ(reads({0x34000040, 0xd65f03c0, 0xd65f03c0}), (ResultReads{true, false}));              // cbz w0, .+8
    EXPECT_EQ(reads({0x37000041, 0xd65f03c0, 0xd65f03c0}), (ResultReads{false, true}));              // tbnz w1, #0, .+8
    EXPECT_EQ(reads({0x52800000, 0x34000040, 0xd65f03c0, 0xd65f03c0}), (ResultReads{false, false})); // mov w0, #0 first
    EXPECT_EQ(reads({0x34000062, 0xd65f03c0, 0xd503201f, 0xa90007e0}),
              (ResultReads{true, true})); // cbz w2 to stp x0, x1
}
