#include "runtime/values/shown_value.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

std::string json(const std::string& text) { return json_text(shown_value_json(text)); }

TEST(ShownValue, WithoutQuotes) {
    EXPECT_EQ(unquoted_value(R"("tea")"), "tea");
    EXPECT_EQ(unquoted_value(R"("a\n\"b")"), R"(a\n\"b)");
    EXPECT_EQ(unquoted_value(R"("te"...)"), "te...");
    EXPECT_EQ(unquoted_value(R"("")"), "");
    for (const char* other : {"", "\"", "tea", "42", "...", "\"...", "'a'", R"({.a="b"})", R"(["a"])"})
        EXPECT_EQ(unquoted_value(other), other);
}

TEST(ShownValue, Numbers) {
    for (const char* number :
         {"0", "-7", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1.25"})
        EXPECT_EQ(json(number), number);
    EXPECT_EQ(json("-0.500000"), "-0.5");
    EXPECT_EQ(json("true"), "true");
    EXPECT_EQ(json("false"), "false");
    for (const char* text : {"", "-", "nan", "-inf", "0x7f00", "18446744073709551616", "1.5.2", "1.", ".5", "12 ",
                             "(1.5, 2)", "1e", "--1", "+1", "NULL", "?"})
        EXPECT_EQ(json(text), "\"" + std::string(text) + "\"");
}

TEST(ShownValue, Strings) {
    EXPECT_EQ(json(R"("12")"), R"("12")");
    EXPECT_EQ(json(R"("a\tb\n\\n\"q\" 'c'")"), R"("a\tb\n\\n\"q\" 'c'")");
    EXPECT_EQ(json(R"("\u00E9\u20AC\U0001F600")"), "\"\u00e9\u20ac\U0001f600\"");
    EXPECT_EQ(json(R"("\303\251\377\1\0017")"), "\"\u00e9\ufffd\\u0001\\u00017\"");
    EXPECT_EQ(json(R"("te"...)"), R"("te...")");
    EXPECT_EQ(json(R"("\"...")"), R"("\"...")");
    EXPECT_EQ(json(R"("\u\x\9\")"), R"("ux9\\")"); // not written by sonde
    EXPECT_EQ(json(R"({.a="b\n"})"), R"("{.a=\"b\\n\"}")");
}

} // namespace
} // namespace sonde
