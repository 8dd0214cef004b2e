// Instructions of arm64 that the kernel's uprobes refuse or execute wrongly.
#include <cstring>
#include <vector>

#include <elf.h>

#include <gtest/gtest.h>

#include "arch/architecture.h"
#include "arch/arm64/hazards.h"

namespace sonde::arm64 {
namespace {

std::string bytes(const std::vector<uint32_t>& words) {
    std::string out(words.size() * sizeof(uint32_t), '\0');
    std::memcpy(out.data(), words.data(), out.size());
    return out;
}

Arm64Instruction decoded(uint32_t word) {
    const std::optional<Arm64Instruction> one = decode_arm64(bytes({word}));
    EXPECT_TRUE(one) << std::hex << word;
    return one.value_or(Arm64Instruction());
}

TEST(Arm64Hazards, Classes) {
    using enum Arm64Hazard;
    const std::pair<uint32_t, Arm64Hazard> all[] = {
        {0xa9be7bfd, None},                                                             // stp x29, x30, [sp, #-32]!
        {0xd503233f, None},                                                             // paciasp
        {0xd503245f, None},                                                             // bti c
        {0xd503201f, None},                                                             // nop
        {0xd65f03c0, None},                                                             // ret
        {0x94000000, None},                                                             // bl
        {0x90000000, None},                                                             // adrp
        {0xb4000000, None},                                                             // cbz
        {0xf9400000, None},                                                             // ldr x0, [x0]
        {0xd53bd040, None},                                                             // mrs x0, tpidr_el0
        {0xb8200020, None},                                                             // ldadd
        {0x38bfc000, None},                                                             // ldaprb
        {0x5c000040, VectorLiteral},                                                    // ldr d0, .+8
        {0x1c000040, VectorLiteral},                                                    // ldr s0
        {0x9c000040, VectorLiteral},                                                    // ldr q0
        {0x58000040, Literal},                                                          // ldr x0, .+8
        {0x98000040, Literal},                                                          // ldrsw x0, .+8
        {0xd8000040, Refused},                                                          // prfm .+8
        {0xd50323bf, Authenticated},                                                    // autiasp
        {0xd65f0bff, Authenticated},                                                    // retaa
        {0xd71f0a11, Authenticated},                                                    // braa
        {0xd63f081f, Authenticated},                                                    // blraaz
        {0xd503203f, Refused},                                                          // yield
        {0xd503205f, Refused},                                                          // wfe
        {0xd503229f, Refused},                                                          // csdb
        {0xd500401f, Refused},                                                          // cfinv
        {0xd51b4200, Refused},                                                          // msr nzcv, x0
        {0x48207c82, Refused},                                                          // casp x0, x1, x2, x3, [x4]
        {0x885f7c20, Exclusive},                                                        // ldxr
        {0x8800fc20, Exclusive},                                                        // stlxr
        {0xc87f0420, Exclusive},                                                        // ldxp
        {0x88dffc20, Ordered},                                                          // ldar
        {0x089ffc20, Ordered},                                                          // stlrb
        {0x88a07c41, CompareSwap},   {0xd4000001, SystemCall}, {0xd4200020, Interrupt}, // brk
        {0xd4400000, Interrupt},                                                        // hlt
        {0x54000010, OwnAddress},                                                       // bc.eq
        {0xdac1a3fe, OwnAddress},                                                       // paciasppc
        {0xdac103fe, None},                                                             // pacia x30, sp
        {0x19010440, CopySequence},                                                     // cpyfp
        {0xd5233060, Transaction},                                                      // tstart
    };
    for (const auto& [word, hazard] : all)
        EXPECT_EQ(static_cast<int>(hazard_of(decoded(word))), static_cast<int>(hazard)) << std::hex << word;
    EXPECT_STREQ(arm64_hazards()[static_cast<size_t>(Transaction)].name, "Transaction");
    EXPECT_EQ(static_cast<int>(Relocated), static_cast<int>(Hazard::Relocated));
}

TEST(Arm64Hazards, WhatLeavesTheState) {
    for (const uint32_t word : {0xd503201fU, 0xd503203fU, 0xd5033bbfU, 0x5c000040U, 0xd8000040U}) // nop, yield, dmb ...
        EXPECT_TRUE(leaves_state(decoded(word))) << std::hex << word;
    for (const uint32_t word :
         {0xd503233fU, 0xd50323bfU, 0x58000040U, 0xf9400000U, 0xd51b4200U}) // paciasp, autiasp ...
        EXPECT_FALSE(leaves_state(decoded(word))) << std::hex << word;
}

// The offsets, in instructions, of those between an exclusive load and its store.
std::vector<size_t> between(const std::vector<uint32_t>& words) {
    const Architecture& arm64 = *architecture_of(EM_AARCH64, false);
    const std::string code = bytes(words);
    std::vector<size_t> out;
    for (size_t i = 0; i < words.size(); i++)
        if (arm64.hazard_within(code, i * instruction_size) == static_cast<Hazard>(Arm64Hazard::BetweenExclusives))
            out.push_back(i);
    return out;
}

using Places = std::vector<size_t>;

TEST(Arm64Hazards, BetweenExclusiveLoadAndStore) {
    // ldaxr w0, [x1]; cmp w0, w2; b.ne +16; mov w5, w6; stlxr w3, w4, [x1]; cbnz w3, -20; ret
    EXPECT_EQ(between({0x885ffc20, 0x6b02001f, 0x54000081, 0x2a0603e5, 0x8803fc24, 0x35ffff63, 0xd65f03c0}),
              (Places{1, 2, 3}));
    // The store is before the load in memory: b +8; stxr w3, w4, [x1]; ldxr w0, [x1]; add w4, w0, #1; cbz w4, -12; ret
    EXPECT_EQ(between({0x14000002, 0x88037c24, 0x885f7c20, 0x11000404, 0x34ffffa4, 0xd65f03c0}), (Places{3, 4}));
    // No store, or one that clrex makes useless.
    EXPECT_EQ(between({0x885f7c20, 0x11000404, 0xd65f03c0}), Places());
    EXPECT_EQ(between({0x885f7c20, 0x11000404, 0xd503305f, 0x11000404, 0x88037c24}), Places());
    // Another function behind a return.
    EXPECT_EQ(between({0x885f7c20, 0xd65f03c0, 0x11000404, 0x88037c24}), Places());
    EXPECT_EQ(between({0xd503201f, 0xd503201f}), Places());
}

} // namespace
} // namespace sonde::arm64
