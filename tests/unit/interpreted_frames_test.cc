// Unwind rules of code in which stacks show functions of a language.
#include "runtime/symbols/interpreted_frames.h"

#include <gtest/gtest.h>

#include "runtime/plan/file_table.h"

namespace sonde {
namespace {

TEST(InterpretedFrames, FramePointers) {
    const uint32_t one = SONDE_RULE(SONDE_RULE_SP, 1, 0), two = SONDE_RULE(SONDE_RULE_SP, 2, 0),
                   unknown = SONDE_RULE(SONDE_RULE_NONE, 0, 0);
    UnwindRules rules;
    rules.rows = {{0x100, one, 0}, {0x180, unknown, 0}, {0x1c0, two, 0}};
    use_frame_pointers(rules, {0, 0});
    EXPECT_EQ(rules.rows.size(), 3u);
    use_frame_pointers(rules, {0x140, 0x1a0});
    ASSERT_EQ(rules.rows.size(), 4u);
    EXPECT_EQ(rules.rows[0].address, 0x100u);
    EXPECT_EQ(rules.rows[1].address, 0x140u);
    EXPECT_EQ(rules.rows[1].rule, uint32_t{SONDE_RULE(SONDE_RULE_FP, 2, 2)});
    // The rule that was valid at the end of the range still is.
    EXPECT_EQ(rules.rows[2].address, 0x1a0u);
    EXPECT_EQ(rules.rows[2].rule, unknown);
    EXPECT_EQ(rules.rows[3].address, 0x1c0u);
    EXPECT_EQ(rules.rows[3].rule, two);
}

TEST(InterpretedFrames, MarkedLoop) {
    const uint32_t one = SONDE_RULE(SONDE_RULE_SP, 1, 0);
    UnwindRules rules;
    rules.rows = {{0x100, one, 0}};
    mark_loop(rules, {{0x120, 0x140}});
    ASSERT_EQ(rules.rows.size(), 3u);
    EXPECT_EQ(rules.rows[0].rule, one);
    EXPECT_EQ(rules.rows[1].rule, one | SONDE_RULE_INTERPRETER);
    EXPECT_EQ(rules.rows[2].rule, one);
}

} // namespace
} // namespace sonde
