// Which probes are the beginning and end of a call, and to which thread a hit belongs.
#include "runtime/plan/kinds.h"
#include "runtime/values/calls.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sonde {
namespace {

// The rows of probes at these points; each is a separate probe.
std::vector<HitRow> rows_of(const std::vector<std::pair<std::string, std::string>>& points) {
    plan::Plan plan;
    for (const auto& [pp, pn] : points) {
        plan::Probe probe;
        probe.kind = plan::ProbeKind::Tracepoint;
        probe.in_kernel = true;
        plan::Point point;
        point.pp = pp;
        point.pn = pn.empty() ? pp : pn;
        point.row = static_cast<uint32_t>(plan.rows.size());
        probe.points.push_back(point);
        plan.rows.push_back(point);
        plan.probes.push_back(probe);
    }
    return find_hit_rows(plan);
}

void expect_pair(const std::vector<HitRow>& rows, const std::string& name, bool is_wait = false) {
    ASSERT_EQ(rows.size(), 2);
    EXPECT_EQ(rows[0].role, HitRole::Begin);
    EXPECT_EQ(rows[1].role, HitRole::End);
    EXPECT_EQ(rows[0].function, rows[1].function);
    for (const HitRow& row : rows) {
        EXPECT_EQ(row.name, name);
        EXPECT_EQ(row.is_wait, is_wait);
    }
}

TEST(Calls, WhatBeginsAndEndsIsAPair) {
    const std::string switches = "kernel.trace(\"sched:sched_switch\")", program = "process(\"/bin/p\")";
    expect_pair(rows_of({{switches, "scheduler.cpu_off"}, {switches, "scheduler.cpu_on"}}), "off the processor", true);
    expect_pair(rows_of({{"kernel.trace(\"irq:softirq_entry\")", ""}, {"kernel.trace(\"irq:softirq_exit\")", ""}}),
                "softirq");
    expect_pair(
        rows_of({{"kernel.trace(\"raw_syscalls:sys_enter\")", ""}, {"kernel.trace(\"raw_syscalls:sys_exit\")", ""}}),
        "sys");
    expect_pair(rows_of({{program + ".mark(\"query__start\")", ""}, {program + ".mark(\"query__done\")", ""}}),
                "query");
    expect_pair(rows_of({{"process.thread.begin", ""}, {"process.thread.end", ""}}), "thread");
}

TEST(Calls, OthersAreMoments) {
    const std::vector<HitRow> rows = rows_of({{"kernel.trace(\"irq:softirq_entry\")", ""},
                                              {"kernel.trace(\"irq:irq_handler_exit\")", ""},
                                              {"kernel.trace(\"sched:sched_switch\")", "scheduler.cpu_off"},
                                              {"process(\"/bin/a\").mark(\"query__start\")", ""},
                                              {"process(\"/bin/b\").mark(\"query__done\")", ""}});
    for (const HitRow& row : rows)
        EXPECT_EQ(row.role, HitRole::Instant) << row.name;
    EXPECT_EQ(rows[2].name, "scheduler.cpu_off");
}

TEST(Calls, IdleTasksAreTheirProcessors) {
    const HitTask first{1, 0, 0, "swapper/0"}, second{1, 0, 0, "swapper/1"}, session{1, 0, 0, ""}, thread{1, 7, 8, "x"};
    EXPECT_NE(key_of(first), key_of(second));
    EXPECT_TRUE(first.is_idle() && !first.is_session());
    EXPECT_TRUE(session.is_session() && !session.is_idle());
    EXPECT_EQ(key_of(thread), key_of(HitTask{2, 7, 8, "renamed"}));
}

} // namespace
} // namespace sonde
