// Instructions that the kernel's uprobes may execute wrongly, and those among them that do not change what a handler
// can read.
#include <gtest/gtest.h>

#include "arch/x86_64/hazards.h"

namespace sonde {
namespace {

// Decodes hexadecimal digits, separated by spaces.
X86Instruction decoded(std::string_view text, X86Mode mode = X86Mode::Long) {
    std::string bytes;
    for (size_t i = 0; i + 1 < text.size(); i += 3)
        bytes += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
    std::optional<X86Instruction> one = decode_x86(bytes, mode);
    EXPECT_TRUE(one) << text;
    return one.value_or(X86Instruction());
}

// Only the folder of an architecture has names for its own classes; all other code knows them by number.
TEST(X86Hazards, FactsByNumber) {
    EXPECT_STREQ(x86_hazards()[static_cast<size_t>(X86Hazard::LongNop)].name, "LongNop");
    EXPECT_STREQ(x86_hazards()[static_cast<size_t>(Hazard::Relocated)].name, "Relocated");
    EXPECT_EQ(static_cast<int>(X86Hazard::Relocated), static_cast<int>(Hazard::Relocated));
    EXPECT_EQ(static_cast<int>(Hazard::None), 0);
}

TEST(X86Hazards, Classes) {
    const std::pair<const char*, X86Hazard> all[] = {
        {"55", X86Hazard::None},                         // push %rbp
        {"90", X86Hazard::None},                         // nop
        {"c3", X86Hazard::None},                         // ret
        {"eb 00", X86Hazard::None},                      // jmp
        {"f3 0f 1e fa", X86Hazard::None},                // endbr64
        {"c5 f8 58 c1", X86Hazard::None},                // vaddps
        {"64 48 8b 04 25 28 00 00 00", X86Hazard::None}, // mov %fs:40, %rax
        {"f2 0f 94 c0", X86Hazard::None},                // setcc with a useless prefix, of a register
        {"c5 f9 eb 07", X86Hazard::VectorAsJump},        // vpor
        {"c5 f9 e9 c1", X86Hazard::VectorAsJump},        // vpsubsw
        {"c5 f9 e8 c1", X86Hazard::VectorAsJump},        // vpsubsb
        {"c5 f9 7e c0", X86Hazard::VectorAsJump},        // vmovd
        {"c4 e2 69 90 04 0f", X86Hazard::VectorAsJump},  // vpgatherdd
        {"62 e2 7d 28 7a c6", X86Hazard::VectorAsJump},  // vpbroadcastb %esi, %ymm16
        {"8f e9 78 90 c0", X86Hazard::VectorAsJump},     // vprotb
        {"c5 f8 57 c1", X86Hazard::VectorAsPush},        // vxorps
        {"c5 f8 c2 c1 01", X86Hazard::VectorAsReturn},   // vcmpps
        {"c4 e2 71 9d c2", X86Hazard::VectorAsReturn},   // vfnmadd132ss
        {"c5 f9 6e c6", X86Hazard::VectorRefused},       // vmovd
        {"62 f1 fd 48 6f 07", X86Hazard::VectorRefused}, // vmovdqa64
        {"49 90", X86Hazard::ExchangeAsNop},             // xchg %r8, %rax
        {"f3 41 90", X86Hazard::ExchangeAsNop},
        {"f3 90", X86Hazard::Pause},
        {"0f a2", X86Hazard::ProcessorInfo}, // cpuid
        {"66 50", X86Hazard::ShortPush},
        {"66 ff 36", X86Hazard::ShortPush},
        {"9c", X86Hazard::PushFlags},
        {"0f 1f 44 00 00", X86Hazard::RedZoneNop},
        {"66 66 66 66 90", X86Hazard::RedZoneNop},
        {"66 2e 0f 1f 84 00 00 00 00 00", X86Hazard::LongNop},
        {"0f 1f 40 00", X86Hazard::None},
        {"f3 a4", X86Hazard::Repeated},
        {"f2 ae", X86Hazard::Repeated},
        {"a4", X86Hazard::None},
        {"0f 05", X86Hazard::SystemCall},
        {"0f 34", X86Hazard::SystemCall},
        {"cd 80", X86Hazard::SystemCall},
        {"cd 03", X86Hazard::Interrupt},
        {"cc", X86Hazard::Interrupt},
        {"c7 f8 00 00 00 00", X86Hazard::Transaction},         // xbegin
        {"c7 c0 00 00 00 00", X86Hazard::None},                // mov $0, %eax
        {"0f 00 c8", X86Hazard::DescriptorTable},              // str
        {"0f 01 e0", X86Hazard::DescriptorTable},              // smsw
        {"0f 01 d0", X86Hazard::None},                         // xgetbv
        {"0f 01 c1", X86Hazard::Hypercall},                    // vmcall
        {"0f 01 d9", X86Hazard::Hypercall},                    // vmmcall
        {"f2 0f 42 05 00 00 00 00", X86Hazard::UnknownPrefix}, // cmovb, relative to rip
        {"f0 48 01 07", X86Hazard::Refused},                   // lock add
        {"2e 8b 07", X86Hazard::Refused},                      // mov %cs:(%rdi), %eax
        {"f4", X86Hazard::Refused},                            // hlt
        {"66 4f 0f 80 00 00 00 00", X86Hazard::Refused},       // jo with 0x66, which REX.W overrides
    };
    for (const auto& [text, hazard] : all)
        EXPECT_EQ(static_cast<int>(hazard_of(decoded(text))), static_cast<int>(hazard)) << text;
    // In 32-bit programs, the same bytes are other instructions.
    EXPECT_EQ(static_cast<int>(hazard_of(decoded("c5 f9 eb c1", X86Mode::Protected))),
              static_cast<int>(X86Hazard::VectorAsJump));
    EXPECT_EQ(static_cast<int>(hazard_of(decoded("41", X86Mode::Protected))), static_cast<int>(X86Hazard::None));
    EXPECT_EQ(decoded("c5 07", X86Mode::Protected).length, 2U); // lds
}

TEST(X86Hazards, WhatLeavesTheState) {
    for (const char* same : {"0f 1f 44 00 00", "c5 f9 eb 07", "c5 f9 74 c1", "c5 fa 7e c1", "62 e2 7d 28 7a c6",
                             "c5 f8 c2 c1 01", "c5 f9 6e c6"})
        EXPECT_TRUE(leaves_state(decoded(same))) << same;
    // vmovd and vmovmskps to a register, stores, comparisons that set the flags, cmpccxadd, and safe instructions.
    for (const char* other : {"c5 f9 7e c0", "c5 f8 50 c1", "c5 f9 7f 07", "c5 f9 e7 07", "c4 e2 79 17 c1",
                              "c5 f8 2f c1", "c4 e2 71 e8 07", "49 90", "55", "9c", "c4 e3 79 16 c0 01"})
        EXPECT_FALSE(leaves_state(decoded(other))) << other;
}

} // namespace
} // namespace sonde
