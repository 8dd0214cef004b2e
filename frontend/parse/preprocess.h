// Conditionals and macros, both on tokens: `%( c %? t %: f %)` and `@define name(params) %( body %)`.
//
// Source of the rules: `man stap`, sections "CONDITIONAL COMPILATION" and "PREPROCESSOR MACROS". In messages, tokens of
// a macro's body have the position of the macro's use; tokens of its arguments keep their position.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/lex/token.h"
#include "frontend/parse/parser.h"

namespace sonde {

// Maximum number of tokens from macros. Stops macros that double themselves.
constexpr size_t max_macro_tokens = 1'000'000;
// Maximum nesting of macros and conditionals.
constexpr int max_macro_depth = 100;

// A macro: `@define name(params) %( body %)`.
struct Macro {
    std::vector<std::string> params;
    // false: `@define x %( ... %)`; true: `@define x() %( ... %)`, whose parameter list may be empty
    bool has_params = false;
    std::vector<Token> body;
    Range range; // the name's position
};

// Macros by name, without the `@`.
struct MacroTable {
    std::map<std::string, Macro, std::less<>> macros;
};

// Expands macros and conditionals in a file's tokens. Reports errors to `diags`.
std::vector<Token> preprocess(std::vector<Token> tokens, const ParseOptions& options, Diagnostics& diags);

// Reports an error if the token stands for an argument `$N` or `@N` that the script was not given. This is not checked
// earlier, because a conditional may remove the token. `given` is the number of arguments.
void report_missing_argument(const Token& token, size_t given, Diagnostics& diags);

// Adds the macros of a library file (.stpm) to `table`. The file may contain only `@define`, also inside conditionals.
// To use the macros, set ParseOptions::macros.
void load_macros(FileId file, const Sources& sources, const ParseOptions& options, MacroTable& table,
                 Diagnostics& diags);

} // namespace sonde
