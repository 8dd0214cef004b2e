#include "frontend/bridge/log_text.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

std::string format(std::string_view text) {
    Result<std::string> out = log_format(text);
    return out ? *out : "error: " + out.error().message;
}
std::string condition(std::string_view text) {
    Result<std::string> out = log_condition(text);
    return out ? *out : "error: " + out.error().message;
}

TEST(LogText, Formats) {
    EXPECT_EQ(format("here"), R"("here\n")");
    EXPECT_EQ(format("left={left} of {order->item.name}"),
              R"("left=%{left}v of %{order->item.name}v\n", $left$, $order->item->name$)");
    EXPECT_EQ(format(R"(100% {{n}} "x" \t\)"), R"("100%% {n} \"x\" \t\\\n")");
    EXPECT_EQ(format("{a + b[2]} {&x} {*p} {*p->next} {items[i].price}"),
              R"("%{a + b[2]}d %{&x}d %{*p}v %{*p->next}v %{items[i].price}v\n", )"
              R"($a + $b[2], &$x, $p->*$, $p->next->*$, $items[$i]->price$)");
    EXPECT_EQ(format("{this->n} {ns::count} {pair.0} {return} { x }"),
              R"("%{this->n}v %{ns::count}v %{pair.0}v %{return}v %{x}v\n", )"
              R"($this->n$, @var("ns::count")$, $pair->__0$, $return$, $x$)");
    EXPECT_EQ(format(R"({name == "}\n"})"), R"("%{name == \"}}\\n\"}d\n", __log_text($name$) == "}\n")");
}

TEST(LogText, Conditions) {
    EXPECT_EQ(condition("left < 3 && name == \"tea\""), R"($left < 3 && __log_text($name$) == "tea")");
    EXPECT_EQ(condition("'tea' != a.b or not ok"), R"("tea" != __log_text($a->b$) || ! $ok)");
    EXPECT_EQ(condition("c == 'x' and p != nullptr and (n % 10u) >= 0x1f"),
              "$c == 120 && $p != 0 && ( $n % 10 ) >= 0x1f");
    EXPECT_EQ(condition("a[i + 1][2] == -1"), "$a[$i + 1][2] == - 1");
}

TEST(LogText, AllVariables) {
    const auto all = [](std::string_view text, const PlaceVariables& variables) {
        const Result<std::string> out = log_format(text, "", variables);
        return out ? *out : "error: " + out.error().message;
    };
    EXPECT_EQ(all("at {*}: {n}", {{"n", "p"}}), R"("at n=%{n}v p=%{p}v: %{n}v\n", @defined($n$) ? $n$ : "?", )"
                                                R"(@defined($p$) ? $p$ : "?", $n$)");
    EXPECT_EQ(all("{ * }", {}), R"("(no variables)\n")");
    EXPECT_EQ(all("{*}", {{}, true}), R"("%{arguments}s\n", $$parms)");
    EXPECT_TRUE(logs_all_variables("{a} { * }"));
    EXPECT_FALSE(logs_all_variables("{{*}} {*p} {a == \"{*}\"} *"));
}

TEST(LogText, WrongInput) {
    EXPECT_EQ(format("a {b"), "error: `a {b`: a `{` is not closed; `{{` is the character");
    EXPECT_EQ(format("a } b"), "error: `a } b`: a `}` without its `{`; `}}` is the character");
    EXPECT_EQ(format("{}"), "error: an expression is empty");
    EXPECT_EQ(format("{len(x)}"), "error: `len(x)`: `len` is a function, and sonde calls no functions of the program");
    EXPECT_EQ(format("{x = 1}"), "error: `x = 1`: sonde does not change the program; `==` compares");
    EXPECT_EQ(format("{x++}"), "error: `x++`: sonde does not change the program; `==` compares");
    EXPECT_EQ(format("{x += 1}"), "error: `x += 1`: sonde does not change the program; `==` compares");
    EXPECT_EQ(format("{x.}"), "error: `x.`: the name of a member must follow `.` and `->`");
    EXPECT_EQ(format("{x; y}"), "error: `x; y`: sonde does not know `;` in an expression");
    EXPECT_EQ(format("{* 3}"), "error: `* 3`: a variable must follow `*`");
    EXPECT_EQ(condition("x < 1.5"), "error: `x < 1.5`: sonde compares integers, not numbers such as 1.0");
    EXPECT_EQ(condition("x[1"), "error: `x[1`: a `[` is not closed");
    EXPECT_EQ(condition("x == \"a"), "error: `x == \"a`: a \" is not closed");
}

} // namespace
} // namespace sonde
