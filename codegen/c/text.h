// Checks the script's C as text, before clang reads it.
#pragma once

#include <string>
#include <string_view>

#include "base/diag.h"
#include "frontend/hir/hir.h"

namespace sonde {

// Whether this word can never be a name of the script's in C.
bool is_c_keyword(std::string_view word);

// The text for clang, with each character at its own position, but without `#include <...>`, which has no effect.
// Reports directives that would read a file, move lines, or change sonde's own C.
std::string prepare_c_text(const hir::CText& code, Diagnostics& diags);

} // namespace sonde
