// Types and constants from C headers.
#include <gtest/gtest.h>

#include "frontend/types/header_types.h"

namespace sonde {
namespace {

TEST(HeaderTypes, RecordsHaveTheirMembersPlaces) {
    Result<std::unique_ptr<HeaderTypes>> types = HeaderTypes::open("netinet/tcp.h", false);
    ASSERT_TRUE(types) << types.error().message;
    const Type* info = (*types)->find_type("tcp_info");
    ASSERT_NE(info, nullptr);
    EXPECT_EQ(type_name(info), "struct tcp_info");
    // 4 bits each, after 6 single bytes.
    std::optional<TypeMember> send = find_member(info, "tcpi_snd_wscale"),
                              receive = find_member(info, "tcpi_rcv_wscale");
    ASSERT_TRUE(send && receive);
    EXPECT_EQ(send->byte_offset * 8 + send->bit_offset, 48u);
    EXPECT_EQ(receive->byte_offset * 8 + receive->bit_offset, 52u);
    EXPECT_EQ(send->bit_size, 4u);
    // Members of an anonymous union are found directly.
    const Type* header = (*types)->find_type("struct tcphdr *");
    ASSERT_NE(header, nullptr);
    EXPECT_EQ(type_name(header), "struct tcphdr*");
    std::optional<TypeMember> source = find_member(header->target, "th_sport");
    ASSERT_TRUE(source);
    EXPECT_EQ(source->byte_offset, 0u);
    EXPECT_EQ(type_name(source->type), "uint16_t");
}

TEST(HeaderTypes, SizesAreThoseOfTheProgram) {
    Result<std::unique_ptr<HeaderTypes>> wide = HeaderTypes::open("stddef.h", false),
                                         narrow = HeaderTypes::open("stddef.h", true);
    ASSERT_TRUE(wide && narrow);
    for (const char* name : {"size_t", "long", "unsigned long *", "void*"}) {
        EXPECT_EQ((*wide)->find_type(name)->size, 8u) << name;
        EXPECT_EQ((*narrow)->find_type(name)->size, 4u) << name;
    }
}

TEST(HeaderTypes, WhatIsNoTypeIsNone) {
    Result<std::unique_ptr<HeaderTypes>> types = HeaderTypes::open("sys/stat.h", false);
    ASSERT_TRUE(types);
    // A function, an undefined structure, text that is not a type, and text that is more than one declaration.
    for (const char* name :
         {"chmod", "struct nowhere", "enum stat", "", "*", "stat;", "int x; int", "int\n", "stat*[2]", "#"})
        EXPECT_EQ((*types)->find_type(name), nullptr) << name;
    std::vector<std::string> names = (*types)->type_names();
    EXPECT_NE(std::find(names.begin(), names.end(), "struct stat"), names.end());
}

TEST(HeaderTypes, ConstantsAreExpressions) {
    Result<std::unique_ptr<HeaderTypes>> types = HeaderTypes::open("signal.h", false);
    ASSERT_TRUE(types);
    EXPECT_EQ((*types)->constant("SIGEV_THREAD"), 2);
    EXPECT_EQ((*types)->constant("-(SIGKILL << 1)"), -18);
    for (const char* text : {"SIGNOTHING", "", "1; }", "raise(1)", "\"text\"", "sizeof(", "1.5"})
        EXPECT_EQ((*types)->constant(text), std::nullopt) << text;
}

TEST(HeaderTypes, WhatCannotBeReadSaysWhy) {
    for (const char* name : {"no/such.h", "vector", "stdio.h>\n#include <stdlib.h", "", "/dev/null/x.h"}) {
        Result<std::unique_ptr<HeaderTypes>> types = HeaderTypes::open(name, false);
        ASSERT_FALSE(types) << name;
        EXPECT_FALSE(types.error().message.empty());
    }
}

} // namespace
} // namespace sonde
