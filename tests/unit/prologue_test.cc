// What a function's first instructions do with its arguments, according to its machine code.
#include <string>

#include <elf.h>

#include <gtest/gtest.h>

#include "frontend/dwarf/prologue.h"

namespace sonde {
namespace {

const Architecture& x86_64() { return *architecture_of(EM_X86_64, false); }
const Architecture& arm64() { return *architecture_of(EM_AARCH64, false); }

constexpr int rbx = 3, rax = 0, rdi = 5; // DWARF's numbers

std::string code(std::initializer_list<int> bytes) { return {bytes.begin(), bytes.end()}; }
std::string words(const std::vector<uint32_t>& all) {
    return {reinterpret_cast<const char*>(all.data()), all.size() * sizeof(uint32_t)};
}

TEST(Prologue, StoresOfArguments) {
    // endbr64; sub $24,%rsp; mov %edi,12(%rsp); lea 12(%rsp),%rax; jmp
    auto states = follow_prologue(x86_64(),
                                  code({0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x18, 0x89, 0x7c, 0x24, 0x0c, 0x48,
                                        0x8d, 0x44, 0x24, 0x0c, 0xeb, 0xfe}),
                                  0x1000);
    ASSERT_EQ(states.size(), 5u);
    constexpr int64_t place = -8 - 24 + 12; // relative to the CFA, which is above the return address
    EXPECT_EQ(states[3].address, 0x100cu);
    EXPECT_FALSE(states[2].is_filled(place, place + 4));
    EXPECT_TRUE(states[3].is_filled(place, place + 4));
    EXPECT_FALSE(states[3].is_filled(place, place + 8));
    EXPECT_EQ(states[3].stack_pointer, -32);
    EXPECT_FALSE(states[4].passed[rax]);
}

TEST(Prologue, CopiesInRegistersAndTheFramePointer) {
    // push %rbp; mov %rsp,%rbp; push %rbx; mov %rdi,%rbx; movsd %xmm0,-24(%rbp); mov %esi,-28(%rbp); call
    auto states = follow_prologue(x86_64(), code({0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x89, 0xfb, 0xf2, 0x0f, 0x11,
                                                  0x45, 0xe8, 0x89, 0x75, 0xe4, 0xe8, 0,    0,    0,    0}),
                                  0);
    ASSERT_EQ(states.size(), 7u);
    EXPECT_EQ(states.back().frame_pointer, -16);
    EXPECT_FALSE(states[3].passed[rbx]);
    EXPECT_TRUE(states[4].passed[rbx]);
    EXPECT_TRUE(states.back().is_filled(-16 - 28, -16 - 16));
}

TEST(Prologue, ChangedArgumentsAreNotArguments) {
    // add $1,%edi; mov %edi,-4(%rsp); movl $0,-8(%rsp); mov %esi,-8(%rsp); movl $0,-8(%rsp)
    auto states = follow_prologue(
        x86_64(),
        code({0x83, 0xc7, 0x01, 0x89, 0x7c, 0x24, 0xfc, 0x89, 0x74, 0x24, 0xf8, 0xc7, 0x44, 0x24, 0xf8, 0, 0, 0, 0}),
        0);
    ASSERT_EQ(states.size(), 5u);
    EXPECT_FALSE(states[1].passed[rdi]);
    EXPECT_FALSE(states[2].is_filled(-12, -8));
    EXPECT_TRUE(states[3].is_filled(-16, -12));
    EXPECT_FALSE(states[4].is_filled(-16, -12));
}

// gcc stores a pair and moves the stack pointer by one instruction.
TEST(Prologue, StoresOfPairs) {
    // stp x29, x30, [sp, #-32]!; mov x29, sp; stp w0, w1, [sp, #24]; str d0, [x29, #16]; add x0, x0, #1; bl
    auto states =
        follow_prologue(arm64(), words({0xa9be7bfd, 0x910003fd, 0x290307e0, 0xfd000ba0, 0x91000400, 0x94000000}), 0);
    ASSERT_EQ(states.size(), 6u);
    EXPECT_EQ(states[1].stack_pointer, -32);
    EXPECT_EQ(states[2].frame_pointer, -32);
    EXPECT_FALSE(states[2].is_filled(-8, -4));
    EXPECT_TRUE(states[3].is_filled(-8, 0));
    EXPECT_FALSE(states[3].is_filled(-16, -8));
    EXPECT_TRUE(states[4].is_filled(-16, 0));
    EXPECT_TRUE(states[4].passed[0]);
    EXPECT_FALSE(states[5].passed[0]);
}

// clang moves the stack pointer first, and the frame pointer is above it.
TEST(Prologue, FramePointersAboveTheStackPointer) {
    // paciasp; sub sp, sp, #48; stp x29, x30, [sp, #32]; add x29, sp, #32; stur w0, [x29, #-4]; ldp x29, x30, [sp], #48
    auto states =
        follow_prologue(arm64(), words({0xd503233f, 0xd100c3ff, 0xa9027bfd, 0x910083fd, 0xb81fc3a0, 0xa8c37bfd}), 0);
    ASSERT_EQ(states.size(), 7u);
    EXPECT_EQ(states[1].stack_pointer, 0);
    EXPECT_EQ(states[4].frame_pointer, -16);
    EXPECT_TRUE(states[5].is_filled(-20, -16));
    EXPECT_EQ(states[6].stack_pointer, 0);
    EXPECT_FALSE(states[6].frame_pointer);
}

// The address of a result is passed in x8.
TEST(Prologue, RegistersKeptInTheFrame) {
    // sub sp, sp, #112; str x30, [sp, #96]; str x8, [sp]; mov w8, w0; str w8, [sp, #28]; str x0, [sp]; bl
    const std::vector<uint32_t> all = {0xd101c3ff, 0xf90033fe, 0xf90003e8, 0x2a0003e8,
                                       0xb9001fe8, 0xf90003e0, 0x94000000};
    auto after = [&](size_t count) {
        return value_of_entry(arm64(), words({all.begin(), all.begin() + static_cast<ptrdiff_t>(count)}), 8);
    };
    const std::vector<LocationOp> in_register = {{LocationOp::Register, 8}},
                                  in_frame = {{LocationOp::Register, arm64().registers().stack_pointer},
                                              {LocationOp::Constant, 0},
                                              {LocationOp::Add},
                                              {LocationOp::Deref, 8}};
    EXPECT_EQ(after(0), in_register);
    EXPECT_EQ(after(3), in_register);
    EXPECT_EQ(after(4), in_frame);
    EXPECT_EQ(after(5), in_frame);
    EXPECT_TRUE(after(6).empty());
    EXPECT_TRUE(after(7).empty());
    // mov w8, w0; str x8, [sp, #-8]
    EXPECT_TRUE(value_of_entry(arm64(), words({0x2a0003e8, 0xf81f83e8}), 8).empty());
}

TEST(WritesFirst, FindsStoresBeforeReads) {
    constexpr int rsp = 7;
    const std::string stores = code({0x48, 0x8d, 0x44, 0x24, 0xfc,         // lea -4(%rsp),%rax
                                     0xf3, 0x0f, 0x11, 0x44, 0x24, 0xfc}), // movss %xmm0,-4(%rsp)
        reads = code({0x8b, 0x44, 0x24, 0xfc}) + stores,                   // mov -4(%rsp),%eax
        calls = code({0xe8, 0, 0, 0, 0}) + stores, pushes = code({0x50}) + stores;
    const auto may_write = [](const std::string& bytes, int64_t from, int64_t to) {
        return may_write_first(x86_64(), bytes, rsp, from, to);
    };
    EXPECT_TRUE(may_write(stores, -4, 0));
    EXPECT_FALSE(may_write(stores, -8, -4));
    for (const std::string& other : {reads, calls, pushes})
        EXPECT_FALSE(may_write(other, -4, 0));
    EXPECT_TRUE(may_write(code({0xc7, 0x44, 0x24, 0xf8, 1, 0, 0, 0}), -8, -4)); // movl $1,-8(%rsp)
    const std::string loop = code({0xff, 0xc8, 0x75, 0xfc}), leaves = code({0xff, 0xc8, 0x75, 0x40}), // dec %eax; jne
        by_address = code({0xf3, 0x41, 0x0f, 0x11, 0x04, 0x24}); // movss %xmm0,(%r12)
    EXPECT_TRUE(may_write(loop + stores, -4, 0));
    EXPECT_TRUE(may_write(leaves + stores, -4, 0));
    EXPECT_FALSE(may_write(leaves + reads, -4, 0));
    EXPECT_TRUE(may_write(by_address, -4, 0));
    EXPECT_FALSE(may_write(by_address, -2, 0)); // a smaller variable
}

} // namespace
} // namespace sonde
