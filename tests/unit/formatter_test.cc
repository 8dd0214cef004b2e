// The formatter's promises: the style of docs/formatting.md, the same tokens, and no change by a second run.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/diag.h"
#include "base/source.h"
#include "frontend/ast/ast.h"
#include "frontend/formatter/format_script.h"
#include "frontend/lex/token.h"
#include "frontend/parse/parser.h"

namespace sonde {
namespace {

std::string apply_edits(const std::string& text, const std::vector<TextEdit>& edits) {
    std::string out;
    size_t end = 0;
    for (const TextEdit& edit : edits) {
        out += text.substr(end, edit.begin - end) + edit.text;
        end = edit.end;
    }
    return out + text.substr(end);
}

bool has_valid_tokens(const std::string& text) {
    Sources sources;
    Diagnostics diags(sources);
    lex_as_written(sources.add("script", text), sources, diags);
    return !diags.has_errors();
}

// Formats, and checks what holds for every text.
std::string format(const std::string& text) {
    const Result<std::string> once = format_script(text);
    EXPECT_TRUE(once) << once.error().message << "\n" << text;
    if (!once)
        return "";
    const Result<std::string> twice = format_script(*once);
    EXPECT_EQ(twice ? *twice : "an error", *once) << text;
    EXPECT_EQ(apply_edits(text, find_edits(text, *once)), *once);
    return *once;
}

// Formats the statements of a handler, each on its line.
std::string format_statements(const std::string& text) {
    const std::string head = "probe begin\n{\n", out = format(head + text + "\n}\n");
    EXPECT_TRUE(out.starts_with(head) && out.ends_with("\n}\n")) << out;
    return out.substr(head.size(), out.size() - head.size() - 3);
}

std::string dump(const std::string& text) {
    Sources sources;
    Diagnostics diags(sources);
    Arena arena;
    ParseOptions options;
    options.privileged = options.guru = true;
    options.kernel_release = "6.12.0";
    options.arch = "x86_64";
    options.args = {"1", "2", "3", "4", "5", "6"};
    static const KernelConfig empty;
    options.kernel_config = []() -> const KernelConfig& { return empty; };
    return ast::dump(*parse_file(sources.add("script", text), sources, options, arena, diags));
}

TEST(Formatter, Declarations) {
    EXPECT_EQ(format("probe   begin{println(1)}probe end{ }"), "probe begin { println(1) }\nprobe end { }\n");
    EXPECT_EQ(format("probe begin {\nprintln(1) }"), "probe begin\n{\n    println(1)\n}\n");
    EXPECT_EQ(format("probe begin\n{ println(1) }"), "probe begin { println(1) }\n");
    EXPECT_EQ(format("probe begin {\n}"), "probe begin { }\n");
    EXPECT_EQ(format("global a,b [ 10 ] % ,c=- 1;global d%[5]"), "global a, b[10]%, c = -1;\nglobal d%[5]\n");
    EXPECT_EQ(format("global first,\n  second"), "global first,\n       second\n");
    EXPECT_EQ(format("private   global x"), "private global x\n");
    EXPECT_EQ(format("function f :long ( a:string , b ) : 5 {return a}"),
              "function f:long(a:string, b):5 { return a }\n");
    EXPECT_EQ(format("function f(a,\nb) {\nreturn a}"), "function f(a,\n           b)\n{\n    return a\n}\n");
    EXPECT_EQ(format("private function f:long () ;"), "private function f:long();\n");
}

TEST(Formatter, ProbePoints) {
    EXPECT_EQ(format("probe process( \"a\" ) . function(\"b*\").return?,kernel.{function(\"c\") , trace(\"d\")}!{ }"),
              "probe process(\"a\").function(\"b*\").return ?, kernel.{function(\"c\"), trace(\"d\")} ! { }\n");
    // A blank in a component would end it.
    EXPECT_EQ(format("probe syscall.{open,close*}, a.b*c , **.x{ }"), "probe syscall.{open,close*}, a.b*c, **.x { }\n");
    EXPECT_EQ(format("probe timer.ms( 100 ).randomize(-5) if(a>1) { }"),
              "probe timer.ms(100).randomize(-5) if (a > 1) { }\n");
    EXPECT_EQ(format("probe next.if.global, x.if(1) { }"), "probe next.if.global, x.if(1) { }\n");
    EXPECT_EQ(format("probe a,\nb {\nx }"), "probe a,\n      b\n{\n    x\n}\n");
    EXPECT_EQ(format("probe a=b,\nc {\nx },{\ny }"), "probe a = b,\n    c\n{\n    x\n},\n{\n    y\n}\n");
    EXPECT_EQ(format("probe a+=b{ }"), "probe a += b { }\n");
    EXPECT_EQ(format("probe $1_x.return { }"), "probe $1_x.return { }\n");
    EXPECT_EQ(format("probe {a , b}.c { x }"), "probe {a, b}.c { x }\n");
}

TEST(Formatter, Expressions) {
    EXPECT_EQ(format_statements("a=b+c*- d . e"), "    a = b + c * -d . e");
    EXPECT_EQ(format_statements("a=! b&&~ c||& $x -> y [ 0 ] $"), "    a = !b && ~c || &$x->y[0]$");
    EXPECT_EQ(format_statements("a=$p -> * $+$q->* *b"), "    a = $p->*$ + $q->* * b");
    // The blank keeps these apart.
    EXPECT_EQ(format_statements("a = b - - c + + + d - -- e"), "    a = b - -c + + +d - --e");
    EXPECT_EQ(format_statements("a = b % ( c )"), "    a = b % (c)");
    EXPECT_EQ(format_statements("n ++ ; -- n"), "    n++; --n");
    EXPECT_EQ(format_statements("x = c?a:- b"), "    x = c ? a : -b");
    EXPECT_EQ(format_statements("if( [a,b]in c&&!(d in e) )next"), "    if ([a, b] in c && !(d in e)) next");
    EXPECT_EQ(format_statements("s[ x , * ]<<< 1"), "    s[x, *] <<< 1");
    EXPECT_EQ(format_statements("println( @percentile(s,99.9),@cast ( p , \"t\" ) -> next -> if )"),
              "    println(@percentile(s, 99.9), @cast(p, \"t\")->next->if)");
    EXPECT_EQ(format_statements("print( \"a\"   \"b\\\"\" @1 )"), "    print(\"a\" \"b\\\"\" @1)");
    EXPECT_EQ(format_statements("return\t( a )"), "    return (a)");
    EXPECT_EQ(format_statements("delete a [ 1 ]"), "    delete a[1]");
}

TEST(Formatter, Statements) {
    EXPECT_EQ(format_statements("if(a)\nb\nelse if(c)\nd\nelse\ne\nf"),
              "    if (a)\n        b\n    else if (c)\n        d\n    else\n        e\n    f");
    EXPECT_EQ(format_statements("if (a)\n{\nb\n}\nelse\n{\nc\n}"),
              "    if (a) {\n        b\n    } else {\n        c\n    }");
    EXPECT_EQ(format_statements("if (a) { b }\nelse { c }"), "    if (a) { b }\n    else { c }");
    EXPECT_EQ(format_statements("while(a)\nfor(i=0;i<3;i++)\nif(b)\nc\nd"),
              "    while (a)\n        for (i = 0; i < 3; i++)\n            if (b)\n                c\n    d");
    // The `else` belongs to the first `if`. The block before it is the body of a loop.
    EXPECT_EQ(format_statements("if (a)\nforeach (k in b) {\nc\n}\nelse\nd"),
              "    if (a)\n        foreach (k in b) {\n            c\n        }\n    else\n        d");
    EXPECT_EQ(format_statements("foreach(v=[a+,b]in c @sum -limit 5) d"),
              "    foreach (v = [a+, b] in c @sum- limit 5) d");
    EXPECT_EQ(format_statements("foreach (v- =k in a) b"), "    foreach (v- = k in a) b");
    EXPECT_EQ(format_statements("try\n{\na\n}\ncatch(e)\n{\nb\n}"),
              "    try {\n        a\n    } catch (e) {\n        b\n    }");
    EXPECT_EQ(format_statements("try{a}catch{b}"), "    try { a } catch { b }");
    EXPECT_EQ(format_statements("for(;;) ;"), "    for (;;);");
    EXPECT_EQ(format_statements("{\na\n}"), "    {\n        a\n    }");
    EXPECT_EQ(format_statements("a = 1    b = 2 c = 3;d = 4"), "    a = 1  b = 2 c = 3; d = 4");
    EXPECT_EQ(format_statements("if (a) { b } c\n{ d\n} e"), "    if (a) { b } c\n    {\n        d\n    }\n    e");
}

TEST(Formatter, LineBreaks) {
    // Arguments are below the first one; a bracket at the end of its line indents by one step.
    EXPECT_EQ(format_statements("printf(\"%d %d\",\n  a,\n       f(b,\n c))"),
              "    printf(\"%d %d\",\n           a,\n           f(b,\n             c))");
    EXPECT_EQ(format_statements("f(\na,\nb\n)"), "    f(\n        a,\n        b\n    )");
    EXPECT_EQ(format_statements("x = a +\nb"), "    x = a +\n        b");
    // Hand-made alignment of operands stays.
    EXPECT_EQ(format_statements("  return a ? b\n           : c"), "    return a ? b\n             : c");
    EXPECT_EQ(format_statements("a.\nb->\nc"), "    a .\n        b->\n        c");
    EXPECT_EQ(format_statements("f\n(a)"), "    f(a)");
    EXPECT_EQ(format("probe\nbegin\n{ }"), "probe begin { }\n");
}

TEST(Formatter, EmptyLines) {
    EXPECT_EQ(format("\n\n\nglobal a\n\n\n\nglobal b\nglobal c\n\n\n"), "global a\n\nglobal b\nglobal c\n");
    EXPECT_EQ(format_statements("\n\na\n\n\n\nb\n\n"), "    a\n\n    b");
    EXPECT_EQ(format_statements("if (a)\n\nb\n\nelse\n\nc"), "    if (a)\n        b\n    else\n        c");
    EXPECT_EQ(format_statements("f(a,\n\nb)"), "    f(a,\n      b)");
    EXPECT_EQ(format(""), "");
    EXPECT_EQ(format(" \n\t\n"), "");
}

TEST(Formatter, Comments) {
    EXPECT_EQ(format("#!/usr/bin/sonde\n//a  \n\n\n# b\nprobe begin { }//c"),
              "#!/usr/bin/sonde\n//a\n\n# b\nprobe begin { } //c\n");
    EXPECT_EQ(format_statements("// a\nx   // b\n\n  // c\n\n"), "    // a\n    x // b\n\n    // c");
    EXPECT_EQ(format("probe begin { // a\nx }"), "probe begin\n{ // a\n    x\n}\n");
    EXPECT_EQ(format_statements("if (a) // b\n{ // c\nd\n} // e\nelse // f\ng"),
              "    if (a) // b\n    { // c\n        d\n    } // e\n    else // f\n        g");
    EXPECT_EQ(format_statements("if (a)\n// b\nc"), "    if (a)\n        // b\n        c");
    EXPECT_EQ(format_statements("f(a, // b\n// c\nd)"), "    f(a, // b\n      // c\n      d)");
    EXPECT_EQ(format_statements("f(/* a */b/* c */,d)"), "    f(/* a */ b /* c */, d)");
    // Comments that were aligned stay so.
    EXPECT_EQ(format_statements("a = 1    // b\nlong_name=2 // c\nd       // e"),
              "    a = 1 // b\n    long_name = 2 // c\n    d // e");
    EXPECT_EQ(format_statements("a  = 1    // b\nbcd = 2   // c"), "    a = 1     // b\n    bcd = 2   // c");
    EXPECT_EQ(format("  /* a\n   * b\n     c */\nglobal x"), "/* a\n   * b\n     c */\nglobal x\n");
    EXPECT_EQ(format_statements("/* a\n * b  \n */\nx"), "    /* a\n     * b\n     */\n    x");
    EXPECT_EQ(format("// only a comment"), "// only a comment\n");
    EXPECT_EQ(format("probe begin { } /* no end"), "probe begin { } /* no end\n");
}

TEST(Formatter, Macros) {
    EXPECT_EQ(format("@define  a( x,y )%( @x+@y %)"), "@define a(x, y) %( @x + @y %)\n");
    EXPECT_EQ(format("@define a %(\nb=1\nc=2 %)"), "@define a %(\n    b = 1\n    c = 2\n%)\n");
    EXPECT_EQ(format("@define a %( \"b\"\n\"c\" %)"), "@define a %(\n    \"b\"\n    \"c\"\n%)\n");
    EXPECT_EQ(format("probe begin { @a( 1 )  @b }"), "probe begin { @a(1)  @b }\n");
    // The macro may supply the `catch`.
    EXPECT_EQ(format_statements("try {\na\n} @b"), "    try {\n        a\n    } @b");
    EXPECT_EQ(format("probe begin @body\nprobe end @body"), "probe begin @body\nprobe end @body\n");
}

TEST(Formatter, Conditionals) {
    EXPECT_EQ(format("global a=%(arch==\"x86_64\"%?1%:2%)"), "global a = %( arch == \"x86_64\" %? 1 %: 2 %)\n");
    EXPECT_EQ(format("%( a %?\n  probe b {\nc }\n  %:\n  global d\n  %)\nprobe e { }"),
              "%( a %?\nprobe b\n{\n    c\n}\n%:\nglobal d\n%)\nprobe e { }\n");
    // Around statements, it begins in the first column.
    EXPECT_EQ(format_statements("  %( a %?\nb\n  %:\nc\n %)\nd"), "%( a %?\n    b\n%:\n    c\n%)\n    d");
    EXPECT_EQ(format_statements("%( a %? b %: c %)\nd"), "    %( a %? b %: c %)\n    d");
    // The branches of a conditional need not be balanced.
    EXPECT_EQ(format("%( a %?\nprobe b {\n%:\nprobe c {\n%)\nd\n}\nprobe e { }"),
              "%( a %?\nprobe b\n{\n%:\nprobe c\n{\n%)\n    d\n}\nprobe e { }\n");
    EXPECT_EQ(format("probe process(\"a\").%( b %? c %: d %){ }"), "probe process(\"a\").%( b %? c %: d %) { }\n");
}

TEST(Formatter, EmbeddedC) {
    const std::string code = "%{\n#include <linux/fs.h>\n\tint  x;   \n%}\n";
    EXPECT_EQ(format(code), code);
    EXPECT_EQ(format("function f:long (a)%{ STAP_RETVALUE=1; %}\nfunction g() %{\n  x\n%}"),
              "function f:long(a) %{ STAP_RETVALUE=1; %}\nfunction g() %{\n  x\n%}\n");
}

TEST(Formatter, Bytes) {
    EXPECT_EQ(format("probe begin {\r\n\tx // a\r\n}\r\n"), "probe begin\r\n{\r\n    x // a\r\n}\r\n");
    EXPECT_EQ(format("/* a\r\n * b\r\n */\r\nglobal x"), "/* a\r\n * b\r\n */\r\nglobal x\r\n");
    EXPECT_EQ(format("\ufeffglobal  x"), "\ufeffglobal x\n");
    const std::string nul("// a\0b\nglobal x\n", 16);
    EXPECT_EQ(format(nul), nul);
    // A character of UTF-8 is one column.
    EXPECT_EQ(format_statements("f(\"äöü\", g(a,\nb))"), "    f(\"äöü\", g(a,\n               b))");
}

TEST(Formatter, DeepNesting) {
    for (const char* bracket : {"{\n", "(", "%( ", "%( %? {", "if (a) ", "else ", "f(\n"}) {
        std::string text = "probe begin { ";
        for (size_t i = 0; i < 100'000; i++)
            text += bracket;
        EXPECT_TRUE(format_script(text)) << bracket;
    }
}

TEST(Formatter, LargeText) {
    const std::string piece =
        "probe process(\"a\").function(\"b\") {\n  // A comment.\n  if (x) n[$a->b, \"text\"]++ # x\n"
        "  printf(\"%d\\n\",\n a) }\n";
    std::string text;
    while (text.size() < 10'000'000)
        text += piece;
    const auto begin = std::chrono::steady_clock::now();
    const Result<std::string> out = format_script(text);
    ASSERT_TRUE(out);
    EXPECT_GT(out->size(), text.size());
    // Some seconds at most, also with sanitizers: this is about quadratic time.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(120));
}

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// All scripts of the project, and the blocks of code in its documentation.
std::vector<std::string> find_scripts() {
    std::vector<std::string> out;
    for (const char* folder : {"stdlib", "examples", "tests", "docs"})
        for (const auto& entry :
             std::filesystem::recursive_directory_iterator(std::filesystem::path(SONDE_SOURCE) / folder)) {
            const std::string extension = entry.path().extension();
            if (extension == ".stp" || extension == ".stpm")
                out.push_back(read(entry.path()));
            if (extension != ".md")
                continue;
            const std::string text = read(entry.path());
            for (size_t at = 0; (at = text.find("\n```", at)) != std::string::npos;) {
                const size_t begin = text.find('\n', at + 1), end = text.find("\n```", begin);
                if (end == std::string::npos)
                    break;
                out.push_back(text.substr(begin, end - begin));
                at = end + 4;
            }
        }
    std::erase_if(out, [](const std::string& text) { return !has_valid_tokens(text); });
    return out;
}

TEST(Formatter, ScriptsKeepTheirMeaning) {
    const std::vector<std::string> scripts = find_scripts();
    EXPECT_GT(scripts.size(), 500U);
    for (const std::string& text : scripts)
        EXPECT_EQ(dump(format(text)), dump(text));
}

TEST(Formatter, DocumentedStyle) {
    const std::string text = read(std::filesystem::path(SONDE_SOURCE) / "docs/formatting.md"),
                      open = "\n```systemtap\n";
    size_t blocks = 0;
    for (size_t at = 0; (at = text.find(open, at)) != std::string::npos; blocks++) {
        const size_t begin = at + open.size(), end = text.find("```", begin);
        EXPECT_EQ(format(text.substr(begin, end - begin)), text.substr(begin, end - begin));
        at = end;
    }
    EXPECT_EQ(blocks, 2U);
}

// Returns the text with some pieces deleted, doubled or exchanged, and with other blanks.
std::string corrupt(const std::string& text, std::mt19937& random) {
    Sources sources;
    Diagnostics ignored(sources);
    std::vector<std::string> pieces;
    size_t end = 0;
    for (const Token& token : lex_as_written(sources.add("script", text), sources, ignored)) {
        pieces.push_back(text.substr(end, token.range.begin - end));
        pieces.push_back(text.substr(token.range.begin, token.range.end - token.range.begin));
        end = token.range.end;
    }
    const auto pick = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
    for (size_t i = 0; i < 1 + pieces.size() / 20; i++) {
        std::string &one = pieces[pick(pieces.size())], &other = pieces[pick(pieces.size())];
        const char* const blanks[] = {"", " ", "\n", "\n\n\n", "\t", "  ", " /* c */ ", " // c\n", "\n# c\n", "\r\n"};
        switch (pick(4)) {
        case 0:
            one.clear();
            break;
        case 1:
            one = other;
            break;
        case 2:
            std::swap(one, other);
            break;
        default:
            pieces[pick(pieces.size() / 2) * 2] = blanks[pick(std::size(blanks))];
        }
    }
    std::string out;
    for (const std::string& piece : pieces)
        out += piece;
    return out;
}

// The first `;` moves behind the parenthesis, so the rest is below the parenthesis.
TEST(Formatter, EmptyPartsOfLoops) {
    EXPECT_EQ(format_statements("for (\n; i < 3;\n i++) x()"), "    for (; i < 3;\n         i++) x()");
}

TEST(Formatter, CorruptScripts) {
    std::mt19937 random(20261130);
    size_t tried = 0;
    for (const std::string& text : find_scripts())
        for (int i = 0; i < 3 && text.size() < 20'000 && !HasFailure(); i++)
            if (const std::string corrupted = corrupt(text, random); has_valid_tokens(corrupted)) {
                format(corrupted);
                tried++;
            }
    EXPECT_GT(tried, 500U);
}

} // namespace
} // namespace sonde
