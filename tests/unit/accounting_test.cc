// Lost output and errors in reports.
#include <gtest/gtest.h>

#include "runtime/text/accounting.h"
#include "runtime/text/json.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

TEST(Accounting, Json) {
    EXPECT_EQ(json_text("a\"b\\c\n\x1b[0m"), "\"a\\\"b\\\\c\\n\\u001b[0m\"");
    EXPECT_EQ(json_text("gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x90\xa7"),
              "\"gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x90\xa7\"");
    // Not UTF-8: truncated, overlong, a surrogate, above the last character.
    const std::string replaced = "\xef\xbf\xbd";
    EXPECT_EQ(json_text("\xc3"), "\"" + replaced + "\"");
    for (const char* text : {"a\xc0\x80z", "a\xed\xa0\x80z", "a\xf4\x90\x80\x80z"}) {
        const std::string shown = json_text(text);
        EXPECT_TRUE(shown.starts_with("\"a" + replaced) && shown.ends_with(replaced + "z\"")) << shown;
    }
    Accounting accounting;
    accounting.add(Loss::Records, 2, "a\xff.stp:1:1");
    const std::string report = json_text(accounting.json("a.stp", 3), 2);
    EXPECT_NE(report.find("\"kind\": \"records\",\n      \"count\": 2,\n      \"place\": \"a" + replaced), report.npos)
        << report;
    EXPECT_NE(report.find("\"status\": 3,\n  \"lossy\": true"), report.npos) << report;
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
