// Declarations. Probe points: parse_point.cc.
#include <fmt/format.h>

#include "frontend/parse/doc_comment.h"
#include "frontend/parse/parser_impl.h"

namespace sonde {

using namespace ast;

File* Parser::parse_file() {
    auto* file = arena_.make<File>();
    file->id = file_;
    while (!at_end()) {
        size_t before = at_;
        failed_ = false;
        parse_declaration(*file);
        if (failed_) {
            if (at_ == before)
                take();
            recover_at_declaration();
        }
    }
    return file;
}

void Parser::recover_at_declaration() {
    while (!at_end() && !at_declaration())
        take();
    failed_ = gave_up_ = in_function_ = false;
    loops_ = 0;
}

void Parser::refuse_embedded(const Token& token) { diags_.report(DiagId::EmbeddedCode, token.range, no_embedded_code); }

void Parser::parse_declaration(File& file) {
    // After a declaration it ends one more, an empty one.
    if (!file.is_empty() && accept(";"))
        return;
    const Token& first = peek();
    if (first.kind == TokenKind::Embedded) {
        // Declarations in C, for function bodies in C: refused there once one is used.
        take();
        if (!privileged_)
            refuse_embedded(first);
        return;
    }
    bool is_private = accept_keyword("private");
    if (peek().is_keyword("global") || (is_private && peek().kind == TokenKind::Identifier)) {
        accept_keyword("global");
        parse_globals(file, is_private);
    } else if (peek().is_keyword("function")) {
        parse_function(file, is_private, first.range);
    } else if (peek().is_keyword("probe") && !is_private) {
        parse_probe(file);
    } else {
        fail_expected(is_private ? "`global` or `function` after `private`" : "`probe`, `global` or `function`");
    }
}

// ---- globals ----------------------------------------------------------------------------------------------------

void Parser::parse_globals(File& file, bool is_private) {
    do {
        if (!parse_global(file, is_private))
            return;
    } while (accept(","));
    accept(";");
}

bool Parser::parse_global(File& file, bool is_private) {
    const Token* name = expect_name("a global's name");
    if (!name)
        return false;
    auto* global = arena_.make<Global>();
    global->name = name->text;
    global->range = name->range;
    global->is_private = is_private;
    bool value_follows = accept("%=");
    global->wrap = value_follows || accept("%");
    Range open = peek().range;
    if (!value_follows && accept("[")) {
        Range size = peek().range;
        std::optional<int64_t> capacity = parse_literal_number();
        size = since(size);
        if (!capacity || !expect_close("]", open, "after the capacity"))
            return false;
        if (*capacity < 1 || *capacity > INT32_MAX)
            diags_.report(DiagId::BadDeclaration, size,
                          fmt::format("an array's capacity is from 1 to {}, not {}", INT32_MAX, *capacity));
        else
            global->capacity = capacity;
        global->wrap = accept("%") || global->wrap;
    }
    file.globals.push_back(global);
    if (!value_follows && !accept("="))
        return true;
    const Token& value = peek();
    if (value.kind == TokenKind::String) {
        take();
        global->initializer = arena_.make<StringExpr>(value.range, value.text);
    } else if (value.kind == TokenKind::Number || value.is("-")) {
        std::optional<int64_t> number = parse_literal_number();
        if (!number)
            return false;
        global->initializer = arena_.make<NumberExpr>(since(value.range), *number);
    } else {
        fail_expected("a literal number or string as the initial value");
        return false;
    }
    if (global->capacity || global->wrap)
        diags_.report(DiagId::BadDeclaration, since(global->range),
                      fmt::format("array `{}` cannot have an initial value", global->name));
    return true;
}

// ---- functions --------------------------------------------------------------------------------------------------

// [:long | :string]
bool Parser::parse_type(DeclaredType& type) {
    if (!accept(":"))
        return true;
    if (accept_keyword("long"))
        type = DeclaredType::Long;
    else if (accept_keyword("string"))
        type = DeclaredType::String;
    else
        fail_expected("`long` or `string` after `:`");
    return !failed_;
}

bool Parser::parse_params(Function& function) {
    Range open = peek().range;
    if (!expect("(", "after the function's name"))
        return false;
    if (accept(")"))
        return true;
    do {
        const Token* name = expect_name("a parameter's name");
        Parameter parameter;
        if (!name || !parse_type(parameter.type))
            return false;
        parameter.name = name->text;
        parameter.range = name->range;
        for (const Parameter& other : function.params)
            if (other.name == parameter.name) {
                diags_
                    .report(DiagId::BadDeclaration, parameter.range,
                            fmt::format("parameter `{}` is there twice", parameter.name))
                    .note(other.range, "first here");
                break;
            }
        function.params.push_back(parameter);
    } while (accept(","));
    return expect_close(")", open, "after the parameters");
}

// [:N]
bool Parser::parse_priority(Function& function) {
    if (!accept(":"))
        return true;
    Range range = peek().range;
    std::optional<int64_t> priority = parse_literal_number();
    if (!priority)
        return false;
    if (*priority < 0 || *priority > INT32_MAX)
        diags_.report(DiagId::BadDeclaration, since(range),
                      fmt::format("a function's priority is from 0 to {}, not {}", INT32_MAX, *priority));
    else
        function.priority = priority;
    return true;
}

bool Parser::parse_function_body(Function& function) {
    const Token& token = peek();
    if (token.kind == TokenKind::Embedded) {
        take();
        if (!privileged_)
            refuse_embedded(token);
        function.embedded = token.text.empty() ? " " : token.text;
        function.body = arena_.make<BlockStmt>(token.range);
        return true;
    }
    if (token.is(";") && privileged_) {
        take();
        return true;
    }
    in_function_ = true;
    function.body = parse_block();
    in_function_ = false;
    return function.body != nullptr;
}

void Parser::parse_function(File& file, bool is_private, Range begin) {
    take();
    auto* function = arena_.make<Function>();
    function->is_private = is_private;
    const Token* name = expect_name("a function's name");
    if (!name)
        return;
    function->name = name->text;
    function->name_range = name->range;
    function->doc = doc_above(diags_.sources().text(file_).substr(0, begin.begin));
    if (!parse_type(function->result) || !parse_params(*function) || !parse_priority(*function) ||
        !parse_function_body(*function))
        return;
    function->range = since(begin);
    file.functions.push_back(function);
}

// ---- probes and aliases -----------------------------------------------------------------------------------------

void Parser::parse_probe(File& file) {
    Range begin = take().range;
    std::vector<ProbePoint*> points;
    if (!parse_points(points))
        return;
    if (peek().is("=") || peek().is("+="))
        return parse_alias(file, begin, std::move(points));
    auto* probe = arena_.make<Probe>();
    probe->points = std::move(points);
    probe->body = parse_block();
    probe->range = since(begin);
    if (probe->body)
        file.probes.push_back(probe);
}

// After the first name: = more = points {prologue} [, {epilogue}], or += points {epilogue}
void Parser::parse_alias(File& file, Range begin, std::vector<ProbePoint*> names) {
    auto* alias = arena_.make<Alias>();
    alias->names = std::move(names);
    alias->doc = doc_above(diags_.sources().text(file_).substr(0, begin.begin));
    bool epilogue_only = false;
    while (peek().is("=") || peek().is("+=")) {
        epilogue_only = take().is("+=");
        alias->names.insert(alias->names.end(), alias->points.begin(), alias->points.end());
        alias->points.clear();
        if (!parse_points(alias->points))
            return;
    }
    for (const ProbePoint* name : alias->names) {
        if (name->optional || name->sufficient)
            diags_.report(DiagId::BadDeclaration, name->range, "an alias's name takes no `?` and no `!`");
        if (name->condition)
            diags_.report(DiagId::BadDeclaration, name->condition->range, "an alias's name takes no condition")
                .help("write it after the point that the alias stands for");
    }
    BlockStmt* first = parse_block();
    if (!first)
        return;
    (epilogue_only ? alias->epilogue : alias->prologue) = first;
    if (!failed_ && accept(",")) {
        BlockStmt* second = parse_block();
        if (!second)
            return;
        if (epilogue_only)
            diags_.report(DiagId::BadDeclaration, second->range, "an alias with `+=` has one block, the epilogue");
        alias->epilogue = second;
    }
    alias->range = since(begin);
    file.aliases.push_back(alias);
}

} // namespace sonde
