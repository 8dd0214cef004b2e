// The names by which a script over a recording reads values, and the times that select events.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "runtime/plan/recorded_points.h"
#include "runtime/sinks/recording/event_filter.h"
#include "runtime/values/recorded_events.h"

namespace sonde {
namespace {

TEST(RecordedPoints, ShortNames) {
    const std::pair<const char*, const char*> cases[] = {
        {"$order->quantity", "quantity"},
        {"$order", "order"},
        {"$order$$", "order"},
        {"$order->item$", "item"},
        {"$list[0]->next->x", "x"},
        {"$a[$b[1]]", "a"},
        {"$go.field", "field"},
        {"n", "n"},
        {"count[execname(), 1]", "count"},
        {"execname()", "execname"},
        {"user_string($order->item->name)", "name"},
        {"kernel_string(user_string($x))", "x"},
        {"@count(s)", "s"},
        {"$return", "return"},
        // Values without a name.
        {"$a + $b", ""},
        {"$a->x - 1", ""},
        {"f($a, $b)", ""},
        {"user_string(\"x)\")", ""},
        {"$a ? \"x\" : \"y\"", ""},
        {"@cast($x, \"s\")->y", ""},
        {"(1)", ""},
        {"ulong_arg(1)", ""},
        {"", ""},
        {"$", ""},
        {")", ""},
        {"]", ""},
        {"a[", "a"},
        {"$x->", ""},
        {"$x-", ""},
    };
    for (const auto& [expression, name] : cases)
        EXPECT_EQ(plan::short_name_of(expression), name) << expression;
}

TEST(RecordedEvents, StackText) {
    const RecordedEvent::Stack stack{1, 0, {0x10, 0x20, 0x30}};
    EXPECT_EQ(stack.text(0, -1, 100), "0x10 0x20 0x30");
    EXPECT_EQ(stack.text(1, 1, 100), "0x20");
    EXPECT_EQ(stack.text(2, 5, 100), "0x30");
    EXPECT_EQ(stack.text(3, -1, 100), "");
    EXPECT_EQ(stack.text(-1, 1, 100), "0x10");
    EXPECT_EQ(stack.text(0, -1, 10), "0x10 0x20"); // a whole address, or none
    EXPECT_EQ(stack.text(0, -1, 9), "0x10");
}

class Times : public testing::Test {
  protected:
    Times() {
        setenv("TZ", "UTC", 1);
        tzset();
    }
    static constexpr int64_t second = 1'000'000'000;
    static constexpr int64_t began = 1'796'040'000 * second; // 2026-11-30 12:00:00
    static std::optional<int64_t> at(const char* text) {
        const std::optional<PointInTime> time = read_point_in_time(text);
        return time ? std::optional((time->in_session(began) - began) / 1'000'000) : std::nullopt;
    }
};

TEST_F(Times, AreRead) {
    EXPECT_EQ(at("0"), 0);
    EXPECT_EQ(at("12.5"), 12500);
    EXPECT_EQ(at("12:00:05"), 5000);
    EXPECT_EQ(at("12:01"), 60000);
    EXPECT_EQ(at("12:00:05.25"), 5250);
    EXPECT_EQ(at("12:00:00"), 0);
    EXPECT_EQ(at("11:59:59"), 86399000); // on the next day
    EXPECT_EQ(at("2026-11-30 12:00:05"), 5000);
    EXPECT_EQ(at("2026-11-30T12:00:05.5"), 5500);
    EXPECT_EQ(at("2026-11-29 12:00"), -86400000);
    for (const char* wrong : {"", "x", "-1", "1e30", "nan", "25:00", "12:60", "12:0", "12:00:", "12:00:61",
                              "2026-13-01 12:00", "2026-11-30", "2026-11-30 ", "12:00x", ":", "1:2:3:4"})
        EXPECT_EQ(at(wrong), std::nullopt) << wrong;
}

TEST_F(Times, SelectEvents) {
    EventFilter only;
    EXPECT_TRUE(only.is_empty());
    only.since = read_point_in_time("1");
    only.until = read_point_in_time("2");
    const SessionFilter by_time(only, began);
    EXPECT_FALSE(by_time.accepts(began + second - 1, nullptr));
    EXPECT_TRUE(by_time.accepts(began + second, nullptr));
    EXPECT_FALSE(by_time.accepts(began + 2 * second, nullptr));
    EventFilter task;
    task.pid = 3;
    task.execname = "sh*";
    const SessionFilter by_task(task, began);
    EXPECT_FALSE(by_task.accepts(began, nullptr));
    const EventTask shop{3, 4, "shop"}, other{3, 4, "cat"}, process{4, 4, "shop"};
    EXPECT_TRUE(by_task.accepts(began, &shop));
    EXPECT_FALSE(by_task.accepts(began, &other));
    EXPECT_FALSE(by_task.accepts(began, &process));
}

} // namespace
} // namespace sonde
