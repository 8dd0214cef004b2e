// From text to syntax tree: lexer, preprocessor, recursive descent with recovery.
//
// Recovers at `;`, at `}`, at a line that begins like a statement and at the words that begin a declaration, so that
// one run reports several errors. No text makes it crash or loop, whatever is in it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "base/diag.h"
#include "base/source.h"
#include "frontend/ast/ast.h"
#include "frontend/parse/kernel_config.h"

namespace sonde {

// The deepest tree that the parser makes; what is deeper is refused with a message, so that every later pass may
// recurse. Each statement inside another one, and each parenthesis, index, argument or prefix operator, is a level of
// nesting; an expression's height counts its nodes from the top down to the deepest one (`a + b + c`: 3).
constexpr int max_nesting = 256;
constexpr int max_expr_height = 512;

// Whose language this is.
constexpr std::string_view systemtap_version = "5.6";

struct MacroTable; // parse/preprocess.h

struct ParseOptions {
    std::vector<std::string> args; // script arguments, for $1 and @1
    bool privileged = false;       // library text or -g: primitives and embedded code are accepted
    bool guru = false;
    std::string kernel_release; // for %( kernel_v ... %)
    std::string arch;
    // --compatible: the version of SystemTap that the script was written for.
    std::string compatible{systemtap_version};
    bool older_than(const char* version) const;
    // What `systemtap_v` is in conditionals. The library is written in the newest language, and asks which version the
    // script wants. Empty: `compatible`.
    std::string asked_version;
    // Asked for when a conditional needs it; what is not there is "", and 0 as a number. May be empty.
    std::function<const KernelConfig&()> kernel_config;
    // The library's macros, if any; a file's own ones go first.
    const MacroTable* macros = nullptr;
};

// Errors go to diags; the tree then holds what could be read. Never null.
ast::File* parse_file(FileId file, const Sources& sources, const ParseOptions& options, Arena& arena,
                      Diagnostics& diags);

// The argument of -l and -L: probe points separated by commas.
std::vector<ast::ProbePoint*> parse_probe_points(FileId file, const Sources& sources, const ParseOptions& options,
                                                 Arena& arena, Diagnostics& diags);

// The argument of --why: `$x` with members. Null after a report.
const ast::TargetExpr* parse_target(FileId file, const Sources& sources, const ParseOptions& options, Arena& arena,
                                    Diagnostics& diags);

} // namespace sonde
