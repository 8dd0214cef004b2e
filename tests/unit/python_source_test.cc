// Functions in Python sources.
#include "languages/python/source.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

std::string listed(std::string_view source) {
    std::string out;
    for (const PythonFunction& one : python_functions(source)) {
        out += one.name + ":" + std::to_string(one.line) + "(";
        for (const std::string& name : one.parameters)
            out += (out.back() == '(' ? "" : ",") + name;
        out += ") ";
    }
    return out;
}

TEST(PythonSource, Functions) {
    EXPECT_EQ(listed("def f(): pass\ndef g(a, b=1): pass\n"), "f:1() g:2(a,b) ");
    EXPECT_EQ(
        listed("class A:\n  def f(self): pass\n  class B:\n    def g(self): pass\n  def h(self): pass\ndef i(): pass"),
        "A.f:2(self) A.B.g:4(self) A.h:5(self) i:6() ");
    EXPECT_EQ(listed("def f():\n\tdef g():\n\t\tasync def h(x): pass\n"),
              "f:1() f.<locals>.g:2() f.<locals>.g.<locals>.h:3(x) ");
    EXPECT_EQ(listed("if 1:\n  def f(): pass\nelse:\n  def f(a): pass\n"), "f:2() f:4(a) ");
    EXPECT_EQ(listed("def größe(маса): pass\n"), "größe:1(маса) ");
}

TEST(PythonSource, Parameters) {
    EXPECT_EQ(listed("def f(a, /, b: int, *rest, c: dict[str, int] = {'x': 1}, d=g(1, 2), **more) -> int: pass\n"),
              "f:1(a,b,rest,c,d,more) ");
    EXPECT_EQ(listed("def f(a, *, b): pass\n"), "f:1(a,b) ");
    EXPECT_EQ(listed("def f(\n    a,  # , b\n    c=')',\n): pass\ndef g(): pass\n"), "f:1(a,c) g:5() ");
    EXPECT_EQ(listed("def f[T](x: T): pass\n"), "f:1(x) ");
}

TEST(PythonSource, WhatIsNoFunction) {
    EXPECT_EQ(listed("'''\ndef f(): pass\n'''\ndef g(): pass\n"), "g:4() ");
    EXPECT_EQ(listed("x = (\ndef_ +\n1)\n# def f(): pass\ns = \"\\\ndef h(): pass\"\ndefine(1)\ndef g(): pass\n"),
              "g:8() ");
    EXPECT_EQ(listed("a = 'it\\'s' + r\"\\\"\ndef g(): pass\n"), "g:2() ");
    EXPECT_EQ(listed(""), "");
    EXPECT_EQ(listed("def"), "");
    EXPECT_EQ(listed("def f("), "f:1() ");
    EXPECT_EQ(listed("'''"), "");
    EXPECT_EQ(listed("\"\\"), "");
}

TEST(PythonSource, Files) {
    EXPECT_TRUE(is_python_file("app.py", "/srv/app.py"));
    EXPECT_FALSE(is_python_file("pp.py", "/srv/app.py"));
    EXPECT_TRUE(is_python_file("srv/*.py", "/srv/app.py"));
    EXPECT_TRUE(is_python_file("/srv/app.py", "/srv/app.py"));
    EXPECT_TRUE(is_python_file("json.decoder", "/lib/json/decoder.py"));
    EXPECT_TRUE(is_python_file("json", "/lib/json/__init__.py"));
    EXPECT_FALSE(is_python_file("json", "/lib/json/decoder.py"));
}

} // namespace
} // namespace sonde
