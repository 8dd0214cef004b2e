// Conditionals and macros, on tokens: `%( c %? t %: f %)`, `@define name(params) %( body %)`.
#pragma once

#include <vector>

#include "frontend/lex/token.h"
#include "frontend/parse/parser.h"

namespace sonde {

// Expansion stops with a message when it would give more tokens than this (macros that double themselves).
constexpr size_t max_preprocessed_tokens = 4'000'000;

std::vector<Token> preprocess(std::vector<Token> tokens, const ParseOptions& options, Diagnostics& diags);

} // namespace sonde
