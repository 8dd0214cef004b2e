// The analysis of scripts that probe no program: its results, and the id and place of each error.
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "frontend/parse/parser.h"
#include "frontend/sema/sema.h"
#include "runtime/plan/kinds.h"
#include "stdlib/stdlib.h"

namespace sonde {
namespace {

// A script, analyzed together with the library.
struct Analysis {
    Sources sources;
    Arena arena;
    Diagnostics diags{sources};
    ProbeEnvironment env{host_architecture()};
    ParseOptions parse_options;
    std::unique_ptr<Library> library;
    std::vector<const ast::File*> files;
    hir::Program* program = nullptr;

    explicit Analysis(const std::string& script, const Translate& options = {},
                      const std::vector<std::string>& library_texts = {}, const std::string& extra = "") {
        parse_options.kernel_release = "6.1.0";
        parse_options.arch = "x86_64";
        library = std::make_unique<Library>(sources, [this](FileId file) {
            ParseOptions privileged = parse_options;
            privileged.privileged = true;
            return parse_file(file, sources, privileged, arena, diags);
        });
        for (const StdlibFile& file : stdlib_files())
            library->add(sources.add(std::string(file.name), std::string(file.text), true));
        for (const std::string& text : library_texts)
            library->add(sources.add("library.stp", text, true));
        files.push_back(parse_file(sources.add("t", script), sources, parse_options, arena, diags));
        if (!extra.empty())
            files.push_back(parse_file(sources.add("extra", extra), sources, parse_options, arena, diags));
        if (!diags.has_errors())
            program = analyze(files, *library, env, options, arena, diags);
    }

    // "type-mismatch t:1:19 (t:1:15)": every message with its place and its notes' places.
    std::vector<std::string> messages() const {
        std::vector<std::string> out;
        for (const Diagnostic& diag : diags.all()) {
            std::string text =
                fmt::format("{} {}", diag_name(diag.id), diag.range.valid() ? sources.place(diag.range) : "-");
            for (const DiagNote& note : diag.notes)
                if (sources.is_tapset(note.range.file))
                    text += fmt::format(" ({})", sources.name(note.range.file));
                else if (note.range.valid())
                    text += fmt::format(" ({})", sources.place(note.range));
            out.push_back(text);
        }
        return out;
    }
    std::string all() const { return fmt::format("{}", fmt::join(messages(), "; ")); }
    std::string rendered() const { return diags.render(false); }

    const hir::Global& global(const std::string& name) const {
        for (const hir::Global* global : program->globals)
            if (global->name == name)
                return *global;
        static const hir::Global none;
        ADD_FAILURE() << "no global " << name;
        return none;
    }
    const hir::Function& function(const std::string& name) const {
        for (const hir::Function* function : program->functions)
            if (function->name == name)
                return *function;
        static const hir::Function none;
        ADD_FAILURE() << "no function " << name;
        return none;
    }
    std::string body(size_t handler = 0) const { return hir::dump_body(*program->handlers.at(handler)); }
};

#define ASSERT_ANALYZED(a) ASSERT_NE((a).program, nullptr) << (a).rendered()

// ---- what is refused, and where ---------------------------------------------------------------------------------

struct Refusal {
    const char* script;
    const char* messages; // ids with places, and the places of the notes
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.script; }

class Refused : public testing::TestWithParam<Refusal> {};

TEST_P(Refused, WithIdAndPlace) {
    Analysis a(GetParam().script);
    EXPECT_EQ(a.program, nullptr);
    EXPECT_EQ(a.all(), GetParam().messages) << GetParam().script << "\n" << a.rendered();
}

constexpr Refusal names[] = {
    {"probe begin { printnl(1) }", "unknown-function t:1:15"},
    {"function f(a) { return a }  probe begin { println(f(1, 2)) }", "arity t:1:51 (t:1:10)"},
    {"probe begin { println(strlen()) }", "arity t:1:23 (prelude.stp)"},
    {"global x  global x  probe begin { x = 1 println(x) }", "redefinition t:1:18 (t:1:8)"},
    {"probe begin { println(@nosuch(1)) }", "unknown-operator t:1:23"},
    {"probe begin { a[1] = 2 }", "type-mismatch t:1:15"},
    {"probe begin { a = 1 println(a[1]) }", "type-mismatch t:1:29 (t:1:15)"},
    {"probe begin { println(x) }", "never-assigned t:1:23; unresolved-type t:1:23"},
    {"probe begin { x x = y println(x) }", "unresolved-type t:1:15; never-assigned t:1:21"},
    {"function f() { println(x) g() }  probe begin { exit() }", "unknown-function t:1:27"},
    {"probe begin { println($x) }", "wrong-context t:1:23"},
    {"probe begin { println(@entry(1)) }", "wrong-context t:1:23"},
    {"function f() { return $x }  probe begin { println(f()) }", "wrong-context t:1:23"},
    {"probe begin { x = 1 println(x->y) }", "unknown-type t:1:29"},
    {"probe begin { println(\"a\" =~ \"x(b\") }", "bad-regex t:1:32"},
    {"probe begin { println(\"a\" !~ \"a{9,3}\") }", "bad-regex t:1:32"},
    {"probe begin { println(\"a\" =~ \"^(a|b)*a(a|b){12}$\") }", "bad-regex t:1:30"},
    {"probe begin { println(1 =~ \"b\") }", "type-mismatch t:1:23"},
    {"probe begin { x = 1; println(x =~ \"b\") }", "type-mismatch t:1:30 (t:1:15)"},
    {"probe begin { $x = 1 }", "needs-guru t:1:15"},
};
INSTANTIATE_TEST_SUITE_P(Names, Refused, testing::ValuesIn(names));

constexpr Refusal types[] = {
    {"probe begin { 1 = 2 }", "not-assignable t:1:15"},
    {"probe begin { pid()++ }", "not-assignable t:1:15"},
    {"probe begin { println(1 + \"a\") }", "type-mismatch t:1:27"},
    {"probe begin { x = \"a\" println(x + 1) }", "type-mismatch t:1:31 (t:1:15)"},
    {"probe begin { println(\"foo\" == 0) }", "type-mismatch t:1:32 (t:1:23)"},
    {"probe begin { x = 5 x = \"five\" println(x) }", "type-mismatch t:1:25 (t:1:15)"},
    {"global g = \"s\"  probe begin { g = 1 println(g) }", "type-mismatch t:1:35 (t:1:12)"},
    {"probe begin { if (\"a\") exit() }", "type-mismatch t:1:19"},
    {"probe begin { while (\"a\") exit() }", "type-mismatch t:1:22"},
    {"probe begin { for (i = 0; \"a\"; i++) exit() }", "type-mismatch t:1:27"},
    {"probe begin { println(1 ? \"a\" : 2) }", "type-mismatch t:1:33 (t:1:27)"},
    {"function f() { exit() }  probe begin { println(f()) }", "type-mismatch t:1:48 (t:1:10)"},
    {"probe begin { x = exit() println(x) }", "unresolved-type t:1:15; type-mismatch t:1:19"},
    {"function f() { print(1) }  probe begin { x = f() . \"a\" println(x, f() + 1) }", "type-mismatch t:1:67"},
    {"function f(a:long) { println(a) }  probe begin { f(\"a\") }", "type-mismatch t:1:52 (t:1:12)"},
    {"function f() { if (1) return 1; return \"a\" }  probe begin { println(f()) }", "type-mismatch t:1:40 (t:1:30)"},
    {"probe begin { println(strlen(5)) }", "type-mismatch t:1:30"},
    {"probe begin { try { error(\"a\") } catch (m) { println(m + 1) } }", "type-mismatch t:1:54 (t:1:41)"},
    {"probe begin { m = 1 try { error(\"a\") } catch (m) { println(m) } }", "type-mismatch t:1:19 (t:1:47)"},
    {"probe begin { printf(\"%p\", \"a\") }", "type-mismatch t:1:28"},
    {"probe begin { printf(\"%d\", \"a\") }", "type-mismatch t:1:28"},
    {"probe begin { printf(\"%s\", 1 + 2) }", "type-mismatch t:1:28"},
    {"probe begin { printf(\"%*d\", \"a\", 1) }", "type-mismatch t:1:29"},
    {"probe begin { printf(\"%d %d\", 1) }", "arity t:1:15 (t:1:22)"},
};
INSTANTIATE_TEST_SUITE_P(Types, Refused, testing::ValuesIn(types));

constexpr Refusal arrays[] = {
    {"global a  probe begin { a[1] = 1 a = 2 }", "type-mismatch t:1:34 (t:1:25)"},
    {"global a  probe begin { a = 1 println(a[2]) }", "type-mismatch t:1:39 (t:1:25)"},
    {"global a = 1  probe begin { println(a[2]) }", "type-mismatch t:1:37 (t:1:12)"},
    {"global a[8]  probe begin { a++ }", "type-mismatch t:1:28 (t:1:8)"},
    {"global a  probe begin { a[1] = 1 a[1, 2] = 1 }", "arity t:1:34 (t:1:25)"},
    {"global a  probe begin { a[1] = 1 foreach ([i, j] in a) println(i, j) }", "arity t:1:44 (t:1:25)"},
    {"global a  probe begin { a[1] = 1 a[\"x\"] = 1 }", "type-mismatch t:1:36 (t:1:27)"},
    {"global a  probe begin { a[1] = 1 if (\"x\" in a) exit() }", "type-mismatch t:1:38 (t:1:27)"},
    {"global a  probe begin { a[1, 2] = 1 println(a[1, *]) }", "syntax t:1:50"},
    {"global a%  probe begin { a = 1 println(a) }", "bad-declaration t:1:8"},
    {"global a  probe begin { a[1] = 1 foreach (k in a) a[k] = 2 }", "modified-in-foreach t:1:51 (t:1:34)"},
    {"global a  function f(k) { delete a[k] }  probe begin { a[1] = 1 foreach (k in a) f(k) }",
     "modified-in-foreach t:1:82 (t:1:27) (t:1:65)"},
    {"global a  probe begin { foreach (k in a) exit() }", "unresolved-type t:1:8"},
};
INSTANTIATE_TEST_SUITE_P(Arrays, Refused, testing::ValuesIn(arrays));

constexpr Refusal statistics[] = {
    {"global s  probe begin { s <<< \"a\" println(@count(s)) }", "bad-statistic t:1:31"},
    {"global s  probe begin { s <<< 1 s = 2 }", "bad-statistic t:1:33 (t:1:25)"},
    {"global s  probe begin { s <<< 1 s++ }", "bad-statistic t:1:33 (t:1:25)"},
    {"global s  probe begin { s <<< 1 println(s) }", "bad-statistic t:1:41"},
    {"global s, a  probe begin { s <<< 1 a[s] = 1 }", "bad-statistic t:1:38"},
    {"global s  function f(x) { println(x) }  probe begin { s <<< 1 f(s) }", "bad-statistic t:1:65"},
    {"global s, t  probe begin { s <<< 1 t = s println(t) }", "bad-statistic t:1:40"},
    {"global s  probe begin { s <<< 1 <<< 2 }", "bad-statistic t:1:31"},
    {"probe begin { s <<< 1 }", "bad-statistic t:1:15"},
    {"global s  probe begin { s <<< 1 println(@hist_log(s)[1], @hist_linear(s, 0, 10, 1)[1]) }",
     "bad-statistic t:1:58 (t:1:41)"},
    {"global s  probe begin { s <<< 1 x = @hist_log(s) }", "bad-statistic t:1:37"},
    {"global s  probe begin { s <<< 1 print(@hist_linear(s, 0, 1000, 1)) }", "bad-statistic t:1:39"},
    {"global a  probe begin { a[1] <<< 1 foreach (v = k in a) println(v) }", "unsupported t:1:45"},
    {"global a  probe begin { a[1] = 1 foreach (k in a @sum -) println(k) }", "bad-statistic t:1:48 (t:1:25)"},
};
INSTANTIATE_TEST_SUITE_P(Statistics, Refused, testing::ValuesIn(statistics));

constexpr Refusal points[] = {
    {"probe begni { exit() }", "unknown-probe-point t:1:7"},
    {"probe foo = bar { }  probe bar = foo { }  probe foo { exit() }", "unknown-probe-point t:1:34 (t:1:7)"},
    {"probe foo.bar = foo.* { }  probe foo.bar { exit() }", "unknown-probe-point t:1:17 (t:1:7)"},
    {"probe foo.bar = begin { }  probe foo.baz { exit() }", "unknown-probe-point t:1:34"},
    {"probe nosuch? { exit() }", "no-match -"},
    {"global x = 1  probe begin if (x = 2) { exit() }", "wrong-context t:1:31"},
    {"probe begin if (pid() == 2) { exit() }", "wrong-context t:1:17"},
    {"probe begin if (y) { exit() }", "wrong-context t:1:17"},
    {"probe never { nosuch() }", "unknown-function t:1:15"},
    {"probe never { println(1 + \"a\") }", "type-mismatch t:1:27"},
};
INSTANTIATE_TEST_SUITE_P(Points, Refused, testing::ValuesIn(points));

// Declarations that double each time, and nesting that is too deep for recursion in later passes.
TEST(SemaMessages, Bombs) {
    std::string aliases, calls, overloads;
    for (int i = 0; i < 300; i++) {
        aliases += fmt::format("probe a{} = a{}, a{} {{ }}\n", i, i + 1, i + 1);
        calls += fmt::format("function f{}(x) {{ return f{}(x) + 1 }}\n", i, i + 1);
        overloads += "function f(x) { if (x) next; return 1 }\n";
    }
    EXPECT_NE(Analysis(aliases + "probe a300 = begin { }  probe a280 { exit() }").rendered().find("more than 10000"),
              std::string::npos);
    EXPECT_NE(Analysis(aliases + "probe a300 = begin { }  probe a0 { exit() }").rendered().find("more than 256 deep"),
              std::string::npos);
    EXPECT_NE(Analysis(calls + "function f300(x) { return x }  probe begin { println(f0(1)) }")
                  .rendered()
                  .find("functions call each other more than 256 deep"),
              std::string::npos);
    EXPECT_NE(Analysis(overloads + "probe begin { println(f(1)) }").rendered().find("more than 256 functions"),
              std::string::npos);
}

TEST(SemaMessages, NameWhatIsNear) {
    EXPECT_NE(Analysis("function print_it(x) { println(x) } probe begin { printd_it(1) }")
                  .rendered()
                  .find("did you mean `print_it`?"),
              std::string::npos);
    EXPECT_NE(Analysis("probe begin { println(strlne(\"a\")) }").rendered().find("did you mean `strlen`?"),
              std::string::npos);
    EXPECT_NE(Analysis("probe begin { printf(\"%d\\n\", \"a\") }")
                  .rendered()
                  .find("`%d` takes a number, but `\"a\"` is a string"),
              std::string::npos);
    EXPECT_NE(Analysis("function f(a) { return a } probe begin { println(f()) }")
                  .rendered()
                  .find("`f` takes 1 argument, not 0"),
              std::string::npos);
}

TEST(SemaMessages, OncePerPlace) {
    // Two handlers from one body.
    EXPECT_EQ(Analysis("probe begin, end { x = 1 println(x . \"a\", @defined($y)) }").all(),
              "type-mismatch t:1:34 (t:1:20)");
}

// ---- warnings ---------------------------------------------------------------------------------------------------

constexpr Refusal warned[] = {
    {"probe begin { x = 1 exit() }", "unused-variable t:1:15"},
    {"global g  probe begin { exit() }", "unused-variable t:1:8"},
    {"global g  probe begin { println(g + 1) }", "never-assigned t:1:8"},
    {"function f() { exit() }  probe begin { exit() }", "unused-variable t:1:10"},
    {"probe begin { println(x + 1) }", "never-assigned t:1:23"},
    {"probe begin { next println(1) }", "unreachable t:1:20 (t:1:15)"},
    {"function f() { return 1; println(1) }  probe begin { println(f()) }", "unreachable t:1:26 (t:1:16)"},
    {"probe begin { }", "side-effect-free t:1:7"},
    {"function f() { return 1 }  probe begin { f() }", "side-effect-free t:1:34"},
    {"probe timer.hz(99) { println(execname()) }", "own-task t:1:7 (t:1:30)"},
    {"probe timer.s(1) { print_ubacktrace() }", "own-task t:1:7 (t:1:20)"},
    {"function f() { return pid() }  probe timer.ms(9) { println(f()) }", "own-task t:1:38 (t:1:60)"},
    {"probe timer.s(1) { println(tid()) }", ""},
    {"probe begin, timer.profile.hz(99) { println(execname()) }", ""},
    {"global g  probe begin { g++ }", ""},
    {"global a  probe begin { a[1] = 2 foreach (k in a) println(\"x\") }", ""},
    {"probe begin { try { error(\"a\") } catch (m) { println(1) } }", ""},
};
class Warned : public testing::TestWithParam<Refusal> {};
TEST_P(Warned, WithIdAndPlace) {
    Analysis a(GetParam().script);
    EXPECT_NE(a.program, nullptr);
    EXPECT_EQ(a.all(), GetParam().messages) << GetParam().script << "\n" << a.rendered();
}
INSTANTIATE_TEST_SUITE_P(Scripts, Warned, testing::ValuesIn(warned));

// ---- types ------------------------------------------------------------------------------------------------------

TEST(Sema, InfersThroughCallsAndArrays) {
    Analysis a("global a, g\n"
               "function id(x) { return x }\n"
               "function pick(n) { if (n) return id(\"s\"); return \"\" }\n"
               "probe begin { k = pick(1) a[k, 2] = id(k) g = a[\"x\", 3] foreach ([i, j] in a) println(i, j, g) }");
    ASSERT_ANALYZED(a);
    EXPECT_EQ(a.global("a").type, hir::ValueType::String);
    EXPECT_EQ(a.global("a").keys, (std::vector{hir::ValueType::String, hir::ValueType::Long}));
    EXPECT_EQ(a.global("a").capacity, 2048u);
    EXPECT_EQ(a.global("g").type, hir::ValueType::String);
    EXPECT_EQ(a.function("id").result, hir::ValueType::String);
    EXPECT_EQ(a.function("pick").params[0]->type, hir::ValueType::Long);
    // Callees first.
    EXPECT_EQ(a.program->functions[0]->name, "id");
}

TEST(Sema, FunctionsThatReturnNothingAreVoid) {
    Analysis a("function f() { exit() return }  probe begin { f() }");
    ASSERT_ANALYZED(a);
    EXPECT_EQ(a.function("f").result, hir::ValueType::Void);
}

TEST(Sema, RecursionIsMarked) {
    Analysis a("function even(n) { return n == 0 ? 1 : odd(n - 1) }\n"
               "function odd(n) { return n == 0 ? 0 : even(n - 1) }\n"
               "function plain(n) { return even(n) }\n"
               "probe begin { println(plain(4)) }");
    ASSERT_ANALYZED(a);
    EXPECT_TRUE(a.function("even").recursive);
    EXPECT_TRUE(a.function("odd").recursive);
    EXPECT_FALSE(a.function("plain").recursive);
    EXPECT_EQ(a.program->functions.back()->name, "plain");
}

TEST(Sema, ReturnWithoutAValueMakesAFunctionGiveNone) {
    Analysis a("function f(x) { if (x) return \"a\"; return }  probe begin { f(1) }");
    ASSERT_ANALYZED(a);
    EXPECT_EQ(a.function("f").result, hir::ValueType::Void);
    Analysis used("function f(x) { if (x) return \"a\"; return }  probe begin { println(f(1)) }");
    EXPECT_FALSE(used.program);
}

TEST(Sema, ListingsResolveAliases) {
    Analysis a("probe begin { exit() }");
    FileId file = a.sources.add("list", "oneshot, end");
    std::vector<ast::ProbePoint*> points = parse_probe_points(file, a.sources, a.parse_options, a.arena, a.diags);
    EXPECT_EQ(resolve_listing(points, *a.library, a.env, a.arena, a.diags).size(), 2u);
}

TEST(Sema, OverloadsByArity) {
    Analysis a("function f(a) { return a }  function f(a, b) { return a + b }  probe begin { println(f(1), f(1, 2)) }");
    ASSERT_ANALYZED(a);
    ASSERT_EQ(a.program->functions.size(), 2u);
    EXPECT_NE(a.program->functions[0]->name, a.program->functions[1]->name);
}

TEST(Sema, ScriptsComeBeforeTheLibrary) {
    Analysis a("function log(msg:string) { println(\"mine \", msg) }  probe begin { log(\"a\") }");
    ASSERT_ANALYZED(a);
    EXPECT_EQ(a.program->functions.size(), 1u);
    EXPECT_FALSE(a.sources.is_tapset(a.function("log").range.file));
}

// ---- bodies -----------------------------------------------------------------------------------------------------

struct Lowering {
    const char* body;
    const char* dump;
};
void PrintTo(const Lowering& lowering, std::ostream* out) { *out << lowering.body; }
class Lowered : public testing::TestWithParam<Lowering> {};
TEST_P(Lowered, To) {
    Analysis a(fmt::format("global g, a, s  probe begin {{ {} }}", GetParam().body));
    ASSERT_ANALYZED(a);
    EXPECT_EQ(a.body(), GetParam().dump);
}
constexpr Lowering lowerings[] = {
    {"g++", "  (@g += 1)\n"},
    {"println(g++, --g)", "  printf(\"%d%d\\n\", (@g += 1 old), (@g -= 1))\n"},
    {"g = +3 println(-g, !g, ~g)", "  (@g = 3)\n  printf(\"%d%d%d\\n\", -(@g), !(@g), ~(@g))\n"},
    {"g .= \"a\" printd(\"-\", g, 1)", "  (@g .= \"a\")\n  printf(\"%S-%d\", @g, 1)\n"},
    {"println(sprintf(\"100%% %p\", 5))", "  printf(\"%S\\n\", sprintf(\"100%% %p\", 5))\n"},
    {"s <<< 5 print(@hist_log(s))", "  (@s <<< 5)\n  printf(\"%H(1:0:0:0)\", @s)\n"},
    {"a[1] = 2 if ([1] in a) delete a[1]", "  (@a[1] = 2)\n  if ([1] in @a)\n    delete @a[1]\n"},
    {"for (i = 0; i < 2; i++) g += i", "  loop (i = 0); (i < 2); (i += 1)\n    (@g += i)\n"},
    {"x = \"a\" println(x) delete x", "  (x = \"a\")\n  printf(\"%S\\n\", x)\n  (x = \"\")\n"},
    {"if (@defined($x)) nosuch($x) else println(1)", "  printf(\"%d\\n\", 1)\n"},
    {"println(@defined($x) ? $x : 2)", "  printf(\"%d\\n\", 2)\n"},
    {"println(@defined($x) && $x > 1)", "  printf(\"%d\\n\", 0)\n"},
    {"println(!@defined($x) && pid() == 1)", "  printf(\"%d\\n\", ((%pid() == 1) != 0))\n"},
    {"try { error(\"e\") } catch (m) { println(m) }",
     "  try\n    %error(\"e\")\n  catch m\n    printf(\"%s\\n\", m)\n"},
    {"while (1) { if (pid() == 2) break; else continue }",
     "  loop ; 1; \n    if (%pid() == 2)\n      break\n    else\n      continue\n"},
    {"s <<< 1 foreach (b in @hist_log(s)) println(b, @hist_log(s)[b])",
     "  (@s <<< 1)\n  foreach [b] in hist(@s) sort 0 0 0\n    printf(\"%d%d\\n\", b, hist(@s)[b])\n"},
    {"println(@choose_defined($x, 7))", "  printf(\"%d\\n\", 7)\n"},
    {"a[1] = 2 foreach (g in a) println(g)",
     "  (@a[1] = 2)\n  foreach [g.0] in @a sort 0 0 0\n    (@g = g.0)\n    printf(\"%d\\n\", @g)\n"},
    {"a[1, 2] = 3 foreach (v = [i, j-] in a[1, *] limit 5) println(v, i, j)",
     "  (@a[1, 2] = 3)\n  foreach v = [i, j] in @a[1, *] sort -1 2 0 limit 5\n    printf(\"%d%d%d\\n\", v, i, j)\n"},
};
INSTANTIATE_TEST_SUITE_P(Bodies, Lowered, testing::ValuesIn(lowerings));

TEST(Sema, ValueUnusedIsMarked) {
    Analysis a("global g  probe begin { g++ println(g = 2) }");
    ASSERT_ANALYZED(a);
    const auto& statement = hir::as<hir::ExprStmt>(*a.program->handlers[0]->body->body[0]);
    EXPECT_TRUE(hir::as<hir::Assign>(*statement.expr).value_unused);
    const auto& print = hir::as<hir::ExprStmt>(*a.program->handlers[0]->body->body[1]);
    EXPECT_FALSE(hir::as<hir::Assign>(*hir::as<hir::Print>(*print.expr).args[0]).value_unused);
}

// ---- probe points -----------------------------------------------------------------------------------------------

TEST(Sema, AliasesNest) {
    Analysis a("probe inner = begin { v = 1 }, { println(v, \"inner\") }\n"
               "probe outer = inner { v = v * 10 }, { println(v, \"outer\") }\n"
               "probe outer { v = v + 2 }");
    ASSERT_ANALYZED(a);
    EXPECT_EQ(a.body(), "  (v = 1)\n  (v = (v * 10))\n  (v = (v + 2))\n  printf(\"%d%S\\n\", v, \"outer\")\n"
                        "  printf(\"%d%S\\n\", v, \"inner\")\n");
    EXPECT_EQ(a.program->handlers[0]->points[0].pn, "outer");
}

TEST(Sema, AliasesTakeSuffixesAndPatterns) {
    Analysis a("probe tick = timer { }  probe tick.s(2) { println(1) }\n"
               "probe set.one = begin { }  probe set.two = end { }  probe set.* { println(2) }");
    ASSERT_ANALYZED(a);
    ASSERT_EQ(a.program->handlers.size(), 3u);
    EXPECT_EQ(a.program->handlers[0]->kind, plan::ProbeKind::Timer);
    EXPECT_EQ(a.program->handlers[0]->timer.interval_ns, 2'000'000'000u);
    EXPECT_EQ(a.program->handlers[1]->points[0].pn, "set.one");
    EXPECT_EQ(a.program->handlers[2]->kind, plan::ProbeKind::End);
}

TEST(Sema, DoubleStarCrossesComponents) {
    Analysis a("probe set.one = begin { }  probe set.two.deep = end { }  probe set.** { println(2) }");
    ASSERT_ANALYZED(a);
    ASSERT_EQ(a.program->handlers.size(), 2u);
    EXPECT_EQ(a.program->handlers[1]->points[0].pn, "set.two.deep");
}

TEST(Sema, SeveralDefinitionsOfAnAliasAddUp) {
    Analysis a("probe p = begin { }  probe p = end { }  probe p { println(1) }");
    ASSERT_ANALYZED(a);
    EXPECT_EQ(a.program->handlers.size(), 2u);
}

TEST(Sema, OptionalAndSufficientPoints) {
    Analysis a("probe nosuch?, begin!, end { println(1) }\n"
               "probe p = nosuch!, end!, begin { }  probe p { println(2) }");
    ASSERT_ANALYZED(a);
    ASSERT_EQ(a.program->handlers.size(), 2u);
    EXPECT_EQ(a.program->handlers[0]->kind, plan::ProbeKind::Begin);
    EXPECT_EQ(a.program->handlers[1]->kind, plan::ProbeKind::End);
}

TEST(Sema, ConditionsAreAnded) {
    Analysis a("global x = 1, y = 2  probe p = begin if (x) { }  probe p if (y > 1) { println(1) }");
    ASSERT_ANALYZED(a);
    ASSERT_NE(a.program->handlers[0]->condition, nullptr);
    EXPECT_EQ(hir::dump_expr(*a.program->handlers[0]->condition), "((@y > 1) && @x)");
}

TEST(Sema, PointsShareHandlers) {
    Analysis a("probe begin, begin, end, begin(5) { println(pp()) }");
    ASSERT_ANALYZED(a);
    ASSERT_EQ(a.program->handlers.size(), 3u);
    EXPECT_EQ(a.program->handlers[0]->points.size(), 2u);
    EXPECT_EQ(a.program->handlers[2]->order, 5);
}

TEST(Sema, BodiesThatComeOutTheSameShareHandlers) {
    Analysis a("probe begin, begin { println(@defined($x)) }");
    ASSERT_ANALYZED(a);
    ASSERT_EQ(a.program->handlers.size(), 1u);
    EXPECT_EQ(a.program->handlers[0]->points.size(), 2u);
}

TEST(Sema, NeverIsCheckedAndDropped) {
    Analysis a("global g  function f() { g = 1 }  probe never { f() }  probe begin { exit() }");
    ASSERT_ANALYZED(a);
    EXPECT_EQ(a.program->handlers.size(), 1u);
    EXPECT_TRUE(a.program->functions.empty());
    EXPECT_TRUE(a.program->globals.empty());
}

TEST(Sema, HostProbesInTheKernelOnDemand) {
    Translate options;
    options.host_probes = HandlerPlace::Kernel;
    const char* script = "global g  probe begin { g = 1 println(g) }";
    Analysis in_host(script), in_kernel(script, options);
    ASSERT_ANALYZED(in_host);
    ASSERT_ANALYZED(in_kernel);
    EXPECT_FALSE(in_host.program->handlers[0]->in_kernel);
    EXPECT_TRUE(in_host.global("g").used_in_host);
    EXPECT_TRUE(in_kernel.program->handlers[0]->in_kernel);
    EXPECT_TRUE(in_kernel.global("g").used_in_kernel);
    EXPECT_FALSE(in_kernel.global("g").used_in_host);
}

// ---- globals ----------------------------------------------------------------------------------------------------

TEST(Sema, WrittenAndNeverReadIsPrintedAtTheEnd) {
    Analysis a(
        "global w, r, c, s, t, in  function f() { c++ }\n"
        "probe begin { w = 1 r = 2 println(r) f() s <<< 1 t <<< 2 println(@sum(t)) in[1] = 2 println(1 in in) }");
    EXPECT_EQ(a.program, nullptr); // `in` is a keyword
    Analysis b("global w, r, c, s, t, m  function f() { c++ }\n"
               "probe begin { w = 1 r = 2 println(r) f() s <<< 1 t <<< 2 println(@sum(t)) m[1] = 2 println(1 in m) }");
    ASSERT_ANALYZED(b);
    EXPECT_TRUE(b.global("w").auto_print);
    EXPECT_FALSE(b.global("r").auto_print);
    EXPECT_TRUE(b.global("c").auto_print);
    EXPECT_TRUE(b.global("s").auto_print);
    EXPECT_FALSE(b.global("t").auto_print);
    EXPECT_FALSE(b.global("m").auto_print);
}

TEST(Sema, StatisticsKeepWhatExtractorsRead) {
    Analysis a(
        "global s, t  probe begin { s <<< 1 t <<< 2 println(@variance(s, 3)) print(@hist_linear(t, 0, 100, 10)) }");
    ASSERT_ANALYZED(a);
    EXPECT_TRUE(a.global("s").stats.variance);
    EXPECT_EQ(a.global("s").stats.variance_shift, 3);
    EXPECT_EQ(a.global("s").stats.histogram, plan::StatsNeeds::None);
    EXPECT_EQ(a.global("t").stats.histogram, plan::StatsNeeds::Linear);
    EXPECT_EQ(a.global("t").stats.high, 100);
    EXPECT_FALSE(a.global("t").stats.variance);
}

TEST(Sema, PrivateNamesStayInTheirFile) {
    Analysis a("private global g  private function f() { g = 1 println(g) }  probe begin { f() }", {}, {},
               "private global g  private function f() { g = \"x\" println(g) }  probe end { f() }");
    ASSERT_ANALYZED(a);
    ASSERT_EQ(a.program->globals.size(), 2u);
    EXPECT_NE(a.program->globals[0]->type, a.program->globals[1]->type);
    Analysis other("probe begin { println(hidden) }", {}, {"private global hidden = 1"});
    EXPECT_EQ(other.all(), "never-assigned t:1:23; unresolved-type t:1:23");
}

TEST(Sema, LibraryNamesComeInWhenUsed) {
    std::vector<std::string> library = {"global lib_count = 3, lib_other\nfunction lib_next() { return ++lib_count }\n"
                                        "probe lib.tick = begin { n = lib_next() }"};
    Analysis a("probe lib.tick { println(n) }", {}, library);
    ASSERT_ANALYZED(a);
    EXPECT_EQ(a.program->functions.size(), 1u);
    EXPECT_EQ(a.global("lib_count").initial_long, 3);
    EXPECT_FALSE(a.global("lib_count").auto_print);
    EXPECT_EQ(a.program->globals.size(), 1u);
}

TEST(Sema, OverridesSetGlobals) {
    Translate options;
    options.globals = {{"n", "0x10"}, {"s", "text"}, {"digits", "12"}};
    Analysis a("global n, s = \"old\", digits  probe begin { println(n + 1, s, digits . \"x\") }", options);
    ASSERT_ANALYZED(a);
    EXPECT_EQ(a.all(), "");
    EXPECT_EQ(a.global("n").initial_long, 16);
    EXPECT_EQ(a.global("s").initial_string, "text");
    EXPECT_EQ(a.global("digits").initial_string, "12");
    options.globals = {{"nn", "1"}};
    EXPECT_EQ(Analysis("global n  probe begin { println(n + 1) }", options).all(),
              "no-such-global -; never-assigned t:1:8");
    options.globals = {{"n", "x"}};
    EXPECT_EQ(Analysis("global n = 1  probe begin { println(n + 1) }", options).all(), "type-mismatch t:1:8");
}

TEST(Sema, UnoptimizedKeepsWhatIsUnused) {
    Translate options;
    options.unoptimized = true;
    Analysis a("global g, arr[8]  probe begin { x = 1 }", options);
    ASSERT_ANALYZED(a);
    EXPECT_EQ(a.all(), "");
    EXPECT_EQ(a.program->globals.size(), 1u);
}

TEST(Sema, KeysHaveBounds) {
    auto keys = [](const std::string& body) {
        Analysis a("global a, t, big = 4294967296  function f(x) { return x }  probe begin { " + body + " }");
        std::string dump = a.program ? hir::dump(*a.program) : a.all();
        size_t at = dump.find("global a[");
        return at == std::string::npos ? dump : dump.substr(at + 9, dump.find(']', at) - at - 9);
    };
    EXPECT_EQ(keys("a[\"x\", pid()]++"), "number of a text, long in 0 .. 2147483647");
    EXPECT_EQ(keys("a[pp()]++ foreach (k in a) println(a[k])"), "number of a text");
    EXPECT_EQ(keys("a[\"x\"]++ t[execname()]++ foreach (k in t) a[k]++"), "string up to 15");
    EXPECT_EQ(keys("a[\"x\"]++ foreach (k in a) k .= \"y\"  a[k]++"), "string up to 65535");
    EXPECT_EQ(keys("a[\"x\"]++ s = \"xy\" s = \"xyz\" a[s]++"), "string up to 3");
    EXPECT_EQ(keys("a[-1]++ a[f(70000)]++"), "long in -1 .. 70000");
    EXPECT_EQ(keys("a[1]++ a[big]++"), "long in 0 .. 4294967296");
    EXPECT_EQ(keys("for (i = 0; i < 3; i++) a[i]++"), "long");
    EXPECT_EQ(keys("for (i = 0; i < 3; i++) a[i & 7]++"), "long in 0 .. 7");
}

TEST(Sema, DumpShowsTypes) {
    Analysis a("global g%[4]  function f(x) { y = x return y . \"\" }  probe timer.ms(10) { g[f(\"a\")] <<< 1 }");
    ASSERT_ANALYZED(a);
    EXPECT_EQ(hir::dump(*a.program), "global g[string up to 1]: stats capacity 4 wrap host auto-print\n"
                                     "function f(x: string): string\n"
                                     "  locals y: string\n"
                                     "  (y = x)\n"
                                     "  return (y . \"\")\n"
                                     "handler probe_0: timer every 10000000 ns +- 0 in the host\n"
                                     "  at timer.ms(10)\n"
                                     "  (@g[f(\"a\")] <<< 1)\n");
}

} // namespace
} // namespace sonde
