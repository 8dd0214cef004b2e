// Finds declarations by scanning the tokens. The keywords that begin a declaration (`function`, `global`, `probe`)
// occur elsewhere only as components of probe points (`kernel.function`) and as members (`->global`). Both follow a `.`
// or `->`, so the scan can skip bodies without parsing them.
#include "frontend/lex/declarations.h"

#include "frontend/lex/token.h"

namespace sonde {

namespace {

// Returns the index of the bracket that closes the one at `at`, or the index of the last token.
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

// Returns the names in `global a, b[10], c = 1`; `at` is the token after the keyword.
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

// Returns the first component of each name that `probe a = b = points` defines; `at` is the token after the keyword.
// The result is empty if the probe is not an alias.
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
        // Other files cannot see private declarations.
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
