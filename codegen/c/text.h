// The script's C as text: what is wrong with it before clang reads it.
#pragma once

#include <string>
#include <string_view>

#include "base/diag.h"
#include "frontend/hir/hir.h"

namespace sonde {

// A word that names nothing of the script's in C.
bool is_c_keyword(std::string_view word);

// The text for clang, with each character at its place: without `#include <...>`, which stands for what is there
// anyway. What would read a file, move lines or change sonde's own C goes to diags.
std::string prepare_c_text(const hir::CText& code, Diagnostics& diags);

} // namespace sonde
