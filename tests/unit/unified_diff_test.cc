// A unified diff has the lines that `patch` needs: common ones around each change, and the numbers of all of them.
#include "base/unified_diff.h"

#include <gtest/gtest.h>

#include <string>

namespace sonde {
namespace {

std::string diff(std::string_view before, std::string_view after) { return unified_diff(before, after, "a", "b"); }

TEST(UnifiedDiff, OfEqualTextsIsEmpty) {
    EXPECT_EQ(diff("", ""), "");
    EXPECT_EQ(diff("1\n2\n", "1\n2\n"), "");
}

TEST(UnifiedDiff, HasThreeLinesOfContext) {
    EXPECT_EQ(diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n"),
              "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
}

TEST(UnifiedDiff, AtBothEnds) {
    EXPECT_EQ(diff("1\n2\n", "0\n1\n2\n"), "--- a\n+++ b\n@@ -1,2 +1,3 @@\n+0\n 1\n 2\n");
    EXPECT_EQ(diff("1\n2\n", "1\n"), "--- a\n+++ b\n@@ -1,2 +1 @@\n 1\n-2\n");
    EXPECT_EQ(diff("", "1\n"), "--- a\n+++ b\n@@ -0,0 +1 @@\n+1\n");
    EXPECT_EQ(diff("1\n", ""), "--- a\n+++ b\n@@ -1 +0,0 @@\n-1\n");
}

TEST(UnifiedDiff, DistantChangesAreSeparateAndNearOnesAreNot) {
    EXPECT_EQ(diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "x\n2\n3\n4\n5\n6\n7\n8\ny\n"),
              "--- a\n+++ b\n@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+y\n");
    EXPECT_EQ(diff("1\n2\n3\n4\n5\n6\n7\n8\n", "x\n2\n3\n4\n5\n6\n7\ny\n"),
              "--- a\n+++ b\n@@ -1,8 +1,8 @@\n-1\n+x\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n");
}

TEST(UnifiedDiff, ShowsAMissingNewline) {
    EXPECT_EQ(diff("1\n2", "1\n2\n"), "--- a\n+++ b\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+2\n");
}

TEST(UnifiedDiff, IsShort) { // one line is moved, not all
    EXPECT_EQ(diff("a\nb\nc\n", "b\nc\na\n"), "--- a\n+++ b\n@@ -1,3 +1,3 @@\n-a\n b\n c\n+a\n");
}

TEST(UnifiedDiff, OfThousandsOfLines) {
    std::string before, after;
    for (int i = 0; i < 5000; i++) {
        before += "old " + std::to_string(i) + "\n";
        after += "new " + std::to_string(i) + "\n";
    }
    const std::string out = diff(before, after);
    EXPECT_TRUE(out.starts_with("--- a\n+++ b\n@@ -1,5000 +1,5000 @@\n-old 0\n")) << out.substr(0, 100);
    EXPECT_TRUE(out.ends_with("+new 4999\n"));
}

} // namespace
} // namespace sonde
