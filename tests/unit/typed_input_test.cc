// What a user types in an interactive session: the kind of each input, where it ends, and the globals that it creates.
#include "driver/repl/typed.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/source.h"
#include "frontend/parse/parser.h"
#include "frontend/parse/statements.h"

namespace sonde::repl {
namespace {

Typed sort(const std::string& text) {
    return sort_typed(
        text, [](std::string_view word) { return word == "process" || word == "syscall" || word == "begin"; },
        [](std::string_view word) { return word == "hist" || word == "begin_count"; });
}

TEST(TypedInput, HasAKind) {
    for (const char* nothing : {"", "  ", "# a comment", "/* another */"})
        EXPECT_EQ(sort(nothing).kind, TypedKind::Nothing) << nothing;
    for (const char* declaration : {"probe begin {}", "global x", "function f() { return 1 }", "private global y",
                                    "# a comment\nprobe begin {}", "%{ int x; %}"})
        EXPECT_EQ(sort(declaration).kind, TypedKind::Declarations) << declaration;
    for (const char* points : {"process.function(\"f*\")", "process(\"a\").function(\"f\")", "syscall.open", "begin",
                               "begin, syscall.open", "sys*.open"})
        EXPECT_EQ(sort(points).kind, TypedKind::Points) << points;
    for (const char* statements :
         {"hits", "hits[\"x\"]", "1 + 1", "-5", "delete hits", "process + 1", "begin_count", "top = 5", "top[\"x\"]",
          "run++", "list(5)", "a * b", "hist", "top <<< 4", "top / 2", "top-1"})
        EXPECT_EQ(sort(statements).kind, TypedKind::Statements) << statements;
}

TEST(TypedInput, CommandsHaveArguments) {
    const Typed drop = sort("drop  2 3 ;");
    EXPECT_EQ(drop.kind, TypedKind::Command);
    EXPECT_EQ(drop.command, "drop");
    EXPECT_EQ(drop.arguments, "2 3");
    EXPECT_EQ(sort("save -f /tmp/a.stp").arguments, "-f /tmp/a.stp");
    EXPECT_EQ(sort("save /tmp/a.stp").arguments, "/tmp/a.stp");
    EXPECT_EQ(sort("quit").kind, TypedKind::Command);
    EXPECT_EQ(sort("quit").arguments, "");
    EXPECT_EQ(sort("wait 2.5").arguments, "2.5");
}

TEST(TypedInput, NamesOneElement) {
    const std::optional<NamedValue> named = read_named_value(" by[\"te\\\"a\", -3] ;");
    ASSERT_TRUE(named);
    EXPECT_EQ(named->name, "by");
    ASSERT_EQ(named->keys.size(), 2u);
    EXPECT_TRUE(named->keys[0].is_text && named->keys[0].text == "te\"a");
    EXPECT_TRUE(!named->keys[1].is_text && named->keys[1].number == -3);
    ASSERT_TRUE(read_named_value("by"));
    EXPECT_TRUE(read_named_value("by")->keys.empty());
    for (const char* other : {"", "5", "by[x]", "by[1", "by[1,]", "by[]", "by[1] + 2", "by[-\"a\"]", "by[1+2]", "f(1)"})
        EXPECT_FALSE(read_named_value(other)) << other;
}

TEST(TypedInput, EndsWhenItIsComplete) {
    for (const char* finished :
         {"1 + 1", "probe begin { }", "probe begin { if (1) { x++ } }", "global x", "println(\"{\")",
          "probe begin { } # {", "function f() %{ { %}", "x }", "list", "probe a = begin { x = 1 }",
          "process.function(\"f\")", "kernel.function(\"f\").return"})
        EXPECT_TRUE(is_finished(finished)) << finished;
    for (const char* unfinished :
         {"probe begin", "probe begin {", "probe begin,", "function f(a", "function f(a)", "n[1,", "foreach (k in n) {",
          "global a,", "/* a comment", "%{ int x;", "global x\nprobe begin"})
        EXPECT_FALSE(is_finished(unfinished)) << unfinished;
}

std::vector<std::string> new_globals(const std::string& body, bool is_at_prompt = false) {
    Sources sources;
    Arena arena;
    Diagnostics diags(sources);
    const FileId file = sources.add("<input>", body);
    const ast::BlockStmt* block = parse_statements(file, sources, ParseOptions(), arena, diags);
    EXPECT_FALSE(diags.has_errors()) << body;
    return find_new_globals(*block, file, {"known"}, is_at_prompt);
}
using Names = std::vector<std::string>;

TEST(TypedInput, CreatesGlobals) {
    EXPECT_EQ(new_globals("hits[$x]++"), Names({"hits"}));
    EXPECT_EQ(new_globals("n++; total += $len; s <<< 4; a[1, 2] = 3"), Names({"a", "n", "s", "total"}));
    EXPECT_EQ(new_globals("if (1) { while (0) by[tid()] <<< 1 }"), Names({"by"}));
    EXPECT_EQ(new_globals("last[tid()] = gettimeofday_us()"), Names({"last"}));
}

TEST(TypedInput, LeavesOtherNamesAlone) {
    EXPECT_EQ(new_globals("known++; known[1] = 2"), Names());
    EXPECT_EQ(new_globals("t = gettimeofday_us(); t += 5; println(t)"), Names());
    EXPECT_EQ(new_globals("for (i = 0; i < 3; i++) println(i)"), Names());
    EXPECT_EQ(new_globals("foreach (k in known) k++"), Names());
    EXPECT_EQ(new_globals("try { error(\"a\") } catch (e) { e .= \"b\" }"), Names());
    EXPECT_EQ(new_globals("println(typo); if ([1] in missing) println(wrong[2])"), Names());
}

TEST(TypedInput, AssignsGlobalsAtThePrompt) {
    EXPECT_EQ(new_globals("most = 5", true), Names({"most"}));
    EXPECT_EQ(new_globals("foreach (k in known) println(k)", true), Names());
    EXPECT_EQ(new_globals("println(typo)", true), Names());
}

} // namespace
} // namespace sonde::repl
