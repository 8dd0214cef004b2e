// A scan over the tokens: the keywords that begin a declaration stand nowhere else in a text but in probe points
// (`kernel.function`) and as members (`->global`), so bodies need no parsing.
#include "frontend/lex/declarations.h"

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

// The names of `global a, b[10], c = 1`, after the keyword.
std::vector<Range> declared_globals(const std::vector<Token>& tokens, size_t at) {
    std::vector<Range> names;
    while (tokens[at].kind == TokenKind::Identifier) {
        names.push_back(tokens[at++].range);
        while (tokens[at].is("%") || tokens[at].is("%=") || tokens[at].is("=") || tokens[at].is("-") ||
               tokens[at].is("[") || tokens[at].kind == TokenKind::Number || tokens[at].kind == TokenKind::String)
            at = tokens[at].is("[") ? skip_brackets(tokens, at) + 1 : at + 1;
        if (!tokens[at].is(","))
            break;
        at++;
    }
    return names;
}

// The first components of the names that `probe a = b = points` defines, after the keyword; none if it is no alias.
std::vector<Range> declared_aliases(const std::vector<Token>& tokens, size_t at) {
    std::vector<Range> names;
    const Token* first = &tokens[at];
    for (bool behind_points = false; at + 1 < tokens.size(); at++) {
        const Token& token = tokens[at];
        if (token.is("=") || token.is("+=")) {
            names.push_back(first->range);
            first = &tokens[at + 1];
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

Declarations find_declarations(FileId file, const Sources& sources) {
    Diagnostics scratch(sources);
    std::vector<Token> tokens = lex(file, sources, {}, scratch);
    Declarations out;
    for (size_t i = 0; i + 1 < tokens.size(); i++) {
        const Token &token = tokens[i], &name = tokens[i + 1];
        if (token.kind != TokenKind::Keyword || (i > 0 && (tokens[i - 1].is(".") || tokens[i - 1].is("->"))))
            continue;
        // What is private is seen in its own file only.
        bool is_private = i > 0 && tokens[i - 1].is_keyword("private");
        if (token.text == "function" && name.kind == TokenKind::Identifier && !is_private) {
            out.functions.push_back(sources.text(name.range));
        } else if (token.text == "probe") {
            for (Range alias : declared_aliases(tokens, i + 1))
                out.aliases.push_back(sources.text(alias));
        } else if (token.text == "global" && !is_private) {
            for (Range global : declared_globals(tokens, i + 1))
                out.globals.push_back(sources.text(global));
        }
    }
    return out;
}

} // namespace sonde
