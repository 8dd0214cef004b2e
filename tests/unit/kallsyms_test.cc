// The kernel's list of symbols, and lines that are invalid.
#include "base/kallsyms.h"

#include <gtest/gtest.h>

#include <vector>

namespace sonde {
namespace {

std::vector<std::string> names(std::string_view list) {
    std::vector<std::string> out;
    while (std::optional<KernelSymbol> symbol = next_symbol(list))
        out.push_back(std::string(symbol->name) + "@" + std::string(symbol->module));
    return out;
}

TEST(Kallsyms, Lines) {
    std::string_view list =
        "ffffffff81000000 T _stext\n0000000000001000 d per_cpu\nffffffffc0001000 t lo_open\t[loop]\n";
    std::optional<KernelSymbol> first = next_symbol(list), second = next_symbol(list), third = next_symbol(list);
    ASSERT_TRUE(first && second && third);
    EXPECT_EQ(first->address, 0xffffffff81000000u);
    EXPECT_TRUE(first->is_function() && first->is_global() && !first->is_variable());
    EXPECT_TRUE(second->is_variable() && !second->is_function() && !second->is_global());
    EXPECT_EQ(third->name, "lo_open");
    EXPECT_EQ(third->module, "loop");
    EXPECT_FALSE(next_symbol(list));
}

TEST(Kallsyms, Kinds) {
    auto symbol = [](char letter) {
        KernelSymbol out;
        out.letter = letter;
        return out;
    };
    for (char letter : std::string("aAbBdDgGrRsSuvV"))
        EXPECT_TRUE(symbol(letter).is_variable()) << letter;
    for (char letter : std::string("tTwW"))
        EXPECT_TRUE(symbol(letter).is_function() && !symbol(letter).is_variable()) << letter;
}

TEST(Kallsyms, VariablesOfASectionThatCountsAsCode) {
    std::string_view list =
        "1000 T _stext\n2000 T _etext\n3000 T _sdata\n3010 T jiffies\n4000 T _edata\n9000 t _sdata\t[m]\n";
    const KernelData data = find_kernel_data(list);
    EXPECT_EQ(data.begin, 0x3000u);
    EXPECT_EQ(data.end, 0x4000u);
    KernelSymbol symbol;
    symbol.address = 0x3010;
    EXPECT_TRUE(data.has(symbol));
    symbol.address = 0x1000;
    EXPECT_FALSE(data.has(symbol));
    symbol.address = 0; // an address that the kernel hides
    EXPECT_FALSE(find_kernel_data("0 T _sdata\n0 T jiffies\n0 T _edata\n").has(symbol));
    EXPECT_FALSE(find_kernel_data("").has(symbol));
}

TEST(Kallsyms, WhatIsNoLine) {
    EXPECT_EQ(names("").size(), 0u);
    EXPECT_EQ(names("\n\nT f\nffff\nffff T\nffff T \nzzzz T f\n").size(), 0u);
    EXPECT_EQ(names("0 T f"), std::vector<std::string>{"f@"});                       // the last one without a newline
    EXPECT_EQ(names("0 T f\t\n0 T g\t[\n"), (std::vector<std::string>{"f@", "g@"})); // truncated
}

TEST(Kallsyms, NoneWhereItCannotBeRead) {
    EXPECT_TRUE(lines(Error("no")).empty());
    EXPECT_EQ(lines(Result<std::string>("0 T f\n")), "0 T f\n");
}

} // namespace
} // namespace sonde
