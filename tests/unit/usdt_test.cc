// Arguments of static marks, in assembler syntax.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "frontend/machine/usdt.h"

namespace sonde {
namespace {

std::string describe(const char* text) {
    const auto symbol = [](std::string_view name) {
        return name == "counter" ? std::optional<uint64_t>(0x4010) : std::nullopt;
    };
    UsdtArgument argument = parse_usdt_argument(text, 0x1000, symbol, host_architecture());
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

} // namespace
} // namespace sonde
