// Conditionals and macros, on tokens: `%( c %? t %: f %)`, `@define name(params) %( body %)`.
//
// Source of the rules: `man stap`, sections "CONDITIONAL COMPILATION" and "PREPROCESSOR MACROS". What comes out of a
// macro's body has the place of the macro's use; what comes out of its arguments keeps its own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/lex/token.h"
#include "frontend/parse/parser.h"

namespace sonde {

// Expansion stops with a message when macros give more tokens than this (macros that double themselves).
constexpr size_t max_macro_tokens = 1'000'000;
// Macros in macros, and conditionals in conditionals.
constexpr int max_macro_depth = 100;

struct Macro {
    std::vector<std::string> params;
    bool has_params = false; // `@define x() %( ... %)` has a parameter list, though an empty one
    std::vector<Token> body;
    Range range; // of the name
};

// By name, without the `@`.
struct MacroTable {
    std::map<std::string, Macro, std::less<>> macros;
};

std::vector<Token> preprocess(std::vector<Token> tokens, const ParseOptions& options, Diagnostics& diags);

// Reports a `$N` or `@N` that the script was not given, if that is what the token stands for. What conditionals leave
// out may be missing. `given`: how many there are.
void report_missing_argument(const Token& token, size_t given, Diagnostics& diags);

// Adds the macros of a library text (.stpm), which may hold nothing but `@define`, also inside of conditionals. To make
// them known, set ParseOptions::macros.
void load_macros(FileId file, const Sources& sources, const ParseOptions& options, MacroTable& table,
                 Diagnostics& diags);

} // namespace sonde
