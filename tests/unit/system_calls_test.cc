// The tables of system calls: each number has a row, and the names agree with the numbers.
#include <elf.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "arch/architecture.h"

namespace sonde {
namespace {

std::vector<const Architecture*> architectures() {
    return {architecture_of(EM_X86_64, false), architecture_of(EM_AARCH64, false)};
}

bool has_row(std::string_view name) { return std::ranges::count(system_call_rows(), name, &SystemCallRow::name) == 1; }

std::vector<std::string_view> split(std::string_view list) {
    std::vector<std::string_view> out;
    for (size_t at = 0; at <= list.size(); at += out.back().size() + 1)
        out.push_back(list.substr(at, std::min(list.find('|', at), list.size()) - at));
    return out;
}

int number_of(const Architecture& architecture, std::string_view name) {
    for (const SystemCallNumber& one : architecture.system_calls().numbers)
        if (name == one.name)
            return one.number;
    return -1;
}

const char* sources_of(const Architecture& architecture, int number) {
    for (const NarrowCallNumber& one : architecture.system_calls().narrow_numbers)
        if (one.number == number)
            return one.sources;
    return "none";
}

TEST(SystemCalls, EachNumberHasOneRow) {
    for (const Architecture* one : architectures()) {
        std::set<int> wide, narrow;
        for (const SystemCallNumber& call : one->system_calls().numbers) {
            EXPECT_TRUE(has_row(call.name)) << call.name;
            EXPECT_TRUE(wide.insert(call.number).second) << call.name;
            EXPECT_LT(call.number, first_of_all_architectures);
        }
        for (const NarrowCallNumber& call : one->system_calls().narrow_numbers) {
            EXPECT_TRUE(has_row(call.name)) << call.name;
            EXPECT_TRUE(narrow.insert(call.number).second) << call.name;
        }
        for (const auto& [name, now] : one->system_calls().replaced) {
            EXPECT_TRUE(has_row(name)) << name;
            EXPECT_GE(number_of(*one, now), 0) << now;
            EXPECT_EQ(number_of(*one, name), -1) << name;
        }
    }
    for (const SystemCallRow& row : system_call_rows())
        EXPECT_TRUE(row.number < 0 || row.number >= first_of_all_architectures) << row.name;
}

TEST(SystemCalls, NamesAreByNumber) {
    for (const Architecture* one : architectures()) {
        const std::vector<std::string_view> names = split(one->system_calls().names);
        ASSERT_EQ(names.size(), 1024u);
        for (const SystemCallNumber& call : one->system_calls().numbers)
            EXPECT_EQ(names[static_cast<size_t>(call.number)], call.name);
        for (const SystemCallRow& row : system_call_rows())
            for (const size_t table : {0, 512}) {
                if (row.number < 0)
                    continue;
                EXPECT_EQ(names[table + static_cast<size_t>(row.number)], row.name);
            }
        for (const NarrowCallNumber& call : one->system_calls().narrow_numbers) {
            if (call.number >= first_of_all_architectures) // inside of another call
                continue;
            EXPECT_FALSE(isdigit(names[512 + static_cast<size_t>(call.number)][0])) << call.name;
        }
    }
}

TEST(SystemCalls, Numbers) {
    const Architecture &x86 = *architectures()[0], &arm = *architectures()[1];
    EXPECT_EQ(number_of(x86, "read"), 0);
    EXPECT_EQ(number_of(x86, "openat"), 257);
    EXPECT_EQ(number_of(arm, "read"), 63);
    EXPECT_EQ(number_of(arm, "openat"), 56);
    EXPECT_EQ(number_of(arm, "newfstatat"), 79);
    EXPECT_EQ(number_of(arm, "clone"), 220);
    EXPECT_EQ(number_of(arm, "kexec_file_load"), 294);
    EXPECT_EQ(number_of(arm, "open"), -1);
    // A number of 64 bits is in the next two registers on i386, and begins at an even register on arm.
    EXPECT_STREQ(sources_of(x86, 180), "1 2 3 +4");
    EXPECT_STREQ(sources_of(arm, 180), "1 2 3 +5");
}

TEST(SystemCalls, RegistersAfterTheCall) {
    const SystemCalls &x86 = architectures()[0]->system_calls(), &arm = architectures()[1]->system_calls();
    EXPECT_FALSE(x86.overwrites_argument());
    EXPECT_EQ(x86.kept(x86.arguments[0]), x86.arguments[0]);
    EXPECT_TRUE(arm.overwrites_argument());
    EXPECT_EQ(arm.kept(arm.arguments[0]), kept_argument_register);
    EXPECT_EQ(arm.kept(arm.arguments[1]), arm.arguments[1]);
    const RegisterFile& registers = architectures()[1]->registers();
    EXPECT_EQ(registers.offset(kept_argument_register), 272u);
    EXPECT_EQ(registers.offset(syscall_number_register), 280u);
    EXPECT_EQ(registers.size(syscall_number_register), 4u);
    EXPECT_EQ(registers.size(kept_argument_register), 8u);
}

TEST(SystemCalls, DirectMap) {
    const Architecture &x86 = *architectures()[0], &arm = *architectures()[1];
    EXPECT_TRUE(x86.is_in_direct_map(0xffff888000000000));
    EXPECT_FALSE(x86.is_in_direct_map(0xffffffff81000000));
    EXPECT_TRUE(arm.is_in_direct_map(0xffff000012345678));  // 48 bits
    EXPECT_TRUE(arm.is_in_direct_map(0xfff0000012345678));  // 52 bits
    EXPECT_FALSE(arm.is_in_direct_map(0xffff800010000000)); // the kernel's image
    EXPECT_FALSE(arm.is_in_direct_map(0x0000ffff12345678));
}

} // namespace
} // namespace sonde
