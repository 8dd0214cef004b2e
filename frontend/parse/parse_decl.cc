// Parses declarations: globals, functions, probes and aliases. Probe points are in parse_point.cc.
//
// A probe and an alias begin in the same way, and the token after the points tells them apart:
//
//     probe a.b { ... }
//     probe a.b = process("x").function("f") { ... }
//
// So names of aliases are parsed as probe points. A check then refuses parts that a name cannot have, such as a
// condition.
//
// Users often come from another language or paste a command line. Where a declaration was expected, the words that
// follow are compared with the habits of these languages, and the message says what to write instead.
#include <fmt/format.h>

#include "frontend/hints/foreign_words.h"
#include "frontend/parse/doc_comment.h"
#include "frontend/parse/parse_decl.h"
#include "frontend/parse/parse_point.h"
#include "frontend/parse/parse_stmt.h"

namespace sonde {

using namespace ast;

namespace {

void recover_at_declaration(Parser& p);
void parse_declaration(Parser& p, File& file);
void parse_globals(Parser& p, File& file, bool is_private);
bool parse_global(Parser& p, File& file, bool is_private);
void parse_function(Parser& p, File& file, bool is_private, Range begin);
void parse_probe(Parser& p, File& file);
void parse_alias(Parser& p, File& file, Range begin, std::vector<ProbePoint*> names);

} // namespace

File* parse_declarations(Parser& p) {
    auto* file = p.make<File>();
    file->id = p.file;
    while (!p.at_end()) {
        size_t before = p.taken();
        p.failed = false;
        parse_declaration(p, *file);
        if (p.failed) {
            if (p.taken() == before)
                p.take();
            recover_at_declaration(p);
        }
    }
    return file;
}

namespace {

// Skips to the next declaration and resets what the parser knows about the one it has left.
void recover_at_declaration(Parser& p) {
    while (!p.at_end() && !p.at_declaration())
        p.take();
    p.failed = p.gave_up = p.in_function = false;
    p.loops = 0;
}

// If the next tokens look like a probe point before a block, such as `process("x").function("f") {`, returns their
// number; else 0. The user probably forgot the word `probe`.
size_t length_of_point(const Parser& p) {
    constexpr size_t longest = 60;
    for (size_t length = 0; length < longest; length++) {
        const Token& token = p.peek(length);
        if (token.is("{"))
            return length;
        const bool part = token.kind == TokenKind::Identifier || token.kind == TokenKind::Keyword ||
                          token.kind == TokenKind::Number || token.kind == TokenKind::String || token.is(".") ||
                          token.is("(") || token.is(")") || token.is(",") || token.is("*") || token.is("**") ||
                          token.is("?") || token.is("!");
        if (!part || token.is_keyword("probe"))
            return 0;
    }
    return 0;
}

// If a declaration of another language begins here, returns advice on how to write it in this language; else "".
std::string foreign_declaration(const Parser& p) {
    static constexpr std::string_view functions[] = {"def", "func", "fn", "fun", "sub", "proc", "void"};
    static constexpr std::string_view variables[] = {"var", "let", "my", "const", "static", "local"};
    static constexpr std::string_view types[] = {"int", "long", "string", "char", "unsigned"};
    static constexpr std::string_view imports[] = {"import", "use", "require", "from", "using", "include"};
    static constexpr std::string_view breakpoints[] = {"break", "b", "tbreak", "hbreak", "rbreak"};
    static constexpr std::string_view commands[] = {"sonde",  "stap",   "bpftrace", "dtrace", "perf",
                                                    "strace", "ltrace", "gdb",      "trace",  "echo"};
    const Token &word = p.peek(), &next = p.peek(1);
    const bool is_command = std::ranges::find(commands, std::string_view(word.text)) != std::end(commands);
    if (is_command && !next.on_line && !p.at_end()) {
        const std::string name = word.text + (next.is("-") && word.text == "trace" ? "-cmd" : "");
        return fmt::format("this is a command line, not a script; {}", hints::command_hint(name, next.text));
    }
    if (next.kind != TokenKind::Identifier || next.on_line)
        return "";
    const auto is_one_of = [&](const auto& words) {
        return std::ranges::find(words, std::string_view(word.text)) != std::end(words);
    };
    if (is_one_of(breakpoints) && p.peek(2).is_keyword("if"))
        return fmt::format("use a probe instead of a breakpoint: `probe process(\"PATH\").function(\"{}\") {{ if "
                           "(CONDITION) println($$parms) }}`, with a `$` in front of the program's variables",
                           next.text);
    if (is_one_of(breakpoints))
        return fmt::format("use a probe instead of a breakpoint: `probe process(\"PATH\").function(\"{}\") {{ "
                           "println($$parms) print_ubacktrace() }}`",
                           next.text);
    if (is_one_of(imports))
        return "remove the import: all functions of the library are available";
    if (p.peek(2).is("(") && (is_one_of(functions) || is_one_of(types)))
        return fmt::format("write a function as `function {}(x) {{ return x }}`", next.text);
    if (is_one_of(variables) || is_one_of(types))
        return fmt::format("declare a variable of the whole script as `global {}`", next.text);
    return "";
}

void parse_declaration(Parser& p, File& file) {
    // An extra `;` after a declaration is allowed.
    if (!file.is_empty() && p.accept(";"))
        return;
    const Token& first = p.peek();
    if (first.kind == TokenKind::Embedded) {
        p.take();
        if (!p.refuse_embedded(first))
            file.c_blocks.push_back({first.text, first.range});
        return;
    }
    bool is_private = p.accept_keyword("private");
    if (p.peek().is_keyword("global") || (is_private && p.peek().kind == TokenKind::Identifier)) {
        p.accept_keyword("global");
        parse_globals(p, file, is_private);
    } else if (p.peek().is_keyword("function")) {
        parse_function(p, file, is_private, first.range);
    } else if (p.peek().is_keyword("probe") && !is_private) {
        parse_probe(p, file);
    } else {
        DiagBuilder report =
            p.fail_expected(is_private ? "`global` or `function` after `private`" : "`probe`, `global` or `function`");
        const size_t length = length_of_point(p);
        if (is_private)
            return;
        if (const std::string help = foreign_declaration(p); !help.empty()) {
            report.help(help);
        } else if (length > 0) {
            const Range range{p.file, first.range.begin, p.peek(length - 1).range.end};
            report.help(fmt::format("write `probe` before a probe point: `probe {} {{`",
                                    p.diags.sources().text(p.file).substr(range.begin, range.end - range.begin)));
        } else if (file.is_empty() && first.kind == TokenKind::Identifier) {
            report.help("write statements in a probe's handler: `probe begin { println(\"hello\") exit() }`");
        }
    }
}

void parse_globals(Parser& p, File& file, bool is_private) {
    do {
        if (!parse_global(p, file, is_private))
            return;
    } while (p.accept(","));
    p.accept(";");
}

// Parses `n`, `n = literal`, `n[capacity]`, and `n%` or `n[capacity]%` for an array that wraps. In `n%=1`, the lexer
// has joined the two signs.
bool parse_global(Parser& p, File& file, bool is_private) {
    const Token* name = p.expect_name("a global's name");
    if (!name)
        return false;
    auto* global = p.make<Global>();
    global->name = name->text;
    global->range = name->range;
    global->is_private = is_private;
    bool value_follows = p.accept("%=");
    global->wrap = value_follows || p.accept("%");
    Range open = p.peek().range;
    if (!value_follows && p.accept("[")) {
        Range size = p.peek().range;
        if (p.peek().is("]")) {
            p.fail_expected("the array's capacity")
                .help(fmt::format("declare an array as `global {0}`; `global {0}[1000]` has room for 1000 elements",
                                  name->text));
            return false;
        }
        std::optional<int64_t> capacity = p.expect_number();
        size = p.since(size);
        if (!capacity || !p.expect_close("]", open, "after the capacity"))
            return false;
        if (*capacity < 1 || *capacity > INT32_MAX)
            p.diags.report(DiagId::BadDeclaration, size,
                           fmt::format("an array's capacity must be from 1 to {}, not {}", INT32_MAX, *capacity));
        else
            global->capacity = capacity;
        global->wrap = p.accept("%") || global->wrap;
    }
    file.globals.push_back(global);
    if (!value_follows && !p.accept("="))
        return true;
    const Token& value = p.peek();
    if (value.kind == TokenKind::String) {
        p.take();
        global->initializer = p.make<StringExpr>(value.range, value.text);
    } else if (value.kind == TokenKind::Number || value.is("-")) {
        std::optional<int64_t> number = p.expect_number();
        if (!number)
            return false;
        global->initializer = p.make<NumberExpr>(p.since(value.range), *number);
    } else {
        const bool list = value.is("[");
        DiagBuilder report = p.fail_expected("a literal number or string as the initial value");
        if (list)
            report.help(fmt::format("an array starts empty: `global {0}`, then `{0}[key] = value`", name->text));
        return false;
    }
    if (global->capacity || global->wrap)
        p.diags.report(DiagId::BadDeclaration, p.since(global->range),
                       fmt::format("array `{}` cannot have an initial value", global->name));
    return true;
}

// Parses `[:long | :string]`.
bool parse_type(Parser& p, DeclaredType& type) {
    if (!p.accept(":"))
        return true;
    if (p.accept_keyword("long"))
        type = DeclaredType::Long;
    else if (p.accept_keyword("string"))
        type = DeclaredType::String;
    else
        p.fail_expected("`long` or `string` after `:`");
    return !p.failed;
}

bool parse_params(Parser& p, Function& function) {
    Range open = p.peek().range;
    if (!p.expect("(", "after the function's name"))
        return false;
    if (p.accept(")"))
        return true;
    do {
        const Token &first = p.peek(), &second = p.peek(1);
        // Two names in a row: the type stands before the name as in C, `function f(long x)`.
        if (second.kind == TokenKind::Identifier &&
            (first.kind == TokenKind::Identifier || first.is_keyword("long") || first.is_keyword("string"))) {
            p.fail(first.range, fmt::format("`{}` is not a parameter's name", first.text))
                .help(fmt::format("write a parameter's type, `long` or `string`, after its name: `{}:{}`", second.text,
                                  first.text == "string" || first.text == "char" ? "string" : "long"));
            return false;
        }
        const Token* name = p.expect_name("a parameter's name");
        Parameter parameter;
        if (!name || !parse_type(p, parameter.type))
            return false;
        parameter.name = name->text;
        parameter.range = name->range;
        for (const Parameter& other : function.params)
            if (other.name == parameter.name) {
                p.diags
                    .report(DiagId::BadDeclaration, parameter.range,
                            fmt::format("the parameter `{}` is declared twice", parameter.name))
                    .note(other.range, "first here");
                break;
            }
        function.params.push_back(parameter);
    } while (p.accept(","));
    return p.expect_close(")", open, "after the parameters");
}

// Parses a priority, `[:N]`.
bool parse_priority(Parser& p, Function& function) {
    if (!p.accept(":"))
        return true;
    Range range = p.peek().range;
    std::optional<int64_t> priority = p.expect_number();
    if (!priority)
        return false;
    if (*priority < 0 || *priority > INT32_MAX)
        p.diags.report(DiagId::BadDeclaration, p.since(range),
                       fmt::format("a function's priority must be from 0 to {}, not {}", INT32_MAX, *priority));
    else
        function.priority = priority;
    return true;
}

// A body is a block, embedded C code (privileged files only), or `;` for a primitive (privileged files only).
bool parse_function_body(Parser& p, Function& function) {
    const Token& token = p.peek();
    if (token.kind == TokenKind::Embedded) {
        p.take();
        p.refuse_embedded(token);
        function.embedded = token.text.empty() ? " " : token.text;
        function.body = p.make<BlockStmt>(token.range);
        return true;
    }
    if (token.is(";") && p.privileged) {
        p.take();
        return true;
    }
    p.in_function = true;
    function.body = parse_block(p);
    p.in_function = false;
    return function.body != nullptr;
}

void parse_function(Parser& p, File& file, bool is_private, Range begin) {
    p.take();
    auto* function = p.make<Function>();
    function->is_private = is_private;
    const Token* name = p.expect_name("a function's name");
    if (!name)
        return;
    function->name = name->text;
    function->name_range = name->range;
    function->doc = doc_above(p.diags.sources().text(p.file).substr(0, begin.begin));
    if (!parse_type(p, function->result) || !parse_params(p, *function) || !parse_priority(p, *function) ||
        !parse_function_body(p, *function))
        return;
    function->range = p.since(begin);
    file.functions.push_back(function);
}

// Reports an unexpected token between a probe's points and its block, or a missing block.
void fail_before_block(Parser& p, const ProbePoint& point) {
    const Token token = p.peek();
    // `probe { ... }` was parsed as the alternatives of a point: `{a,b}.c`.
    if (p.last().is("}") && p.diags.sources().text(point.range).starts_with('{')) {
        p.fail({p.file, point.range.begin, point.range.begin + 1}, "expected a probe point, got `{`")
            .help("write the probe point before its block: `probe begin { ... }`");
        return;
    }
    const std::string_view before = p.diags.sources().text(point.range);
    DiagBuilder report = p.fail_expected("`{` to begin a block");
    if (token.is("/") || token.text == "when" || token.text == "where")
        report.help("write the condition in the handler: `{ if (...) ... }`");
    else if (token.is(";"))
        report.help("remove the `;` between the probe point and its block");
    else if (token.kind == TokenKind::String)
        report.help(fmt::format("write a probe point's argument in parentheses: `{}({})`", before,
                                p.diags.sources().text(token.range)));
    else if (p.last().is(")") && token.glued)
        report.help(fmt::format("join the parts of a probe point with `.`: `{}.{}`", before, token.text));
    else if (token.kind == TokenKind::Identifier || token.kind == TokenKind::Keyword)
        report.help("separate probe points with commas, and write the handler between `{` and `}`");
}

void parse_probe(Parser& p, File& file) {
    Range begin = p.take().range;
    std::vector<ProbePoint*> points;
    if (!parse_points(p, points))
        return;
    if (p.peek().is("=") || p.peek().is("+="))
        return parse_alias(p, file, begin, std::move(points));
    auto* probe = p.make<Probe>();
    if (!p.peek().is("{"))
        return fail_before_block(p, *points.back());
    probe->points = std::move(points);
    probe->body = parse_block(p);
    probe->range = p.since(begin);
    if (probe->body)
        file.probes.push_back(probe);
}

// Parses the rest of an alias after its first name: `= more = points {prologue} [, {epilogue}]`, or `+= points
// {epilogue}`.
void parse_alias(Parser& p, File& file, Range begin, std::vector<ProbePoint*> names) {
    auto* alias = p.make<Alias>();
    alias->names = std::move(names);
    alias->doc = doc_above(p.diags.sources().text(p.file).substr(0, begin.begin));
    bool epilogue_only = false;
    while (p.peek().is("=") || p.peek().is("+=")) {
        epilogue_only = p.take().is("+=");
        alias->names.insert(alias->names.end(), alias->points.begin(), alias->points.end());
        alias->points.clear();
        if (!parse_points(p, alias->points))
            return;
    }
    for (const ProbePoint* name : alias->names) {
        if (name->optional || name->sufficient)
            p.diags.report(DiagId::BadDeclaration, name->range, "an alias's name cannot have a `?` or a `!`");
        if (name->condition)
            p.diags.report(DiagId::BadDeclaration, name->condition->range, "an alias's name cannot have a condition")
                .help("write the condition after the alias's own probe point");
    }
    BlockStmt* first = parse_block(p);
    if (!first)
        return;
    (epilogue_only ? alias->epilogue : alias->prologue) = first;
    if (!p.failed && p.accept(",")) {
        BlockStmt* second = parse_block(p);
        if (!second)
            return;
        if (epilogue_only)
            p.diags.report(DiagId::BadDeclaration, second->range,
                           "an alias with `+=` has only one block, the epilogue");
        alias->epilogue = second;
    }
    alias->range = p.since(begin);
    file.aliases.push_back(alias);
}

} // namespace

} // namespace sonde
