// What was lost, as a report has it.
#include <gtest/gtest.h>

#include "runtime/accounting.h"
#include "runtime/messages.h"

namespace sonde {
namespace {

TEST(Accounting, Json) {
    EXPECT_EQ(json_string("a\"b\\c\n\x1b[0m"), "\"a\\\"b\\\\c\\u000a\\u001b[0m\"");
    EXPECT_EQ(json_string("gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x90\xa7"),
              "\"gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x90\xa7\"");
    // No UTF-8: cut short, overlong, a surrogate, beyond the last character.
    EXPECT_EQ(json_string("\xc3"), "\"\\ufffd\"");
    EXPECT_EQ(json_string("\xc0\x80"), "\"\\ufffd\\ufffd\"");
    EXPECT_EQ(json_string("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");
    EXPECT_EQ(json_string("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

TEST(Accounting, LossesAreAddedUpByPlace) {
    Accounting accounting;
    EXPECT_FALSE(accounting.lossy());
    accounting.add(Loss::Records, 0, "a.stp:1:1");
    EXPECT_FALSE(accounting.lossy());
    accounting.add(Loss::Records, 2, "a.stp:1:1");
    accounting.add(Loss::Records, 3, "a.stp:2:1");
    accounting.add(Loss::Records, 4, "a.stp:1:1");
    EXPECT_TRUE(accounting.lossy());
    EXPECT_EQ(accounting.count(Loss::Records), 9u);
    testing::internal::CaptureStderr();
    set_warnings_off(true);
    accounting.say();
    set_warnings_off(false);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "WARNING: 6 events lost at a.stp:1:1: the buffer was full\n"
                                                      "WARNING: 3 events lost at a.stp:2:1: the buffer was full\n");
}

} // namespace
} // namespace sonde
