// The lexer, the preprocessor, the parser, printing of the tree, and the index of library declarations.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "frontend/ast/ast.h"
#include "frontend/lex/token.h"
#include "frontend/parse/format.h"
#include "frontend/parse/parser.h"
#include "frontend/parse/preprocess.h"
#include "frontend/tapset/library.h"

namespace sonde {
namespace {

ParseOptions usual_options() {
    ParseOptions options;
    options.kernel_release = "6.1.0-13-amd64";
    options.arch = "x86_64";
    static const KernelConfig config = {{"CONFIG_BPF", "y"}, {"CONFIG_HZ", "250"}, {"CONFIG_USB", "m"}};
    options.kernel_config = []() -> const KernelConfig& { return config; };
    return options;
}

// A parsed script.
struct Parsed {
    Sources sources;
    Arena arena;
    Diagnostics diags{sources};
    ast::File* file = nullptr;

    explicit Parsed(const std::string& text, const ParseOptions& options = usual_options(), bool tapset = false) {
        FileId id = sources.add("t.stp", text, tapset);
        file = parse_file(id, sources, options, arena, diags);
        diags.say_held(); // also errors of pass 2
    }

    // "line:column-end id: message", one line per message; `end` is the column after the marked text.
    std::string messages() const {
        std::string out;
        for (const Diagnostic& diag : diags.all()) {
            LineColumn place = sources.line_column(diag.range.file, diag.range.begin);
            out += fmt::format("{}:{}-{} {}: {}\n", place.line, place.column,
                               place.column + diag.range.end - diag.range.begin, diag_name(diag.id), diag.message);
        }
        return out;
    }
};

std::string errors(const std::string& text, const ParseOptions& options = usual_options()) {
    return Parsed(text, options).messages();
}

// An expression, printed again, or the messages.
std::string expr(const std::string& text, const ParseOptions& options = usual_options()) {
    Parsed parsed("probe begin { " + text + " }", options);
    if (parsed.diags.has_errors())
        return parsed.messages();
    const ast::Stmt* stmt = parsed.file->probes.at(0)->body->body.at(0);
    EXPECT_EQ(stmt->kind, ast::StmtKind::Expression);
    return ast::to_source(*ast::as<ast::ExprStmt>(*stmt).expr);
}

// With every binary operator in parentheses, to see the grouping.
std::string grouped(const ast::Expr& e) {
    if (e.kind == ast::ExprKind::Binary) {
        const auto& b = ast::as<ast::BinaryExpr>(e);
        static const char* const signs[] = {"*",  "/",  "%",  "+", "-",  ".",  "<<", ">>", ">>>", "<",  "<=",
                                            "==", "!=", ">=", ">", "=~", "!~", "&",  "^",  "|",   "&&", "||"};
        return "(" + grouped(*b.left) + " " + signs[static_cast<int>(b.op)] + " " + grouped(*b.right) + ")";
    }
    if (e.kind == ast::ExprKind::In)
        return "(" + grouped(*ast::as<ast::InExpr>(e).keys[0]) + " in " + ast::as<ast::InExpr>(e).array + ")";
    if (e.kind == ast::ExprKind::Ternary) {
        const auto& t = ast::as<ast::TernaryExpr>(e);
        return "(" + grouped(*t.condition) + " ? " + grouped(*t.then_value) + " : " + grouped(*t.else_value) + ")";
    }
    if (e.kind == ast::ExprKind::Assign) {
        const auto& a = ast::as<ast::AssignExpr>(e);
        return "(" + grouped(*a.target) + " = " + grouped(*a.value) + ")";
    }
    if (e.kind == ast::ExprKind::Unary)
        return "[" + ast::to_source(e) + "]";
    return ast::to_source(e);
}

std::string group(const std::string& text) {
    Parsed parsed("probe begin { " + text + " }");
    if (parsed.diags.has_errors())
        return parsed.messages();
    return grouped(*ast::as<ast::ExprStmt>(*parsed.file->probes.at(0)->body->body.at(0)).expr);
}

// The tree as text. Checks that this text has the same tree.
std::string dumped(const std::string& text, const ParseOptions& options = usual_options()) {
    Parsed first(text, options);
    EXPECT_EQ(first.messages(), "");
    std::string dump = ast::dump(*first.file);
    ParseOptions again = options;
    again.args.clear();
    Parsed second(dump, again);
    EXPECT_EQ(second.messages(), "") << dump;
    EXPECT_EQ(ast::dump(*second.file), dump);
    return dump;
}

// The body of `probe begin { TEXT }`, dumped.
std::string body(const std::string& text) {
    std::string dump = dumped("probe begin { " + text + " }");
    return dump.substr(std::string("probe begin\n{\n").size(), dump.size() - std::string("probe begin\n{\n}\n").size());
}

std::string points(const std::string& text) {
    Sources sources;
    Arena arena;
    Diagnostics diags(sources);
    FileId id = sources.add("t.stp", text);
    std::string out;
    for (const ast::ProbePoint* point : parse_probe_points(id, sources, usual_options(), arena, diags))
        out += (out.empty() ? "" : ", ") + ast::to_source(*point);
    return diags.has_errors() ? diags.all()[0].message : out;
}

std::string repeat(const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; i++)
        out += text;
    return out;
}

// ---- lexer ------------------------------------------------------------------------------------------------------

TEST(Lex, Comments) {
    EXPECT_EQ(expr("1 # to the end\n + 2"), "1 + 2");
    EXPECT_EQ(expr("1 // to the end\n + /* inside\n */ 2"), "1 + 2");
    EXPECT_EQ(errors("probe begin { } /* never ends"),
              "1:17-19 unclosed-comment: `/*` has no `*/`: the rest of the script is a comment\n");
    EXPECT_EQ(errors("probe begin { } /* ends **/"), "");
    EXPECT_EQ(errors(std::string("probe begin { } # \0 x\n", 22)), "");
}

TEST(Lex, Numbers) {
    EXPECT_EQ(expr("0x1F + 017 + 9"), "31 + 15 + 9");
    EXPECT_EQ(expr("18446744073709551615"), "0xffffffffffffffff");
    EXPECT_EQ(expr("9223372036854775808"), "0x8000000000000000");
    EXPECT_EQ(errors("probe begin { x = 18446744073709551616 }"),
              "1:19-39 bad-number: `18446744073709551616` does not fit into 64 bits\n");
    EXPECT_EQ(errors("probe begin { x = 12ab }"), "1:19-23 bad-number: `12ab` is not a number\n");
    Parsed octal("probe begin { x = 089 }");
    ASSERT_EQ(octal.diags.all().size(), 1u);
    EXPECT_EQ(octal.diags.all()[0].helps[0], "a leading 0 makes a number octal");
}

TEST(Lex, Strings) {
    EXPECT_EQ(expr(R"("a\tb\"\\\x41\101\q\e")"), R"("a\tb\"\\AAqe")");
    EXPECT_EQ(expr("\"a\" /* joined */ \"b\"\n\"c\""), "\"abc\"");
    EXPECT_EQ(expr(R"("\1" "1")"), R"("\0011")");
    EXPECT_EQ(expr(R"("seen\0unseen")"), R"("seen")");
    EXPECT_EQ(errors("probe begin { print(\"open) }\n"),
              "1:21-29 unclosed-string: this string has no closing `\"` on its line\n"
              "2:1-1 syntax: expected `)` after the arguments, got the end of the script\n");
}

TEST(Lex, BadBytes) {
    EXPECT_EQ(errors("probe begin { x = 1 \\ }"), "1:21-22 bad-character: nothing in a script begins with `\\`\n");
    EXPECT_EQ(errors("probe begin { \xff\xfe x = 1 }"),
              "1:15-17 bad-character: nothing in a script begins with byte 0xff\n");
    EXPECT_EQ(errors(std::string("probe begin { \0 }", 17)),
              "1:15-16 bad-character: nothing in a script begins with byte 0x00\n");
    Parsed quotes("probe begin { x = \xe2\x80\x9c\xe2\x80\x9c }");
    EXPECT_EQ(quotes.diags.all()[0].message, "nothing in a script begins with `\xe2\x80\x9c`");
    EXPECT_EQ(quotes.diags.all()[0].helps[0], "write a string between `\"` and `\"`");
}

TEST(Lex, Arguments) {
    ParseOptions options = usual_options();
    options.args = {"12", "a b", "read*", "\"q\"", "-5", "$1"};
    EXPECT_EQ(expr("$1 + $#", options), "12 + 6");
    EXPECT_EQ(expr("@2 @# @1", options), "\"a b612\"");
    EXPECT_EQ(expr("$4 \"r\"", options), "\"qr\"");
    EXPECT_EQ(expr("x = $5", options), "x = -5");
    EXPECT_EQ(expr("$13",
                   [&] {
                       ParseOptions thirteen = options;
                       thirteen.args.resize(13, "8");
                       return thirteen;
                   }()),
              "8");
    EXPECT_EQ(dumped("probe process(@2).f*$1, syscall.$3.return { }", options),
              "probe process(\"a b\").f*12, syscall.read*.return\n{\n}\n");
    // Name characters after it belong to the pasted text.
    options.args[0] = "foo";
    EXPECT_EQ(expr("$1_bar + $1", options), "foo_bar + foo");
    EXPECT_EQ(errors("probe begin { x = $7 }", options),
              "1:19-21 bad-argument: `$7`: the command line has 6 script arguments\n");
    EXPECT_EQ(errors("probe begin { x = @0 }", options), "1:19-21 bad-argument: `@0`: arguments are counted from 1\n");
    EXPECT_EQ(errors("probe begin { x = $6 }", options),
              "1:19-21 bad-argument: `$1`: an argument cannot use another one\n");
    options.args = {"/bin/ls"};
    Parsed path("probe process($1).begin { }", options);
    EXPECT_EQ(path.messages(),
              "1:15-17 syntax: expected a literal number or string as the probe point's argument, got `/`\n");
    EXPECT_EQ(path.diags.all()[0].helps[0], "`$1` stands for the argument's characters, `@1` for the same as a string");
    // Bytes with which no token begins are reported where the argument is used.
    options.args = {"\x80\x81\x82\x83"};
    EXPECT_EQ(errors("probe begin { x = $1 }", options),
              "1:19-21 bad-character: nothing in a script begins with byte 0x80\n"
              "1:22-23 syntax: expected an expression, got `}`\n");
}

// ---- preprocessor -----------------------------------------------------------------------------------------------

std::string chosen(const std::string& condition, const ParseOptions& options = usual_options()) {
    return expr("%( " + condition + " %? yes %: no %)", options);
}

ParseOptions older(const std::string& version) {
    ParseOptions options = usual_options();
    options.compatible = version;
    return options;
}

TEST(Preprocess, Conditions) {
    EXPECT_EQ(chosen("kernel_v >= \"6.1\""), "yes");
    EXPECT_EQ(chosen("kernel_v < \"6.10\""), "yes");
    EXPECT_EQ(chosen("kernel_v == \"6.1.0\""), "yes");
    EXPECT_EQ(chosen("kernel_vr == \"*-amd64\""), "yes");
    EXPECT_EQ(chosen("kernel_vr != \"6.1*\""), "no");
    EXPECT_EQ(chosen("systemtap_v >= \"5.6\""), "yes");
    EXPECT_EQ(chosen("arch == \"x86_64\" || arch == \"arm64\""), "yes");
    EXPECT_EQ(chosen("runtime == \"bpf\" && runtime != \"kernel\""), "yes");
    EXPECT_EQ(chosen("systemtap_privilege == \"stapdev\""), "yes");
    EXPECT_EQ(chosen("guru_mode == 0"), "yes");
    EXPECT_EQ(chosen("CONFIG_BPF == \"y\""), "yes");
    EXPECT_EQ(chosen("CONFIG_USB == \"[my]\""), "yes");
    EXPECT_EQ(chosen("CONFIG_HZ >= 100"), "yes");
    EXPECT_EQ(chosen("CONFIG_NONE == \"\""), "yes");
    EXPECT_EQ(chosen("CONFIG_NONE >= 100"), "no");
    EXPECT_EQ(chosen("CONFIG_NONE != CONFIG_BPF"), "yes");
    EXPECT_EQ(chosen("\"a\" < \"b\""), "yes");
    EXPECT_EQ(chosen("-1 < 0"), "yes");
    EXPECT_EQ(chosen("$# == 0"), "yes");
    // && binds more tightly.
    EXPECT_EQ(chosen("1 == 1 || 1 == 2 && 1 == 2"), "yes");
    EXPECT_EQ(chosen("1 == 2 && 1 == 1 || 1 == 2"), "no");
}

TEST(Preprocess, Branches) {
    EXPECT_EQ(expr("%( 1 == 2 %? a %) b"), "b");
    EXPECT_EQ(expr("%( 1 == 1 %? %( 1 == 2 %? a %: b %) %: %( c %) %)"), "b");
    // The branch that is not taken is only lexed.
    EXPECT_EQ(expr("%( 1 == 2 %? probe } ) @nothing %: b %)"), "b");
    EXPECT_EQ(expr("\"a\" %( 1 == 1 %? \"b\" %) \"c\""), "\"abc\"");
    EXPECT_EQ(dumped("%( kernel_v > \"2.6\" %? probe begin %: probe end %) { }"), "probe begin\n{\n}\n");
}

TEST(Preprocess, BadConditions) {
    EXPECT_EQ(errors("%( kernel_w > \"2\" %? %)"), "1:4-12 syntax: `kernel_w` is not an operand of a condition\n");
    EXPECT_EQ(errors("%( 1 == \"1\" %? %)"), "1:9-12 syntax: a condition cannot compare a number with a string\n");
    EXPECT_EQ(errors("%( kernel_v >= 4 %? %)"),
              "1:16-17 syntax: a condition cannot compare `kernel_v` with a number\n");
    EXPECT_EQ(errors("%( kernel_v < \"x*\" %? %)"), "1:15-19 syntax: `<` cannot compare with a pattern\n");
    for (const char* word : {"arch", "runtime", "guru_mode", "systemtap_privilege"})
        EXPECT_EQ(errors(fmt::format("%( 1 == 2 && {} < \"x\" %? %)", word)),
                  fmt::format("1:{0}-{1} syntax: `{2}` can be compared only by `==` and `!=`\n",
                              std::string_view(word).size() + 15, std::string_view(word).size() + 16, word));
    EXPECT_EQ(errors("%( guru_mode == 2 %? %)"), "1:17-18 syntax: `guru_mode` must be 0 or 1\n");
    EXPECT_EQ(errors("%( 1 + 1 %? %)"), "1:6-7 syntax: expected a comparison, got `+`\n");
    EXPECT_EQ(errors("%( 1 == %? %)"), "1:4-8 syntax: expected `operand operator operand` as a condition\n");
    EXPECT_EQ(errors("%( 1 == 1 2 %? %)"), "1:11-12 syntax: expected `&&`, `||` or `%?`, got `2`\n");
    EXPECT_EQ(errors("%( 1 == 1 %? probe"), "1:1-3 syntax: `%(` has no `%)`\n");
    EXPECT_EQ(errors("%( 1 == 1 %)"), "1:1-3 syntax: `%(` has no `%?`\n");
    EXPECT_EQ(errors("%( 1 == 1 %: %? %)"), "1:1-3 syntax: `%(` has no `%?`\n");
    EXPECT_EQ(errors("%( 1 == 1 %? %: %: %)"), "1:17-19 syntax: `%(` has a second `%:`\n");
    EXPECT_EQ(errors("%( 1 == 1 %? %? %)"), "1:14-16 syntax: `%(` has a second `%?`\n");
}

TEST(Preprocess, Macros) {
    EXPECT_EQ(errors("probe begin { print(@twice(1 + 2)) }"), "1:21-34 unknown-operator: unknown operator `@twice`\n");
    EXPECT_EQ(dumped("@define twice(x) %( ((@x) * 2) %) @define one %( 1 %)\n"
                     "probe begin { a = @twice(1 + f(2, 3)); c = @twice(@twice(@one)) }"),
              "probe begin\n{\n  a = (1 + f(2, 3)) * 2;\n  c = 1 * 2 * 2;\n}\n");
    // Arguments end at commas outside of brackets; a macro without parameters does not consume the `(`.
    EXPECT_EQ(dumped("@define second(x, y) %( @y %) @define f %( g %)\n"
                     "probe begin { a = @second(b[1, 2], h(3, 4)); a = @f(6) }"),
              "probe begin\n{\n  a = h(3, 4);\n  a = g(6);\n}\n");
}

TEST(Preprocess, MacroPlaces) {
    // Text from a macro's body has the place of the macro's use; text from an argument has its own place.
    EXPECT_EQ(errors("@define bad(x) %( @x + ; %)\nprobe begin { a = @bad(1) }"),
              "2:19-23 syntax: expected an expression, got `;`\n");
    EXPECT_EQ(errors("@define good(x) %( @x %)\nprobe begin { a = @good(1 2 = 3) }"),
              "2:27-28 not-assignable: `2` cannot be changed by `=`\n");
}

TEST(Preprocess, BadMacros) {
    EXPECT_EQ(errors("@define a %( 1 %) @define a %( 2 %)"), "1:27-28 redefinition: macro `@a` is defined twice\n");
    EXPECT_EQ(errors("@define a(x) %( @x %) probe begin { @a(1, 2) }"),
              "1:37-39 arity: macro `@a` takes 1 argument, not 2\n");
    EXPECT_EQ(errors("@define a(x) %( @x %) probe begin { y = @a(1 }"),
              "1:43-44 syntax: `(` has no `)` in the use of macro `@a`\n"
              "1:41-43 unknown-operator: unknown operator `@x`\n"
              "1:47-47 syntax: expected a statement or `}`, got the end of the script\n");
    EXPECT_EQ(errors("@define 1 %( %)").substr(0, 55), "1:9-10 syntax: expected a macro's name after `@define`,");
    EXPECT_EQ(errors("@define a %( @define b %( 1 %) %)"), "1:14-21 syntax: a macro cannot define a macro\n");
    EXPECT_EQ(errors("@define a(x, y, x) %( @x %)"), "1:17-18 bad-declaration: the parameter `x` is declared twice\n");
    EXPECT_EQ(errors("@define sum(x) %( @x %)"),
              "1:9-12 shadowed-operator: macro `@sum` hides the operator of that name\n");
}

TEST(Preprocess, Bombs) {
    EXPECT_EQ(errors("@define a %( @a %) probe begin { @a }").substr(0, 70),
              "1:34-36 syntax: macros and conditionals are nested more than 100 deep\n");
    std::string bomb = "@define m0 %( 1 + %)\n";
    std::string silent = "@define m0 %( %)\n";
    for (int i = 1; i < 60; i++) {
        std::string next = fmt::format("@define m{} %( @m{} @m{} %)\n", i, i - 1, i - 1);
        bomb += next;
        silent += next;
    }
    for (const std::string& text : {bomb, silent})
        EXPECT_NE(errors(text + "probe begin { @m59 1 }").find("macros produce more than 1000000 tokens"),
                  std::string::npos);
    EXPECT_NE(errors(repeat("%( 1 == 1 %? ", 5000) + repeat("%)", 5000)).find("nested more than 100 deep"),
              std::string::npos);
}

TEST(Preprocess, LibraryMacros) {
    Sources sources;
    Diagnostics diags(sources);
    Arena arena;
    MacroTable table;
    ParseOptions options = usual_options();
    FileId library = sources.add("m.stpm", "%( arch == \"x86_64\" %? @define word %( 8 %) %)\n"
                                           "@define half(x) %( ((@x) / 2) %)");
    load_macros(library, sources, options, table, diags);
    options.macros = &table;
    FileId script = sources.add("t.stp", "@define word %( 4 %) probe begin { a = @half(@word) }");
    ast::File* file = parse_file(script, sources, options, arena, diags);
    EXPECT_FALSE(diags.has_errors());
    EXPECT_EQ(ast::dump(*file), "probe begin\n{\n  a = 4 / 2;\n}\n"); // a macro of the file takes precedence
    load_macros(sources.add("n.stpm", "probe begin { }"), sources, options, table, diags);
    ASSERT_EQ(diags.all().size(), 1u);
    EXPECT_EQ(diags.all()[0].message, "expected `@define` in a library of macros, got `probe`");
}

// ---- expressions ------------------------------------------------------------------------------------------------

TEST(Parse, Precedence) {
    EXPECT_EQ(group("1 + 2 * 3 - 4"), "((1 + (2 * 3)) - 4)");
    EXPECT_EQ(group("a . b + c . d"), "((a . (b + c)) . d)");
    EXPECT_EQ(group("1 << 2 . 3"), "(1 << (2 . 3))");
    EXPECT_EQ(group("a & 1 == 1"), "(a & (1 == 1))");
    EXPECT_EQ(group("a | b ^ c & d"), "(a | (b ^ (c & d)))");
    EXPECT_EQ(group("a < b == c"), "((a < b) == c)");
    EXPECT_EQ(group("a >> 1 < b >>> 2"), "((a >> 1) < (b >>> 2))");
    EXPECT_EQ(group("a || b && c | d"), "(a || (b && (c | d)))");
    EXPECT_EQ(group("k == 1 in arr & 2"), "(((k == 1) in arr) & 2)");
    EXPECT_EQ(group("[k] in arr && x"), "((k in arr) && x)");
    EXPECT_EQ(group("a =~ \"x\" && b"), "((a =~ \"x\") && b)");
    EXPECT_EQ(group("a ? b : c ? d : e"), "(a ? b : (c ? d : e))");
    EXPECT_EQ(group("x = y = a ? b : c"), "(x = (y = (a ? b : c)))");
    EXPECT_EQ(group("-a * !b"), "([-a] * [!b])");
    EXPECT_EQ(group("a - b - c"), "((a - b) - c)");
    EXPECT_EQ(group("a % b / c"), "((a % b) / c)");
}

// After the `:` an assignment is not part of the value.
TEST(Parse, TernaryTargets) {
    EXPECT_EQ(expr("c ? a : b = 3 ? 4 : 5", older("3.3")), "c ? a : b = 3 ? 4 : 5");
    EXPECT_EQ(errors("probe begin { c ? a : b = 3 }"),
              "1:15-24 not-assignable: `c ? a : b` cannot be changed by `=`\n");
}

TEST(Parse, OlderLanguages) {
    EXPECT_EQ(dumped("global private probe begin { private = 1 }", older("2.9")),
              "global private\nprobe begin\n{\n  private = 1;\n}\n");
    EXPECT_EQ(expr("\"\\x41\"", older("2.2")), "\"x41\"");
    EXPECT_EQ(chosen("systemtap_v < \"3.0\"", older("2.10")), "yes");
    EXPECT_EQ(errors("probe begin { @enumname(1, \"enum e\") }", older("5.5")),
              "1:15-24 syntax: `@enumname` is not in SystemTap 5.5\n");
    EXPECT_EQ(errors("probe begin { x->y }", older("2.5")),
              "1:16-18 syntax: `->` after a value is not in SystemTap 2.5\n");
    EXPECT_EQ(errors("probe begin { $x->y; @enum(\"E\") }", older("5.5")), "");
}

TEST(Parse, Parentheses) {
    // Printed where they are necessary, and only there.
    for (const char* text :
         {"(a + b) * c", "a - (b - c)", "a . (b . c)", "(a & 1) == 1", "(a ? b : c) ? d : e", "(a = b) + 1",
          "-(a + b)",    "- -a",        "! ~a",        "-(-1 + 2)",    "(k in a) == 1",       "(a || b) && c",
          "a - --b",     "a++ + ++b",   "(x)[1]",      "(a + b)->c",   "f(x)->m[2]->n$",      "a[1][2]",
          "x->y",        "(-x)->y",     "(x)$"})
        EXPECT_EQ(expr(text), text);
    EXPECT_EQ(expr("((a)) + ((b * c))"), "a + b * c");
    EXPECT_EQ(expr("!([1, 2] in a)"), "!([1, 2] in a)");
    EXPECT_NE(expr("![1, 2] in a").find("syntax"), std::string::npos); // `in` binds less tightly than `!`
}

TEST(Parse, Assignments) {
    for (const char* op : {"=", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", ".=", "<<=", ">>=", "<<<"})
        EXPECT_EQ(expr(fmt::format("a[1] {} b", op)), fmt::format("a[1] {} b", op));
    EXPECT_EQ(expr("$x->y = 1"), "$x->y = 1");
    EXPECT_EQ(errors("probe begin { 1 = a }"), "1:15-16 not-assignable: `1` cannot be changed by `=`\n");
    EXPECT_EQ(errors("probe begin { f(x) += 1 }"), "1:15-19 not-assignable: `f(x)` cannot be changed by `+=`\n");
    EXPECT_EQ(errors("probe begin { (a + b)++ }"), "1:16-21 not-assignable: `a + b` cannot be changed by `++`\n");
    EXPECT_EQ(errors("probe begin { --5 }"), "1:17-18 not-assignable: `5` cannot be changed by `--`\n");
}

TEST(Parse, Targets) {
    for (const char* text : {"$x",
                             "$x->y[3]->z",
                             "$x[i + 1]$",
                             "$x$",
                             "$x$$",
                             "$$vars",
                             "$$parms$",
                             "$return->next",
                             "&$x->y",
                             "&$x",
                             "@var(\"x@u.c\")",
                             "@var(\"x@u.c\", \"mod\")->y[1]",
                             "@cast(p, \"type\")->m[i]$$",
                             "@cast($p->q, \"struct s\", \"kernel<linux/sched.h>\")->pid",
                             "$x->function->next",
                             "&@cast(p, \"t\")->m",
                             "@defined($x->y)",
                             "@entry($x)",
                             "@entry($x)->y",
                             "@perf(\"cycles\")",
                             "@choose_defined($a, $b)",
                             "@choose_defined(p, q)->pid",
                             "@cast(x, \"t\")[2]"})
        EXPECT_EQ(expr(text), text);
    EXPECT_EQ(expr("($x->y)->z"), "$x->y->z");
    EXPECT_EQ(errors("probe begin { print($) }"), "1:21-22 syntax: expected a target variable's name after `$`\n");
    EXPECT_EQ(errors("probe begin { print($x->) }"), "1:25-26 syntax: expected a member's name after `->`, got `)`\n");
    EXPECT_EQ(errors("probe begin { print(($x$)->y) }"), "1:26-28 syntax: `$x$` is text, which has no members\n");
    EXPECT_EQ(errors("probe begin { print(&x) }"), "1:22-23 syntax: `x` has no address\n");
    EXPECT_EQ(errors("probe begin { print(@cast(p, t)) }"),
              "1:30-31 syntax: expected the type's name as a string literal, got `t`\n");
    EXPECT_EQ(errors("probe begin { print(@var(\"x\", m)) }"),
              "1:31-32 syntax: expected a module's name as a string literal, got `m`\n");
}

TEST(Parse, Statistics) {
    for (const char* text : {"@count(x)", "@sum(x[1, \"a\"])", "@min(x)", "@max(x)", "@avg(x)", "@variance(x)",
                             "@variance(x, 3)", "@hist_log(x)", "@hist_log(x)[3]", "@hist_linear(x, -10, 10, 2)[i]"})
        EXPECT_EQ(expr(text), text);
    EXPECT_EQ(errors("probe begin { print(@count(f(x))) }"),
              "1:28-32 bad-statistic: `@count` takes a global or an array element, not `f(x)`\n");
    EXPECT_EQ(errors("probe begin { print(@sum(x, 1)) }"), "1:21-31 arity: `@sum` takes a statistic only\n");
    EXPECT_EQ(errors("probe begin { print(@hist_linear(x, 1)) }"),
              "1:21-39 arity: `@hist_linear` takes a statistic, low, high and width\n");
    EXPECT_EQ(errors("probe begin { print(@hist_linear(x, 0, n, 1)) }"),
              "1:40-41 syntax: expected a literal number, got `n`\n");
    EXPECT_EQ(errors("probe begin { print(@variance(x, 63)) }"),
              "1:21-37 bad-statistic: the bit shift of `@variance` must be from 0 to 62, not 63\n");
    for (const char* bounds : {"1, 0, 1", "0, 10, 0", "0, 10, -1", "0x7fffffffffffffff, 0x8000000000000000, 1"})
        EXPECT_NE(errors(fmt::format("probe begin {{ print(@hist_linear(x, {})) }}", bounds)).find("bad-statistic"),
                  std::string::npos);
    for (const char* bounds : {"0, 125, 1", "5, 5, 1", "0, 1000, 1"})
        EXPECT_EQ(errors(fmt::format("probe begin {{ print(@hist_linear(x, {})) }}", bounds)), "");
    EXPECT_EQ(expr("a + 1 in @hist_log(x)"), "a + 1 in @hist_log(x)");
    EXPECT_EQ(errors("probe begin { print(1 in @hist_log) }"),
              "1:35-36 syntax: expected `(` after `@hist_log`, got `)`\n");
}

TEST(Parse, Prints) {
    for (const char* text :
         {"print(1)", "println()", "println(1, \"a\")", "printd(\",\", 1, 2)", "printdln(\" \", a, b)",
          "printf(\"x\\n\")", "printf(\"%d %s\\n\", 1, \"a\")", "sprint(1)", "sprintln(1)", "sprintd(\",\", 1, 2)",
          "sprintdln(\",\", 1, 2)", "sprintf(\"%5.3s\", s)", "print(@hist_log(x))"})
        EXPECT_EQ(expr(text), text);
    EXPECT_EQ(errors("probe begin { print() }"), "1:15-22 arity: `print` needs at least 1 argument, got 0\n");
    EXPECT_EQ(errors("probe begin { printd(\",\", 1) }"),
              "1:15-29 arity: `printd` needs at least 2 arguments after the delimiter, got 1\n");
    EXPECT_EQ(errors("probe begin { printf(f, 1) }"),
              "1:22-23 syntax: expected a string literal as the first argument of `printf`, got `f`\n");
    // The directive is marked, also after escapes and in a second literal.
    EXPECT_EQ(errors("probe begin { printf(\"\\t\\x41 %q\", 1) }").substr(0, 21), "1:30-32 bad-format: `");
    EXPECT_EQ(errors("probe begin { printf(\"ab\" \"c%-05d\", 1) }").substr(0, 21), "1:29-34 bad-format: `");
    EXPECT_EQ(errors("probe begin { printf(\"%d %5\", 1) }").substr(0, 21), "1:26-28 bad-format: `");
}

TEST(Parse, BadExpressions) {
    EXPECT_EQ(errors("probe begin { x = }"), "1:19-20 syntax: expected an expression, got `}`\n");
    EXPECT_EQ(errors("probe begin { x = if }"), "1:19-21 syntax: expected an expression, got the keyword `if`\n");
    EXPECT_EQ(errors("probe begin { a =~ b }"), "1:20-21 syntax: the right side of `=~` must be a string literal\n");
    EXPECT_EQ(errors("probe begin { a ? b }"), "1:21-22 syntax: expected `:` between the two values of `?`, got `}`\n");
    EXPECT_EQ(errors("probe begin { x = [1, 2] }"),
              "1:26-27 syntax: expected `in` after the keys in brackets, got `}`\n");
    EXPECT_EQ(errors("probe begin { x = k in 5 }"), "1:24-25 syntax: expected an array after `in`, got `5`\n");
    EXPECT_EQ(errors("probe begin { x = %{ 1 %} }"), "1:19-26 embedded-code: embedded C code needs guru mode (-g)\n");
    Parsed open("probe begin { x = f(1, (2 + 3) }");
    EXPECT_EQ(open.messages(), "1:32-33 syntax: expected `)` after the arguments, got `}`\n");
    ASSERT_EQ(open.diags.all()[0].notes.size(), 1u);
    EXPECT_EQ(open.diags.all()[0].notes[0].range.begin, 19u);
}

// ---- statements -------------------------------------------------------------------------------------------------

TEST(Parse, Statements) {
    EXPECT_EQ(body("if (a) b; else if (c) { d } else { e; f }"),
              "  if (a) {\n    b;\n  }\n  else if (c) {\n    d;\n  }\n  else {\n    e;\n    f;\n  }\n");
    EXPECT_EQ(body("if (a) { b }; else c"), "  if (a) {\n    b;\n  }\n  else {\n    c;\n  }\n");
    EXPECT_EQ(body("while (a) { break continue; }"), "  while (a) {\n    break;\n    continue;\n  }\n");
    EXPECT_EQ(body("for (i = 0; i < 3; i++) a; for (;;) next"),
              "  for (i = 0; i < 3; i++) {\n    a;\n  }\n  for (; ; ) {\n    next;\n  }\n");
    EXPECT_EQ(body("try { a } catch (msg) { b } try { c } catch { d }"),
              "  try {\n    a;\n  }\n  catch (msg) {\n    b;\n  }\n  try {\n    c;\n  }\n  catch {\n    d;\n  }\n");
    EXPECT_EQ(body("delete a delete b[1, *]; ; { c }"), "  delete a;\n  delete b[1, *];\n  ;\n  {\n    c;\n  }\n");
    EXPECT_EQ(body("a = 1 b = 2\nc"), "  a = 1;\n  b = 2;\n  c;\n"); // no separator is needed
}

TEST(Parse, Foreach) {
    for (const char* head :
         {"k in a", "[k, l] in a", "v = k in a", "v = [k, l] in a", "k+ in a", "[k, l-] in a", "k in a+",
          "k in a @sum -", "k in a @count +", "k in a[1, *]", "[k, l] in a[*, \"x\"]- limit n + 1", "k in a limit 5",
          "b in @hist_log(x)", "b in @hist_linear(x[1], 0, 10, 1)"})
        EXPECT_EQ(body(fmt::format("foreach ({}) c", head)), fmt::format("  foreach ({}) {{\n    c;\n  }}\n", head));
    // A sign at the value has the same meaning as one at the array.
    EXPECT_EQ(body("foreach (v- = k in a) c"), body("foreach (v = k in a-) c"));
    EXPECT_EQ(body("foreach (v+= k in a) c"), body("foreach (v = k in a+) c"));
    EXPECT_EQ(body("foreach ([k] in a) c"), body("foreach (k in a) c"));
    EXPECT_EQ(errors("probe begin { foreach (k+ in a-) c }"),
              "1:31-32 syntax: only one `+` or `-` can set the sort order\n");
    EXPECT_EQ(errors("probe begin { foreach (k in f(x)) c }"),
              "1:29-33 syntax: `foreach` takes an array or a histogram, not `f(x)`\n");
    EXPECT_EQ(errors("probe begin { foreach (k in a @sum) c }"),
              "1:35-36 syntax: expected `+` or `-` after `@sum`, got `)`\n");
    EXPECT_EQ(errors("probe begin { foreach (k in a @hist_log -) c }"),
              "1:31-40 unknown-operator: cannot sort by `@hist_log`\n");
}

TEST(Parse, MisplacedStatements) {
    EXPECT_EQ(errors("probe begin { return 1 }"), "1:15-21 syntax: `return` is not in a function\n");
    EXPECT_EQ(errors("probe begin { break; while (1) continue; continue }"),
              "1:15-20 syntax: `break` is not in a loop\n1:42-50 syntax: `continue` is not in a loop\n");
    EXPECT_EQ(errors("probe begin { delete f(x) }"),
              "1:22-26 syntax: `delete` takes an array, an element or a global, not `f(x)`\n");
    EXPECT_EQ(errors("probe begin { try { } }"),
              "1:23-24 syntax: expected `catch` after the block of `try`, got `}`\n");
    EXPECT_EQ(errors("probe begin { else { } }"), "1:15-19 syntax: expected an expression, got the keyword `else`\n");
}

// ---- declarations -----------------------------------------------------------------------------------------------

TEST(Parse, Globals) {
    EXPECT_EQ(dumped("global a, b = 1, c = \"s\", d[100], e%, f%[10]; global g = -5 private h private global i, j"),
              "global a\nglobal b = 1\nglobal c = \"s\"\nglobal d[100]\nglobal e%\nglobal f%[10]\nglobal g = -5\n"
              "private global h\nprivate global i\nprivate global j\n");
    EXPECT_EQ(errors("global a[0]"),
              "1:10-11 bad-declaration: an array's capacity must be from 1 to 2147483647, not 0\n");
    EXPECT_EQ(errors("global a[-1]"),
              "1:10-12 bad-declaration: an array's capacity must be from 1 to 2147483647, not -1\n");
    EXPECT_EQ(errors("global a[5] = 1"), "1:8-16 bad-declaration: array `a` cannot have an initial value\n");
    EXPECT_EQ(errors("global a = f(1)"),
              "1:12-13 syntax: expected a literal number or string as the initial value, got `f`\n");
    EXPECT_EQ(errors("global next"), "1:8-12 syntax: expected a global's name, got the keyword `next`\n");
    EXPECT_EQ(errors("private probe begin { }").substr(0, 70),
              "1:9-14 syntax: expected `global` or `function` after `private`, got th");
}

TEST(Parse, Functions) {
    EXPECT_EQ(
        dumped("function f:long(a:string, b) { return 1 } private function g() { return } function h(x):3 { next }"),
        "function f:long(a:string, b) {\n  return 1;\n}\nprivate function g() {\n  return;\n}\n"
        "function h(x):3 {\n  next;\n}\n");
    EXPECT_EQ(errors("function f(a, a) { }"), "1:15-16 bad-declaration: the parameter `a` is declared twice\n");
    EXPECT_EQ(errors("function f(a,) { }"), "1:14-15 syntax: expected a parameter's name, got `)`\n");
    EXPECT_EQ(errors("function f:stats() { }"), "1:12-17 syntax: expected `long` or `string` after `:`, got `stats`\n");
    EXPECT_EQ(errors("function f():-1 { }"),
              "1:14-16 bad-declaration: a function's priority must be from 0 to 2147483647, not -1\n");
    EXPECT_EQ(errors("function f();"), "1:13-14 syntax: expected `{` to begin a block, got `;`\n");
}

TEST(Parse, Privileged) {
    ParseOptions guru = usual_options();
    guru.privileged = guru.guru = true;
    std::string text = "%{ #include <linux/fs.h> %} function f:long(a:string); function g() %{ /* pure */ x = 1; %}";
    EXPECT_EQ(dumped(text, guru),
              "%{ #include <linux/fs.h> %}\nfunction f:long(a:string);\nfunction g() %{ /* pure */ x = 1; %}\n");
    Parsed tapset(text, usual_options(), true);
    EXPECT_EQ(tapset.messages(), "");
    EXPECT_EQ(tapset.file->functions.at(0)->body, nullptr);
    EXPECT_EQ(tapset.file->functions.at(1)->embedded, " /* pure */ x = 1; ");
    EXPECT_EQ(errors("%{ a %} function g() %{ b %}"), "1:1-8 embedded-code: embedded C code needs guru mode (-g)\n"
                                                      "1:22-29 embedded-code: embedded C code needs guru mode (-g)\n");
    Parsed turned("%{ a }%");
    EXPECT_EQ(turned.diags.all()[0].helps[0], "write `%}` instead of `}%`");
    EXPECT_EQ(errors("%{ a"),
              "1:1-3 unclosed-string: `%{` has no `%}`\n1:1-5 embedded-code: embedded C code needs guru mode (-g)\n");
}

TEST(Parse, DocComments) {
    Parsed p("// not this\n\n// Says f.\n//  In two lines.\nfunction f() { }\n"
             "/**\n * Says g.\n */\nprivate function g() { }\n# Says a.\nprobe a = begin { }\nfunction none() { }\n");
    EXPECT_EQ(p.messages(), "");
    EXPECT_EQ(p.file->functions.at(0)->doc, "Says f.\n In two lines.\n");
    EXPECT_EQ(p.file->functions.at(1)->doc, "Says g.\n");
    EXPECT_EQ(p.file->functions.at(2)->doc, "");
    EXPECT_EQ(p.file->aliases.at(0)->doc, "Says a.\n");
}

TEST(Parse, Probes) {
    EXPECT_EQ(dumped("probe begin, end(-1)? , timer.s(5) if (on) { x = 1 }"),
              "probe begin, end(-1)?, timer.s(5) if (on)\n{\n  x = 1;\n}\n");
    EXPECT_EQ(
        dumped("probe a.b = begin { x } probe c += end ? { y } probe d = e = f!, g { p }, { q }"),
        "probe a.b = begin\n{\n  x;\n}\nprobe c += end?\n{\n  y;\n}\nprobe d = e = f!, g\n{\n  p;\n}\n,\n{\n  q;\n}\n");
    EXPECT_EQ(errors("probe a? = begin { }"), "1:7-8 bad-declaration: an alias's name cannot have a `?` or a `!`\n");
    EXPECT_EQ(errors("probe a if (x) = begin { }"),
              "1:13-14 bad-declaration: an alias's name cannot have a condition\n");
    EXPECT_EQ(errors("probe a += begin { }, { }"),
              "1:23-26 bad-declaration: an alias with `+=` has only one block, the epilogue\n");
}

TEST(Parse, ProbePoints) {
    EXPECT_EQ(points("process(\"a b\").function(\"f@x.c:10\").return?, begin"),
              "process(\"a b\").function(\"f@x.c:10\").return?, begin");
    EXPECT_EQ(points("sys*.**.r*d_**2.return"), "sys*.**.r*d_**2.return");
    EXPECT_EQ(points("kernel.function(\"f\").next.if.global"), "kernel.function(\"f\").next.if.global");
    EXPECT_EQ(points("{kernel,module(\"m\")}.{function(\"a\"),{x,y}.z}!"),
              "kernel.function(\"a\")!, kernel.x.z!, kernel.y.z!, module(\"m\").function(\"a\")!, module(\"m\").x.z!, "
              "module(\"m\").y.z!");
    EXPECT_EQ(points("kernel.statement(0x1000).absolute if (a && b)"), "kernel.statement(4096).absolute if (a && b)");
    EXPECT_EQ(points("a..b"), "expected a probe point, got `.`");
    EXPECT_EQ(points("a.b("),
              "expected a literal number or string as the probe point's argument, got the end of the script");
    EXPECT_EQ(points("a.b c"), "expected `,` or the end of the probe points, got `c`");
    EXPECT_EQ(points("{a,b"), "expected `}` after the alternatives, got the end of the script");
    EXPECT_EQ(points("$x"), "expected a probe point, got `$x`");
    Parsed text("probe timer.s(-0x10) { }");
    EXPECT_EQ(text.file->probes.at(0)->points.at(0)->components.at(1).text, "-0x10");
    EXPECT_EQ(text.file->probes.at(0)->points.at(0)->components.at(1).number, -16);
}

// ---- recovery and limits ----------------------------------------------------------------------------------------

TEST(Parse, SeveralErrors) {
    EXPECT_EQ(errors("probe begin {\n"
                     "  x = ;\n"
                     "  printf(\"%d\" y)\n"
                     "  z = 1\n"
                     "  if (a { b }\n"
                     "  while ) c;\n"
                     "}\n"
                     "probe kernel.function(x).return { }\n"
                     "function f( { }\n"
                     "}\n"
                     "global a b\n"
                     "probe end { y = 1 + }\n"),
              "2:7-8 syntax: expected an expression, got `;`\n"
              "3:15-16 syntax: expected `)` after the format, got `y`\n"
              "5:9-10 syntax: expected `)` after the condition, got `{`\n"
              "6:9-10 syntax: expected `(` after `while`, got `)`\n"
              "8:23-24 syntax: expected a literal number or string as the probe point's argument, got `x`\n"
              "9:13-14 syntax: expected a parameter's name, got `{`\n"
              "11:10-11 syntax: expected `probe`, `global` or `function`, got `b`\n"
              "12:21-22 syntax: expected an expression, got `}`\n");
}

TEST(Parse, UnclosedBlock) {
    Parsed p("probe begin { if (a) { x = 1\nprobe kernel.function(\"f\") { y = }\n");
    EXPECT_EQ(p.messages(), "2:1-6 syntax: expected a statement or `}`, got the keyword `probe`\n"
                            "2:34-35 syntax: expected an expression, got `}`\n");
    EXPECT_EQ(p.file->probes.size(), 2u); // everything that could be parsed
}

TEST(Parse, Nesting) {
    struct Case {
        std::string open, inside, close;
    };
    for (const Case& c :
         {Case{"(", "1", ")"}, Case{"- ", "1", ""}, Case{"f(", "1", ")"}, Case{"a[", "1", "]"}, Case{"$x[", "1", "]"},
          Case{"x = ", "1", ""}, Case{"1 ? 2 : ", "1", ""}, Case{"[", "1", "] in a"}, Case{"{ ", "x", "}"},
          Case{"if (1) ", "x", ""}, Case{"if (1) { ", "x", "}"}, Case{"if (1) x; else ", "x", ""},
          Case{"while (1) ", "x", ""}, Case{"try { ", "x", " } catch { }"}, Case{"@count(", "x", ")"}}) {
        std::string fine = "probe begin { " + repeat(c.open, 100) + c.inside + repeat(c.close, 100) + " }";
        if (c.open != "@count(")
            dumped(fine);
        std::string deep = "probe begin { " + repeat(c.open, 20000) + c.inside + repeat(c.close, 20000) + " }";
        Parsed parsed(deep);
        ASSERT_TRUE(parsed.diags.has_errors()) << c.open;
        EXPECT_EQ(parsed.diags.all()[0].message, "this is nested more than 256 deep") << c.open;
        EXPECT_LE(parsed.diags.all().size(), 3u) << c.open << parsed.diags.all()[1].message;
    }
    EXPECT_EQ(points(repeat("{", 20000) + "a"), "this is nested more than 256 deep");
}

TEST(Parse, LongChains) {
    for (const char* op : {" + 1", " . \"a\"", " && 1", " in a"}) {
        EXPECT_EQ(errors("probe begin { x = 1" + repeat(op, 500) + " }"), "") << op;
        Parsed parsed("probe begin { x = 1" + repeat(op, 100000) + " }");
        ASSERT_TRUE(parsed.diags.has_errors()) << op;
        EXPECT_EQ(parsed.diags.all()[0].message, "this expression has more than 512 nested operators");
    }
    // Nesting and chains count together.
    EXPECT_NE(errors("probe begin { x = " + repeat("(", 200) + "1" + repeat(" + 1 + 1 + 1)", 200) + " }"), "");
    // A long script is accepted.
    EXPECT_EQ(errors("probe begin { x = f(" + repeat("1, ", 50000) + "1)" + repeat("; y = 2", 50000) + " }"), "");
}

TEST(Parse, PointLimits) {
    EXPECT_EQ(points(repeat("{a,b}.", 20) + "c"), "these alternatives give more than 10000 probe points");
    EXPECT_EQ(points("a" + repeat(".a", 200)), "a probe point has at most 100 components");
    EXPECT_EQ(points("{a" + repeat(",a", 20000) + "}"), "these alternatives give more than 10000 probe points");
}

TEST(Parse, Garbage) {
    // Every prefix of a script with nearly all features, and the script with each byte removed: parsing does not crash,
    // and ends.
    std::string script =
        "@define m(x) %( @x %)\nglobal a[5], b%, c = \"s\"\nfunction f:long(x:string) { return x + 1 }\n"
        "probe p.{a,b}*(\"x\")?, q if (c) = r { foreach ([k, l+] in a[*, 1] limit 3) { delete a[k] } }\n"
        "probe begin { try { @cast($x->y[1]$, \"t\")->z = @m(1) } catch (e) { printf(\"%d\", @avg(a)) } "
        "%( 1 == 1 %? if (k in a) next; else x <<< &$y %) }\n";
    ParseOptions options = usual_options();
    options.args = {"x*", "\""};
    for (size_t i = 0; i < script.size(); i++)
        for (char c : {'\0', '\xff', '"', '{', '}', '$', '%'}) {
            std::string broken = script;
            broken[i] = c;
            Parsed(broken, options).diags.render(false);
            Parsed(script.substr(0, i) + c, options).diags.render(false);
        }
}

// ---- formats ----------------------------------------------------------------------------------------------------

TEST(Format, Directives) {
    auto parsed = parse_format("a%%b %-5.3ld|%*.*s %p %#x %4b %M %c%");
    ASSERT_TRUE(parsed.ok());
    std::string out;
    for (const plan::Directive& d : *parsed) {
        if (d.kind == plan::Directive::Literal)
            out += "'" + d.text + "' ";
        else
            out += fmt::format("{}{}{}{}.{}{} ", d.flag ? d.flag : '_', d.conversion, d.width_is_arg ? "*" : "",
                               d.width, d.precision_is_arg ? "*" : "", d.precision);
    }
    EXPECT_EQ(out, "'a%b ' -d5.3 '|' _s*-1.*0 ' ' _p-1.-1 ' ' #x-1.-1 ' ' _b4.-1 ' ' _M-1.-1 ' ' _c-1.-1 '%' ");
}

TEST(Format, Names) {
    auto parsed = parse_format("%{left}d %{ a[\"}}\"] }-5v");
    ASSERT_TRUE(parsed.ok());
    ASSERT_EQ(parsed->size(), 3u);
    EXPECT_EQ((*parsed)[0].name, "left");
    EXPECT_EQ((*parsed)[0].conversion, 'd');
    EXPECT_EQ((*parsed)[2].name, " a[\"}\"] ");
    EXPECT_EQ((*parsed)[2].conversion, 'v');
    EXPECT_EQ((*parsed)[2].width, 5);
}

TEST(Format, Bad) {
    for (const char* format : {"%{", "%{a", "%{}d", "%{a}}d", "%{a}", "%{a}{b}d", "%q", "%-+d", "%5", "%99999999d",
                               "%.99999999d", "%llld", "%l"})
        EXPECT_FALSE(parse_format(format).ok()) << format;
    size_t bad = 0;
    EXPECT_FALSE(parse_format("ok %d %q", &bad).ok());
    EXPECT_EQ(bad, 6u);
}

// ---- the library index ------------------------------------------------------------------------------------------

TEST(Library, ParsesOnlyWhatIsUsed) {
    Sources sources;
    Arena arena;
    Diagnostics diags(sources);
    std::vector<FileId> parsed;
    Library library(sources, [&](FileId file) {
        parsed.push_back(file);
        return parse_file(file, sources, usual_options(), arena, diags);
    });
    FileId one = sources.add("one.stp",
                             "global g[5], h = -1, i function f() { return g->function } function f(x) { }\n"
                             "private function hidden() { } private global secret\n"
                             "probe timer.mine = t.two = kernel.function(\"x\").return { a = 1 } probe end { }",
                             true);
    FileId two =
        sources.add("two.stp", "function f(a, b) { } probe {x,y}.z = begin { } probe w += end { b = 2 }", true);
    library.add(one);
    library.add(two);
    EXPECT_TRUE(parsed.empty());
    EXPECT_EQ(library.files_with_global("i").size(), 1u);
    EXPECT_EQ(parsed, std::vector<FileId>{one});
    EXPECT_EQ(library.files_with_global("h").size(), 1u);
    EXPECT_EQ(library.files_with_function("f").size(), 2u);
    EXPECT_EQ(parsed, (std::vector<FileId>{one, two}));
    EXPECT_TRUE(library.files_with_function("hidden").empty());
    EXPECT_TRUE(library.files_with_global("secret").empty());
    EXPECT_EQ(library.files_with_alias("timer").size(), 1u);
    EXPECT_EQ(library.files_with_alias("t").size(), 1u);
    EXPECT_EQ(library.files_with_alias("w").size(), 1u);
    for (const char* no_alias : {"kernel", "begin", "end"})
        EXPECT_TRUE(library.files_with_alias(no_alias).empty()) << no_alias;
    EXPECT_EQ(library.function_names(), std::vector<std::string>{"f"});
}

TEST(KernelConfig, LinesToValues) {
    KernelConfig config =
        parse_kernel_config("# Linux\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=\"text\"\nCONFIG_D=-12\n");
    EXPECT_EQ(config, (KernelConfig{{"CONFIG_A", "y"}, {"CONFIG_C", "text"}, {"CONFIG_D", "-12"}}));
}

} // namespace
} // namespace sonde
