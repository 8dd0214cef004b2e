// Arguments of static marks, in assembler syntax.
#include <elf.h>

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "frontend/machine/usdt.h"

namespace sonde {
namespace {

std::string describe(const char* text, const Architecture& architecture = *architecture_of(EM_X86_64, false)) {
    const auto symbol = [](std::string_view name) {
        return name == "counter" ? std::optional<uint64_t>(0x4010) : std::nullopt;
    };
    UsdtArgument argument = parse_usdt_argument(text, 0x1000, symbol, architecture);
    std::string out = fmt::format("{}{}", argument.is_signed ? "s" : "u", argument.size);
    const Location& location = argument.location;
    switch (location.kind) {
    case Location::Register:
        return fmt::format("{} reg {}", out, location.reg);
    case Location::Memory:
        out += " memory";
        break;
    case Location::Value:
        out += " value";
        break;
    default:
        return out + " " + location.why;
    }
    for (const LocationOp& op : location.ops)
        out += op.code == LocationOp::Register   ? fmt::format(" r{}", op.operand)
               : op.code == LocationOp::Constant ? fmt::format(" {}", op.operand)
               : op.code == LocationOp::Add      ? " +"
               : op.code == LocationOp::Mul      ? " *"
               : op.code == LocationOp::Shr      ? " >>"
               : op.code == LocationOp::Sar      ? " >>>"
               : op.code == LocationOp::Shl      ? " <<"
                                                 : " ?";
    return out;
}

TEST(Usdt, Operands) {
    EXPECT_EQ(describe("8@%rdi"), "u8 reg 5");
    EXPECT_EQ(describe("-4@%r13d"), "s4 reg 13");
    EXPECT_EQ(describe("1@%al"), "u1 reg 0");
    EXPECT_EQ(describe("1@%bh"), "u1 value r3 8 >>");
    EXPECT_EQ(describe("-4@$-7"), "s4 value -7");
    EXPECT_EQ(describe("8@$0xff"), "u8 value 255");
    EXPECT_EQ(describe("-4@-20(%rbp)"), "s4 memory -20 r6 +");
    EXPECT_EQ(describe("8@(%rax)"), "u8 memory 0 r0 +");
    EXPECT_EQ(describe("2@8(%rax,%rcx,4)"), "u2 memory 8 r0 + r2 4 * +");
    EXPECT_EQ(describe("8@(,%r9,8)"), "u8 memory 0 r9 8 * +");
    EXPECT_EQ(describe("8@counter(%rip)"), "u8 memory r16 12304 +");
    EXPECT_EQ(describe("8@counter+16(%rip)"), "u8 memory r16 12320 +");
    EXPECT_EQ(describe("8@counter"), "u8 memory r16 12304 +");
    // Sums that compilers leave to the assembler.
    EXPECT_EQ(describe("8@16+8(%r8)"), "u8 memory 24 r8 +");
    EXPECT_EQ(describe("8@-4+20-1(%r8)"), "u8 memory 15 r8 +");
    EXPECT_EQ(describe("8@8+8(%rax,%rcx,4)"), "u8 memory 16 r0 + r2 4 * +");
    EXPECT_EQ(describe("8@8+counter-16(%rip)"), "u8 memory r16 12296 +");
}

TEST(Usdt, WhatCannotBeRead) {
    EXPECT_EQ(describe("8f@%xmm0"), "u8 is in the register xmm0, which a probe cannot read");
    EXPECT_EQ(describe("8@gone(%rip)"), "u8 is at the symbol `gone`, which the file does not have");
    for (const char* text :
         {"", "8", "8@", "@%rax", "3@%rax", "8@(%rax", "8@8(%nosuch)", "8@$x", "8@(%eax)", "8@(%rax,%rbx,x)",
          "8@1+(%rax)", "8@counter+counter(%rip)", "8@(%rax,%rbx,2,3)", "99999999999999999999@%rax"})
        EXPECT_NE(describe(text).find("that a probe cannot read"), std::string::npos) << text << ": " << describe(text);
}

std::string describe_arm64(const char* text) { return describe(text, *architecture_of(EM_AARCH64, false)); }

TEST(Usdt, Arm64Operands) {
    EXPECT_EQ(describe_arm64("8@x0"), "u8 reg 0");
    EXPECT_EQ(describe_arm64("-8@x30"), "s8 reg 30");
    EXPECT_EQ(describe_arm64("4@w1"), "u4 reg 1");
    EXPECT_EQ(describe_arm64("8@sp"), "u8 reg 31");
    EXPECT_EQ(describe_arm64("4f@x10"), "u4 reg 10");
    EXPECT_EQ(describe_arm64("-4@5"), "s4 value 5");
    EXPECT_EQ(describe_arm64("-4@-1"), "s4 value -1");
    EXPECT_EQ(describe_arm64("8@#0xff"), "u8 value 255");
    EXPECT_EQ(describe_arm64("8@xzr"), "u8 value 0");
    EXPECT_EQ(describe_arm64("4@wzr"), "u4 value 0");
    EXPECT_EQ(describe_arm64("8@[sp]"), "u8 memory 0 r31 +");
    EXPECT_EQ(describe_arm64("-8@[sp, 72]"), "s8 memory 72 r31 +");
    EXPECT_EQ(describe_arm64("-4@[x6,12]"), "s4 memory 12 r6 +");
    EXPECT_EQ(describe_arm64("-4@[x29, #-16]"), "s4 memory -16 r29 +");
    EXPECT_EQ(describe_arm64("8@[x0, x1]"), "u8 memory 0 r0 + r1 +");
    EXPECT_EQ(describe_arm64("8@[x0, x1, lsl 3]"), "u8 memory 0 r0 + r1 8 * +");
    EXPECT_EQ(describe_arm64("4@[x0, w1, sxtw 2]"), "u4 memory 0 r0 + r1 32 << 32 >>> 4 * +");
    EXPECT_EQ(describe_arm64("1@[x0, w1, uxtw]"), "u1 memory 0 r0 + r1 32 << 32 >> +");
    EXPECT_EQ(describe_arm64("-2@[x0, #:lo12:counter]"), "s2 memory 16 r0 +"); // counter is at 0x4010
    EXPECT_EQ(describe_arm64("-2@[x0, #:lo12:counter+8]"), "s2 memory 24 r0 +");
}

TEST(Usdt, Arm64WhatCannotBeRead) {
    EXPECT_EQ(describe_arm64("8f@d0"), "u8 is in the register d0, which a probe cannot read");
    EXPECT_EQ(describe_arm64("4f@s31"), "u4 is in the register s31, which a probe cannot read");
    EXPECT_EQ(describe_arm64("-2@[x0, #:lo12:.LANCHOR0]"),
              "s2 is at the symbol `.LANCHOR0`, which the file does not have");
    for (const char* text : {"",
                             "8@",
                             "8@x31",
                             "8@w32",
                             "8@d32",
                             "8@d-1",
                             "8@dx",
                             "8@[x0",
                             "8@[w0]",
                             "8@[x0, w1]",
                             "8@[x0, sp]",
                             "8@[]",
                             "8@[x0, x1, lsl 5]",
                             "8@[x0, x1, lsl]x",
                             "8@[x0, x1, ror 1]",
                             "8@[x0, 8, lsl 3]",
                             "8@[x0, x1, lsl 3, 4]",
                             "8@[x0, 8]!",
                             "8@[x0], 8",
                             "8@[x0, #:got_lo12:counter]",
                             "8@[d0]",
                             "8@5x",
                             "8@counter",
                             "8@%rax"})
        EXPECT_NE(describe_arm64(text).find("that a probe cannot read"), std::string::npos)
            << text << ": " << describe_arm64(text);
}

} // namespace
} // namespace sonde
