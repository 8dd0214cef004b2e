// The library index. A scan over the tokens: the keywords that begin a declaration stand nowhere else in a text but in
// probe points (`kernel.function`) and as members (`->global`), so bodies need no parsing. Conditionals are not
// evaluated: the index may name a file that, once parsed, turns out not to have the name.
#include "frontend/tapset/library.h"

#include <algorithm>

#include "frontend/lex/token.h"

namespace sonde {

namespace {

// Index of the `)`, `]` or `}` that closes the bracket at `at`, or the last token's.
size_t skip_brackets(const std::vector<Token>& tokens, size_t at) {
    int nesting = 0;
    for (; at + 1 < tokens.size(); at++) {
        const Token& token = tokens[at];
        nesting += token.is("(") || token.is("[") || token.is("{");
        nesting -= token.is(")") || token.is("]") || token.is("}");
        if (nesting <= 0)
            break;
    }
    return at;
}

// The names of `global a, b[10], c = 1`, behind the keyword.
std::vector<std::string_view> declared_globals(const std::vector<Token>& tokens, size_t at) {
    std::vector<std::string_view> names;
    while (tokens[at].kind == TokenKind::Identifier) {
        names.push_back(tokens[at++].text);
        while (tokens[at].is("%") || tokens[at].is("%=") || tokens[at].is("=") || tokens[at].is("-") ||
               tokens[at].is("[") || tokens[at].kind == TokenKind::Number || tokens[at].kind == TokenKind::String)
            at = tokens[at].is("[") ? skip_brackets(tokens, at) + 1 : at + 1;
        if (!tokens[at].is(","))
            break;
        at++;
    }
    return names;
}

// The first components of the names that `probe a = b = points` defines, behind the keyword; none if it is no alias.
std::vector<std::string_view> declared_aliases(const std::vector<Token>& tokens, size_t at) {
    std::vector<std::string_view> names;
    std::string_view first = tokens[at].text;
    for (bool behind_points = false; at + 1 < tokens.size(); at++) {
        const Token& token = tokens[at];
        if (token.is("=") || token.is("+=")) {
            names.push_back(first);
            first = tokens[at + 1].text;
            behind_points = false;
        } else if (token.is("(") || (token.is("{") && !behind_points)) {
            at = skip_brackets(tokens, at);
            behind_points = true;
        } else if (token.is("{")) {
            break; // the body
        } else {
            behind_points = !token.is(".") && !token.is(",");
        }
    }
    return names;
}

} // namespace

void Library::add(FileId file) {
    files_.push_back(file);
    // The scan's own messages would be said again by the parse.
    Diagnostics scratch(sources_);
    std::vector<Token> tokens = lex(file, sources_, {}, scratch);
    auto note = [&](Index& index, std::string_view name) {
        std::vector<FileId>& files = index.try_emplace(std::string(name)).first->second;
        if (files.empty() || files.back() != file)
            files.push_back(file);
    };
    for (size_t i = 0; i + 1 < tokens.size(); i++) {
        const Token &token = tokens[i], &name = tokens[i + 1];
        if (token.kind != TokenKind::Keyword || (i > 0 && (tokens[i - 1].is(".") || tokens[i - 1].is("->"))))
            continue;
        // What is private is seen in its own file only.
        bool is_private = i > 0 && tokens[i - 1].is_keyword("private");
        if (token.text == "function" && name.kind == TokenKind::Identifier && !is_private) {
            note(functions_, name.text);
        } else if (token.text == "probe") {
            for (std::string_view alias : declared_aliases(tokens, i + 1))
                note(aliases_, alias);
        } else if (token.text == "global" && !is_private) {
            for (std::string_view global : declared_globals(tokens, i + 1))
                note(globals_, global);
        }
    }
}

const ast::File* Library::load(FileId file) {
    auto [entry, fresh] = parsed_.try_emplace(file, nullptr);
    if (fresh)
        entry->second = parse_(file);
    return entry->second;
}

namespace {
std::vector<FileId> lookup(const Library::Index& index, std::string_view name) {
    auto found = index.find(name);
    return found == index.end() ? std::vector<FileId>() : found->second;
}

std::vector<std::string> names(const Library::Index& index) {
    std::vector<std::string> out;
    for (const auto& [name, files] : index)
        if (!name.starts_with("__"))
            out.push_back(name);
    return out;
}
} // namespace

std::vector<const ast::File*> Library::files_with_function(std::string_view name) {
    std::vector<const ast::File*> out;
    for (FileId file : lookup(functions_, name))
        out.push_back(load(file));
    return out;
}

std::vector<const ast::File*> Library::files_with_global(std::string_view name) {
    std::vector<const ast::File*> out;
    for (FileId file : lookup(globals_, name))
        out.push_back(load(file));
    return out;
}

std::vector<const ast::File*> Library::files_with_alias(std::string_view first_component) {
    std::vector<const ast::File*> out;
    for (FileId file : lookup(aliases_, first_component))
        out.push_back(load(file));
    return out;
}

std::vector<const ast::File*> Library::files() {
    std::vector<const ast::File*> out;
    for (FileId file : files_)
        out.push_back(load(file));
    return out;
}

std::vector<std::string> Library::function_names() const { return names(functions_); }
std::vector<std::string> Library::alias_names() const { return names(aliases_); }

} // namespace sonde
