// From text to syntax tree: lexer, preprocessor, recursive descent with recovery.
//
// Recovers at `;`, `}` and at the words that begin a declaration, so that one run reports several errors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/diag.h"
#include "base/source.h"
#include "frontend/ast/ast.h"

namespace sonde {

struct ParseOptions {
    std::vector<std::string> args; // script arguments, for $1 and @1
    bool privileged = false;       // library text or -g: primitives and embedded code are accepted
    bool guru = false;
    std::string kernel_release; // for %( kernel_v ... %)
    std::string arch;
    std::map<std::string, std::string> kernel_config; // CONFIG_X -> "y", "m", number
};

// Errors go to diags; the tree then holds what could be read. Never null.
ast::File* parse_file(FileId file, const Sources& sources, const ParseOptions& options, Arena& arena,
                      Diagnostics& diags);

// The argument of -l and -L: probe points separated by commas.
std::vector<ast::ProbePoint*> parse_probe_points(FileId file, const Sources& sources, const ParseOptions& options,
                                                 Arena& arena, Diagnostics& diags);

} // namespace sonde
