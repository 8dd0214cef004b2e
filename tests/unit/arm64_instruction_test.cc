// Instructions of arm64, in the terms of arch/instruction.h.
#include "arch/architecture.h"

#include <elf.h>

#include <cstring>

#include <gtest/gtest.h>

namespace sonde {
namespace {

const Architecture& arm64() { return *architecture_of(EM_AARCH64, false); }

std::string bytes(uint32_t word) {
    std::string out(sizeof word, '\0');
    std::memcpy(out.data(), &word, sizeof word);
    return out;
}

AnalyzedInstruction analyzed(uint32_t word) {
    const std::optional<AnalyzedInstruction> one = arm64().analyze(bytes(word));
    EXPECT_TRUE(one) << std::hex << word;
    return one.value_or(AnalyzedInstruction());
}
Instruction decoded(uint32_t word) { return analyzed(word).instruction; }
Effect effect(uint32_t word) { return analyzed(word).effect; }

constexpr int lr = 30, sp = 31;

TEST(Arm64Instruction, Flow) {
    const std::pair<uint32_t, Flow> all[] = {
        {0xd503201f, Flow::Next},            // nop
        {0x14000000, Flow::Jump},            // b
        {0x5400000e, Flow::Jump},            // b.al
        {0x54000000, Flow::ConditionalJump}, // b.eq
        {0x54000010, Flow::ConditionalJump}, // bc.eq
        {0xb4000000, Flow::ConditionalJump}, // cbz x0
        {0x37180000, Flow::ConditionalJump}, // tbnz w0, #3
        {0x3400001f, Flow::Jump},            // cbz wzr
        {0x3500001f, Flow::Next},            // cbnz wzr
        {0xd61f0200, Flow::IndirectJump},    // br x16
        {0xd71f0a11, Flow::IndirectJump},    // braa x16, x17
        {0x94000000, Flow::Call},            // bl
        {0xd63f0000, Flow::IndirectCall},    // blr x0
        {0xd63f081f, Flow::IndirectCall},    // blraaz x0
        {0xd65f03c0, Flow::Return},          // ret
        {0xd65f0360, Flow::IndirectJump},    // ret x27
        {0xd65f0bff, Flow::Return},          // retaa
        {0xd4200020, Flow::Stop},            // brk #1
        {0x00000000, Flow::Stop},            // udf #0
        {0xd4000001, Flow::Next},            // svc #0
    };
    for (const auto& [word, flow] : all)
        EXPECT_EQ(static_cast<int>(decoded(word).flow), static_cast<int>(flow)) << std::hex << word;
    EXPECT_EQ(decoded(0x17ffffff).target(0x1004), 0xffcu); // b .-4
    EXPECT_EQ(decoded(0x54000040).target(0x1004), 0x1008u);
    EXPECT_EQ(decoded(0x36080040).target(0x1004), 0x1008u); // tbz w0, #1, .+8
    EXPECT_EQ(decoded(0xd61f0200).from, 16);
    EXPECT_FALSE(decoded(0x94000000).moves_stack);
}

TEST(Arm64Instruction, ConditionsTestFlagsOrRegisters) {
    const auto of = [](uint32_t word) { return arm64().registers().conditions[decoded(word).condition / 2U]; };
    constexpr uint64_t negative = 1U << 31, zero = 1U << 30, carry = 1U << 29, overflow = 1U << 28;
    EXPECT_EQ(of(0x54000000).any_set, zero);     // b.eq
    EXPECT_EQ(of(0x54000003).any_set, carry);    // b.lo
    EXPECT_EQ(decoded(0x54000003).condition, 3); // ... which is the opposite of b.hs
    const FlagsCondition higher = of(0x54000008);
    EXPECT_EQ(higher.any_set, zero);
    EXPECT_EQ(higher.any_clear, carry);
    EXPECT_TRUE(higher.opposite);
    EXPECT_EQ(of(0x5400000b).differ[0], negative); // b.lt
    EXPECT_EQ(of(0x5400000b).differ[1], overflow);
    const auto test = [](uint32_t word) { return register_test(decoded(word).condition); };
    EXPECT_EQ(test(0xb4000013).number, 19); // cbz x19
    EXPECT_EQ(test(0xb4000013).mask, ~uint64_t{0});
    EXPECT_EQ(test(0x34000013).mask, 0xffffffffu);       // cbz w19
    EXPECT_EQ(test(0xb7f80000).mask, uint64_t{1} << 63); // tbnz x0, #63
    EXPECT_EQ(decoded(0xb5000013).condition % 2, 1);     // cbnz
    EXPECT_GE(decoded(0x34000000).condition, first_register_condition);
}

TEST(Arm64Instruction, Operations) {
    const Instruction compare = decoded(0xeb01001f); // cmp x0, x1
    EXPECT_EQ(compare.operation, Operation::Compare);
    EXPECT_EQ(compare.to, 0);
    EXPECT_EQ(compare.from, 1);
    const Instruction limit = decoded(0x7100141f); // cmp w0, #5
    EXPECT_EQ(limit.operation, Operation::WithConstant);
    EXPECT_EQ(limit.immediate, 5);
    const Instruction add = decoded(0x8b20c822); // add x2, x1, w0, sxtw #2
    EXPECT_EQ(add.operation, Operation::Add);
    EXPECT_EQ(add.to, 2);
    EXPECT_EQ(add.from, 0);
    const Instruction low = decoded(0x91010000); // add x0, x0, #64
    EXPECT_EQ(low.operation, Operation::Address);
    EXPECT_EQ(low.memory.base, 0);
    EXPECT_EQ(low.memory.displacement, 64);
    const Instruction move = decoded(0xaa0003f3); // mov x19, x0
    EXPECT_EQ(move.operation, Operation::Load);
    EXPECT_EQ(move.from, 0);
    EXPECT_EQ(move.to, 19);
    EXPECT_TRUE(move.is_move);
    EXPECT_EQ(decoded(0x528000a0).immediate, 5);                  // mov w0, #5
    EXPECT_EQ(decoded(0x12800000).immediate, 0xffffffff);         // mov w0, #-1
    EXPECT_EQ(decoded(0x92800000).immediate, -1);                 // mov x0, #-1
    EXPECT_EQ(decoded(0xb200f3e0).immediate, 0x5555555555555555); // mov x0, #0x5555555555555555
    EXPECT_EQ(decoded(0x52a00020).immediate, 0x10000);
    EXPECT_EQ(decoded(0xb900001f).operation, Operation::Constant);      // str wzr, [x0]
    for (const uint32_t word : {0xd503201fU, 0xd503245fU, 0xd50324dfU}) // nop, bti c, bti jc
        EXPECT_EQ(decoded(word).operation, Operation::Nothing) << std::hex << word;
    EXPECT_EQ(decoded(0xd503233f).operation, Operation::Other); // paciasp changes x30
}

TEST(Arm64Instruction, MemoryOperands) {
    const Instruction address = decoded(0x10000080); // adr x0, .+16
    EXPECT_EQ(address.operation, Operation::Address);
    EXPECT_EQ(address.memory.address(0x1004), 0x1010u);
    const Instruction page = decoded(0xb0000000); // adrp x0, 1 page on
    EXPECT_EQ(page.memory.address(0x1ffc + 4), 0x2000u);
    EXPECT_EQ(page.memory.address(0x1000 + 4), 0x2000u);
    const Instruction literal = decoded(0x58000040); // ldr x0, .+8
    EXPECT_TRUE(literal.memory.is_fixed);
    EXPECT_EQ(literal.memory.address(0x1004), 0x1008u);
    EXPECT_EQ(literal.operation, Operation::Load);
    const Instruction before = decoded(0xf81f0fe0),
                      behind = decoded(0xf84107e0); // str x0, [sp, #-16]!; ldr x0, [sp], #16
    EXPECT_EQ(before.memory.base, sp);
    EXPECT_EQ(before.memory.displacement, -16);
    EXPECT_TRUE(before.moves_stack);
    EXPECT_TRUE(before.memory.is_written);
    EXPECT_EQ(behind.memory.displacement, 0);
    EXPECT_TRUE(behind.moves_stack);
    EXPECT_FALSE(behind.memory.is_written);
    EXPECT_EQ(decoded(0xf9400420).memory.displacement, 8);  // ldr x0, [x1, #8]
    EXPECT_EQ(decoded(0x79400420).memory.displacement, 2);  // ldrh w0, [x1, #2]
    EXPECT_EQ(decoded(0x3dc00420).memory.displacement, 16); // ldr q0, [x1, #16]
    EXPECT_EQ(decoded(0xf85f8020).memory.displacement, -8); // ldur x0, [x1, #-8]
    EXPECT_TRUE(decoded(0xf8627820).memory.has_index);      // ldr x0, [x1, x2, lsl #3]
    EXPECT_TRUE(decoded(0xd10083ff).moves_stack);           // sub sp, sp, #32
    EXPECT_TRUE(decoded(0x927cec1f).moves_stack);           // and sp, x0, #-16
    EXPECT_FALSE(decoded(0xeb3f63ff).moves_stack);          // cmp sp, sp
    EXPECT_TRUE(decoded(0xb8200020).memory.is_written);     // ldadd w0, w0, [x1]
}

TEST(Arm64Effect, OfPrologues) {
    const Effect pair = effect(0xa9be7bfd); // stp x29, x30, [sp, #-32]!
    EXPECT_EQ(pair.kind, Effect::StorePair);
    EXPECT_EQ(pair.from, 29);
    EXPECT_EQ(pair.second, lr);
    EXPECT_EQ(pair.size, 8u);
    EXPECT_EQ(pair.then_moves_stack, -32);
    EXPECT_EQ(pair.changes, 0u);
    const Effect vectors = effect(0x6d0123e9); // stp d9, d8, [sp, #16]
    EXPECT_TRUE(vectors.from_vector);
    EXPECT_EQ(vectors.from, 9);
    EXPECT_EQ(vectors.second, 8);
    const Effect half = effect(0xa9007fe0); // stp x0, xzr, [sp]
    EXPECT_EQ(half.from, 0);
    EXPECT_EQ(half.second, -1);
    const Effect frame = effect(0x910043fd); // add x29, sp, #16
    EXPECT_EQ(frame.kind, Effect::Copy);
    EXPECT_EQ(frame.from, sp);
    EXPECT_EQ(frame.to, 29);
    EXPECT_EQ(frame.added, 16);
    EXPECT_TRUE(frame.whole);
    EXPECT_EQ(effect(0xd10083ff).kind, Effect::MoveStack); // sub sp, sp, #32
    EXPECT_EQ(effect(0xd10083ff).distance, -32);
    EXPECT_EQ(effect(0xd14007ff).distance, -4096);   // sub sp, sp, #1, lsl #12
    EXPECT_EQ(effect(0xcb2963ff).changes, 1u << sp); // sub sp, sp, x9
    const Effect load = effect(0xa8c27bfd);          // ldp x29, x30, [sp], #32
    EXPECT_EQ(load.kind, Effect::Change);
    EXPECT_EQ(load.changes, 1u << 29 | 1u << lr);
    EXPECT_EQ(load.then_moves_stack, 32);
    EXPECT_EQ(effect(0x2a0003f3).kind, Effect::Copy); // mov w19, w0
    EXPECT_FALSE(effect(0x2a0003f3).whole);
    EXPECT_EQ(effect(0x93407c13).kind, Effect::Copy);  // sxtw x19, w0
    EXPECT_EQ(effect(0xb900001f).from, -1);            // str wzr, [x0]
    EXPECT_EQ(effect(0xeb01001f).kind, Effect::None);  // cmp x0, x1
    EXPECT_EQ(effect(0xd503245f).kind, Effect::None);  // bti c
    EXPECT_EQ(effect(0xd503233f).changes, 1u << lr);   // paciasp
    EXPECT_EQ(effect(0xf8008420).changes, 1u << 1);    // str x0, [x1], #8
    EXPECT_EQ(effect(0x1e602020).kind, Effect::None);  // fcmp d1, d0
    EXPECT_EQ(effect(0x4e080c00).changes_vectors, 1u); // dup v0.2d, x0
    EXPECT_EQ(effect(0x4e083c00).changes, 1u);         // mov x0, v0.d[0]
    EXPECT_EQ(effect(0x9e660000).changes, 1u);         // fmov x0, d0
    EXPECT_EQ(effect(0x9e670000).changes_vectors, 1u); // fmov d0, x0
    EXPECT_EQ(effect(0xc8007c22).changes, 1u);         // stxr w0, x2, [x1]
    EXPECT_EQ(effect(0x04bf5000).changes, ~0u);        // rdvl: of scalable vectors, everything may change
}

TEST(Arm64Instruction, UseOfResult) {
    struct Row {
        uint32_t word;
        ResultUse x0, x1;
    };
    using enum ResultUse;
    const Row all[] = {
        {0x52800000, Write, None},                                                      // mov w0, #0
        {0x7100001f, Read, None},                                                       // cmp w0, #0
        {0x34000040, Read, None},                                                       // cbz w0
        {0x37000040, Read, None},                                                       // tbnz w0, #0
        {0xaa0003f3, Read, None},                                                       // mov x19, x0
        {0xaa0103e0, Write, Read},                                                      // mov x0, x1
        {0xf2a00020, Read, None},                                                       // movk x0, #1, lsl #16
        {0xa90007e0, Read, Read},                                                       // stp x0, x1, [sp]
        {0xa94007e0, Write, Write}, {0xf9400000, Read, None},                           // ldr x0, [x0]
        {0xf9400020, Write, Read},                                                      // ldr x0, [x1]
        {0xb3401c20, Read, Read},                                                       // bfxil x0, x1, #0, #8
        {0x9a810000, Read, Read},                                                       // csel x0, x0, x1, eq
        {0x1a9f17e0, Write, None},                                                      // cset w0, eq
        {0x9e660000, Write, None},                                                      // fmov x0, d0
        {0x9e670000, Read, None},                                                       // fmov d0, x0
        {0x94000000, End, End},     {0x14000000, End, End},    {0xd63f0000, Read, End}, // blr x0
        {0xd65f03c0, End, End},     {0xd4000001, End, End},                             // svc
        {0xd503201f, None, None},   {0xd53bd040, Write, None},                          // mrs x0, tpidr_el0
        {0xf8200021, Read, Read},                                                       // ldadd x0, x1, [x1]
        {0x88a07c41, Read, Read},                                                       // cas w0, w1, [x2]
        {0x04bf5000, End, End},                                                         // rdvl x0
        {0x1e602020, None, None},                                                       // fcmp
        {0x9b017c00, Read, Read},                                                       // mul x0, x0, x1
    };
    for (const Row& row : all) {
        EXPECT_EQ(static_cast<int>(analyzed(row.word).result_use), static_cast<int>(row.x0)) << std::hex << row.word;
        EXPECT_EQ(static_cast<int>(arm64().use_of_second_result(bytes(row.word))), static_cast<int>(row.x1))
            << std::hex << row.word;
    }
}

TEST(Arm64Instruction, UncommonOnesAndFilling) {
    for (const uint32_t word : {0x00000000U, 0xd4000002U, 0xd69f03e0U, 0xd5181000U}) // udf; hvc; eret; msr sctlr_el1
        EXPECT_TRUE(decoded(word).is_uncommon) << std::hex << word;
    for (const uint32_t word : {0xd503201fU, 0xd4200020U, 0xd53bd040U, 0xd5380000U, 0xd50b7520U}) // ... ic ivau
        EXPECT_FALSE(decoded(word).is_uncommon) << std::hex << word;
    for (const uint32_t word : {0xd503201fU, 0x00000000U, 0xd4207d00U}) // nop, udf, brk #1000
        EXPECT_TRUE(decoded(word).is_filling) << std::hex << word;
    EXPECT_FALSE(decoded(0xd503245f).is_filling);
    EXPECT_TRUE(decoded(0x4ea18400).is_packed);  // add v0.4s, v0.4s, v1.4s
    EXPECT_FALSE(decoded(0x4ea11c20).is_packed); // mov v0.16b, v1.16b
    EXPECT_TRUE(decoded(0x4ea11c20).is_move);
    EXPECT_FALSE(decoded(0x1e612800).is_packed);                     // fadd d0, d0, d1
    EXPECT_EQ(decoded(0x8b010000).shape, decoded(0x8b030042).shape); // add of other registers
    EXPECT_NE(decoded(0x8b010000).shape, decoded(0xcb010000).shape); // sub
    EXPECT_NE(decoded(0x8b010000).shape, 0u);
}

TEST(Arm64Instruction, WordsThatAreNone) {
    // Text, a pointer's halves, constants for registers of 64 bits, and unallocated ones.
    for (const uint32_t word : {0x62626262U, 0x63202a20U, 0x00007fffU << 4, 0x12400000U, 0x5280ffffU | 1U << 22})
        EXPECT_FALSE(arm64().decode(bytes(word))) << std::hex << word;
    for (const std::string& code : {std::string(), std::string("\x1f\x20\x03", 3)}) {
        EXPECT_FALSE(arm64().decode(code));
        EXPECT_FALSE(arm64().analyze(code));
        EXPECT_FALSE(arm64().leaves_state(code));
        EXPECT_EQ(arm64().hazard(code), Hazard::Unknown);
    }
}

TEST(Arm64Architecture, FindsBranches) {
    std::string code;
    for (const uint32_t word : {0xd503201fU, 0x94000001U, 0x54000040U, 0x17ffffffU, 0xf9400000U, 0xb4000020U})
        code += bytes(word);
    std::vector<PossibleBranch> found;
    arm64().find_branches(code, [&](const PossibleBranch& one) { found.push_back(one); });
    ASSERT_EQ(found.size(), 4u);
    EXPECT_TRUE(found[0].is_call);
    EXPECT_EQ(found[0].end, 8u);
    EXPECT_EQ(found[0].distance, 0);
    EXPECT_FALSE(found[2].is_call);
    EXPECT_EQ(found[2].distance, -8);
}

TEST(Arm64Architecture, KnowsTheBreakpointOfUprobes) {
    EXPECT_EQ(arm64().uprobe_breakpoint(), bytes(0xd42000a0)); // brk #5
    EXPECT_EQ(decoded(0xd42000a0).flow, Flow::Stop);
}

TEST(Arm64Architecture, KnowsWhatKernelsEmulate) {
    for (const uint32_t word :
         {0xd503201fU, 0xd503245fU, 0xd503233fU, 0x94000000U, 0xb4000000U, 0xd65f03c0U, 0x90000000U})
        EXPECT_FALSE(arm64().is_single_stepped(bytes(word))) << std::hex << word;
    for (const uint32_t word : {0xa9be7bfdU, 0xd65f0bffU, 0xf9400000U})
        EXPECT_TRUE(arm64().is_single_stepped(bytes(word))) << std::hex << word;
}

TEST(Arm64Architecture, EncodingsDifferInMoreThanOperands) {
    const auto of = [](uint32_t word) { return arm64().encoding(bytes(word)); };
    EXPECT_EQ(of(0xf9400000), of(0xf9400421));
    EXPECT_NE(of(0xf9400000), of(0xf9000000));
    EXPECT_NE(of(0xd503201f), of(0xd503233f)); // hints
    EXPECT_EQ(of(0xffffffff), 0u);
}

} // namespace
} // namespace sonde
