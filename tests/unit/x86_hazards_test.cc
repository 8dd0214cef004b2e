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

TEST(X86Hazards, Classes) {
    const std::pair<const char*, Hazard> all[] = {
        {"55", Hazard::None},                         // push %rbp
        {"90", Hazard::None},                         // nop
        {"c3", Hazard::None},                         // ret
        {"eb 00", Hazard::None},                      // jmp
        {"f3 0f 1e fa", Hazard::None},                // endbr64
        {"c5 f8 58 c1", Hazard::None},                // vaddps
        {"64 48 8b 04 25 28 00 00 00", Hazard::None}, // mov %fs:40, %rax
        {"f2 0f 94 c0", Hazard::None},                // setcc with a useless prefix, of a register
        {"c5 f9 eb 07", Hazard::VectorAsJump},        // vpor
        {"c5 f9 e9 c1", Hazard::VectorAsJump},        // vpsubsw
        {"c5 f9 e8 c1", Hazard::VectorAsJump},        // vpsubsb
        {"c5 f9 7e c0", Hazard::VectorAsJump},        // vmovd
        {"c4 e2 69 90 04 0f", Hazard::VectorAsJump},  // vpgatherdd
        {"62 e2 7d 28 7a c6", Hazard::VectorAsJump},  // vpbroadcastb %esi, %ymm16
        {"8f e9 78 90 c0", Hazard::VectorAsJump},     // vprotb
        {"c5 f8 57 c1", Hazard::VectorAsPush},        // vxorps
        {"c5 f8 c2 c1 01", Hazard::VectorAsReturn},   // vcmpps
        {"c4 e2 71 9d c2", Hazard::VectorAsReturn},   // vfnmadd132ss
        {"c5 f9 6e c6", Hazard::VectorRefused},       // vmovd
        {"62 f1 fd 48 6f 07", Hazard::VectorRefused}, // vmovdqa64
        {"49 90", Hazard::ExchangeAsNop},             // xchg %r8, %rax
        {"f3 41 90", Hazard::ExchangeAsNop},
        {"f3 90", Hazard::Pause},
        {"0f a2", Hazard::ProcessorInfo},
        {"66 50", Hazard::ShortPush},
        {"66 ff 36", Hazard::ShortPush},
        {"9c", Hazard::PushFlags},
        {"0f 1f 44 00 00", Hazard::RedZoneNop},
        {"66 66 66 66 90", Hazard::RedZoneNop},
        {"66 2e 0f 1f 84 00 00 00 00 00", Hazard::LongNop},
        {"0f 1f 40 00", Hazard::None},
        {"f3 a4", Hazard::Repeated},
        {"f2 ae", Hazard::Repeated},
        {"a4", Hazard::None},
        {"0f 05", Hazard::SystemCall},
        {"0f 34", Hazard::SystemCall},
        {"cd 80", Hazard::SystemCall},
        {"cd 03", Hazard::Interrupt},
        {"cc", Hazard::Interrupt},
        {"c7 f8 00 00 00 00", Hazard::Transaction},         // xbegin
        {"c7 c0 00 00 00 00", Hazard::None},                // mov $0, %eax
        {"0f 00 c8", Hazard::DescriptorTable},              // str
        {"0f 01 e0", Hazard::DescriptorTable},              // smsw
        {"0f 01 d0", Hazard::None},                         // xgetbv
        {"f2 0f 42 05 00 00 00 00", Hazard::UnknownPrefix}, // cmovb, relative to rip
        {"f0 48 01 07", Hazard::Refused},                   // lock add
        {"2e 8b 07", Hazard::Refused},                      // mov %cs:(%rdi), %eax
        {"f4", Hazard::Refused},                            // hlt
        {"66 4f 0f 80 00 00 00 00", Hazard::Refused},       // jo with 0x66, which REX.W overrides
    };
    for (const auto& [text, hazard] : all)
        EXPECT_EQ(static_cast<int>(hazard_of(decoded(text))), static_cast<int>(hazard)) << text;
    // In 32-bit programs, the same bytes are other instructions.
    EXPECT_EQ(static_cast<int>(hazard_of(decoded("c5 f9 eb c1", X86Mode::Protected))),
              static_cast<int>(Hazard::VectorAsJump));
    EXPECT_EQ(static_cast<int>(hazard_of(decoded("41", X86Mode::Protected))), static_cast<int>(Hazard::None));
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
