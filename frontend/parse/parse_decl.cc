// Declarations, probe points, and the parser's tools.
#include <algorithm>

#include <fmt/format.h>

#include "frontend/parse/parser_impl.h"
#include "frontend/parse/preprocess.h"

namespace sonde {

using namespace ast;

// ---- tools ------------------------------------------------------------------------------------------------------

Token Parser::take() {
    const Token& token = peek();
    if (token.kind != TokenKind::End)
        at_++;
    return token;
}

bool Parser::accept(std::string_view op) {
    if (!peek().is(op))
        return false;
    at_++;
    return true;
}

bool Parser::accept_keyword(std::string_view word) {
    if (!peek().is_keyword(word))
        return false;
    at_++;
    return true;
}

void Parser::fail(Range range, const std::string& message) {
    if (!failed_)
        diags_.report(DiagId::Syntax, range, message);
    failed_ = true;
}

void Parser::fail_expected(std::string_view what) {
    const Token& token = peek();
    std::string got = token.kind == TokenKind::End      ? "the end of the script"
                      : token.kind == TokenKind::String ? "a string"
                                                        : fmt::format("`{}`", token.text);
    fail(token.range, fmt::format("expected {}, got {}", what, got));
}

bool Parser::expect(std::string_view op, std::string_view where) {
    if (accept(op))
        return true;
    fail_expected(fmt::format("`{}` {}", op, where));
    return false;
}

std::optional<Token> Parser::expect_name(std::string_view what) {
    if (peek().kind == TokenKind::Identifier && peek().text[0] != '@' && peek().text[0] != '$')
        return take();
    fail_expected(what);
    return std::nullopt;
}

bool Parser::too_deep() {
    if (depth_ <= max_depth)
        return false;
    fail(peek().range, fmt::format("this is nested more than {} deep", max_depth));
    return true;
}

Range Parser::since(Range begin) const { return at_ == 0 ? begin : Range::join(begin, tokens_[at_ - 1].range); }

// ---- declarations -----------------------------------------------------------------------------------------------

File* Parser::parse_file() {
    auto* file = arena_.make<File>();
    file->id = file_;
    while (!at_end()) {
        size_t before = at_;
        failed_ = false;
        parse_declaration(*file);
        if (failed_)
            recover_at_declaration();
        if (at_ == before)
            take();
    }
    return file;
}

void Parser::recover_at_declaration() {
    while (!at_end() && !peek().is_keyword("probe") && !peek().is_keyword("function") && !peek().is_keyword("global") &&
           !peek().is_keyword("private"))
        take();
    failed_ = false;
    loops_ = 0;
    depth_ = 0;
}

void Parser::parse_declaration(File& file) {
    if (accept(";"))
        return;
    if (peek().kind == TokenKind::Embedded) {
        if (!options_.privileged)
            diags_.report(DiagId::EmbeddedCode, peek().range, "embedded C code cannot run in BPF");
        take();
        return;
    }
    bool is_private = accept_keyword("private");
    if (peek().is_keyword("global") || (is_private && peek().kind == TokenKind::Identifier)) {
        accept_keyword("global");
        parse_globals(file, is_private);
    } else if (peek().is_keyword("function")) {
        parse_function(file, is_private);
    } else if (peek().is_keyword("probe") && !is_private) {
        parse_probe(file);
    } else {
        fail_expected(is_private ? "`global` or `function` after `private`" : "`probe`, `global` or `function`");
    }
}

void Parser::parse_globals(File& file, bool is_private) {
    do {
        std::optional<Token> name = expect_name("a global's name");
        if (!name)
            return;
        auto* global = arena_.make<Global>();
        global->name = name->text;
        global->range = name->range;
        global->is_private = is_private;
        if (accept("%"))
            global->wrap = true;
        if (accept("[")) {
            Token size = peek();
            std::optional<int64_t> capacity = parse_literal_number();
            if (!capacity || !expect("]", "after the capacity"))
                return;
            if (*capacity < 1 || *capacity > INT32_MAX)
                diags_.report(DiagId::BadDeclaration, size.range,
                              fmt::format("an array's capacity is from 1 to {}, not {}", INT32_MAX, *capacity));
            else
                global->capacity = *capacity;
        }
        if (accept("%="))
            global->wrap = true; // never valid with a value; said below
        else if (accept("="))
            ;
        else {
            file.globals.push_back(global);
            continue;
        }
        Token value = peek();
        if (value.kind == TokenKind::String) {
            take();
            global->initializer = arena_.make<StringExpr>(value.range, value.text);
        } else if (std::optional<int64_t> number = parse_literal_number()) {
            global->initializer = arena_.make<NumberExpr>(since(value.range), *number);
        } else {
            return;
        }
        if (global->capacity || global->wrap)
            diags_.report(DiagId::BadDeclaration, since(global->range),
                          fmt::format("array `{}` cannot have an initial value", global->name));
        file.globals.push_back(global);
    } while (accept(","));
    accept(";");
}

namespace {
DeclaredType declared_type(const Token& token) {
    return token.is_keyword("long")     ? DeclaredType::Long
           : token.is_keyword("string") ? DeclaredType::String
                                        : DeclaredType::None;
}
} // namespace

void Parser::parse_function(File& file, bool is_private) {
    auto* function = arena_.make<Function>();
    Token begin = take();
    function->is_private = is_private;
    std::optional<Token> name = expect_name("a function's name");
    if (!name)
        return;
    function->name = name->text;
    function->name_range = name->range;
    auto type = [&](DeclaredType& out) {
        if (!accept(":"))
            return true;
        out = declared_type(peek());
        if (out == DeclaredType::None) {
            fail_expected("`long` or `string` after `:`");
            return false;
        }
        take();
        return true;
    };
    if (!type(function->result) || !expect("(", "after the function's name"))
        return;
    while (!peek().is(")")) {
        Parameter parameter;
        std::optional<Token> param = expect_name("a parameter's name");
        if (!param)
            return;
        parameter.name = param->text;
        parameter.range = param->range;
        if (!type(parameter.type))
            return;
        for (const Parameter& other : function->params)
            if (other.name == parameter.name)
                diags_
                    .report(DiagId::BadDeclaration, parameter.range,
                            fmt::format("parameter `{}` is there twice", parameter.name))
                    .note(other.range, "first here");
        function->params.push_back(parameter);
        if (!accept(","))
            break;
    }
    if (!expect(")", "after the parameters"))
        return;
    if (accept(":")) {
        std::optional<int64_t> priority = parse_literal_number();
        if (!priority)
            return;
        function->priority = *priority;
    }
    if (peek().kind == TokenKind::Embedded) {
        if (!options_.privileged)
            diags_.report(DiagId::EmbeddedCode, peek().range, "embedded C code cannot run in BPF");
        function->embedded = take().text;
        function->body = arena_.make<BlockStmt>(begin.range);
    } else if (peek().is(";") && (options_.privileged || tapset_)) {
        take();
    } else {
        in_function_ = true;
        function->body = parse_block();
        in_function_ = false;
        if (!function->body)
            return;
    }
    function->range = since(begin.range);
    file.functions.push_back(function);
}

void Parser::parse_probe(File& file) {
    Range begin = take().range;
    std::vector<ProbePoint*> points;
    if (!parse_points(points))
        return;
    if (!peek().is("=") && !peek().is("+=")) {
        auto* probe = arena_.make<Probe>();
        probe->points = std::move(points);
        probe->body = parse_block();
        probe->range = since(begin);
        if (probe->body)
            file.probes.push_back(probe);
        return;
    }
    auto* alias = arena_.make<Alias>();
    alias->names = points;
    bool epilogue_only = false;
    while (peek().is("=") || peek().is("+=")) {
        epilogue_only = take().is("+=");
        std::vector<ProbePoint*> more;
        if (!parse_points(more))
            return;
        if (peek().is("=") || peek().is("+="))
            alias->names.insert(alias->names.end(), more.begin(), more.end());
        else
            alias->points = std::move(more);
    }
    for (const ProbePoint* name : alias->names)
        if (name->optional || name->sufficient)
            diags_.report(DiagId::BadDeclaration, name->range, "an alias's name takes no `?` and no `!`");
    BlockStmt* first = parse_block();
    if (!first)
        return;
    (epilogue_only ? alias->epilogue : alias->prologue) = first;
    if (accept(",")) {
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

// ---- probe points -----------------------------------------------------------------------------------------------

std::vector<ProbePoint*> Parser::parse_points_only() {
    std::vector<ProbePoint*> points;
    if (parse_points(points) && !at_end())
        fail_expected("`,` or the end of the probe points");
    return points;
}

bool Parser::parse_points(std::vector<ProbePoint*>& points) {
    do {
        if (!parse_point(points))
            return false;
    } while (accept(","));
    return true;
}

// Components with `{a,b}` alternatives multiply: every combination is a point of its own.
bool Parser::parse_point(std::vector<ProbePoint*>& points) {
    Range begin = peek().range;
    std::vector<std::vector<PointComponent>> alternatives{{}};
    if (!parse_component_list(alternatives))
        return false;
    Range range = since(begin);
    bool optional = false, sufficient = false;
    if (accept("?"))
        optional = true;
    else if (accept("!"))
        sufficient = true;
    Expr* condition = nullptr;
    if (accept_keyword("if")) {
        if (!expect("(", "after `if`"))
            return false;
        condition = parse_expr();
        if (!condition || !expect(")", "after the condition"))
            return false;
    }
    for (std::vector<PointComponent>& components : alternatives) {
        auto* point = arena_.make<ProbePoint>();
        point->components = std::move(components);
        point->optional = optional;
        point->sufficient = sufficient;
        point->condition = condition;
        point->range = range;
        points.push_back(point);
    }
    return true;
}

bool Parser::parse_component_list(std::vector<std::vector<PointComponent>>& alternatives) {
    constexpr size_t max_points = 10000;
    do {
        std::vector<std::vector<PointComponent>> steps;
        if (accept("{")) {
            do {
                std::vector<std::vector<PointComponent>> inner{{}};
                if (!parse_component_list(inner))
                    return false;
                steps.insert(steps.end(), inner.begin(), inner.end());
            } while (accept(","));
            if (!expect("}", "to close the alternatives"))
                return false;
        } else {
            PointComponent component;
            if (!parse_component(component))
                return false;
            steps.push_back({component});
        }
        std::vector<std::vector<PointComponent>> product;
        if (alternatives.size() * steps.size() > max_points) {
            fail(peek().range, "these alternatives give too many probe points");
            return false;
        }
        for (const std::vector<PointComponent>& head : alternatives)
            for (const std::vector<PointComponent>& tail : steps) {
                product.push_back(head);
                product.back().insert(product.back().end(), tail.begin(), tail.end());
            }
        alternatives = std::move(product);
    } while (accept("."));
    return true;
}

// name, possibly with wildcards: adjacent names, numbers, `*` and `**` are one component; then an argument.
bool Parser::parse_component(PointComponent& component) {
    Range begin = peek().range;
    uint32_t end = begin.begin;
    while (peek().kind == TokenKind::Identifier || peek().kind == TokenKind::Keyword ||
           peek().kind == TokenKind::Number || peek().is("*") || peek().is("**")) {
        if (!component.name.empty() && (peek().range.begin != end || peek().is_keyword("if")))
            break;
        end = peek().range.end;
        component.name += take().text;
    }
    if (component.name.empty()) {
        fail_expected("a probe point");
        return false;
    }
    component.range = since(begin);
    if (!accept("("))
        return true;
    Token arg = peek();
    if (arg.kind == TokenKind::String) {
        take();
        component.arg = PointComponent::String;
        component.text = arg.text;
    } else if (std::optional<int64_t> number = parse_literal_number()) {
        component.arg = PointComponent::Number;
        component.number = *number;
        component.text = arg.text;
    } else {
        return false;
    }
    component.arg_range = since(arg.range);
    return expect(")", "after the probe point's argument");
}

// ---- entry points -----------------------------------------------------------------------------------------------

File* parse_file(FileId file, const Sources& sources, const ParseOptions& options, Arena& arena, Diagnostics& diags) {
    std::vector<Token> tokens = preprocess(lex(file, sources, options.args, diags), options, diags);
    return Parser(std::move(tokens), file, sources.is_tapset(file), options, arena, diags).parse_file();
}

std::vector<ProbePoint*> parse_probe_points(FileId file, const Sources& sources, const ParseOptions& options,
                                            Arena& arena, Diagnostics& diags) {
    std::vector<Token> tokens = preprocess(lex(file, sources, options.args, diags), options, diags);
    return Parser(std::move(tokens), file, sources.is_tapset(file), options, arena, diags).parse_points_only();
}

} // namespace sonde
