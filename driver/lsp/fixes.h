// Corrections of mistakes that an editor can apply.
#pragma once

#include <optional>
#include <string>

#include "base/diag.h"
#include "driver/lsp/script.h"

namespace sonde::lsp {

struct Fix {
    std::string title;
    Range range; // in the document
    std::string text;
};

// Returns the correction for a message with "did you mean `x`?": the name that `x` replaces. nullopt: the message has
// no suggestion, or it is not clear which word of the script is wrong.
std::optional<Fix> find_fix(const Diagnostic& diag, const Script& script);

} // namespace sonde::lsp
