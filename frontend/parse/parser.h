// Turns text into a syntax tree: lexer, preprocessor, and a recursive descent parser.
//
// One run reports several errors. After an error the parser recovers at a `;`, at a `}`, at a line that looks like the
// beginning of a statement, or at a word that begins a declaration. No input may make it crash or loop.
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

// Limits of the tree. Deeper input is refused with a message, so every later pass may recurse without overflowing the
// stack. Each nested statement, parenthesis, index, argument and prefix operator is one level of nesting. An
// expression's height is the number of nodes from its root to its deepest leaf; the height of `a + b + c` is 3.
constexpr int max_nesting = 256;
constexpr int max_expr_height = 512;

// The version of SystemTap whose language sonde implements.
constexpr std::string_view systemtap_version = "5.6";

struct MacroTable; // parse/preprocess.h

// Everything that parsing depends on besides the text.
struct ParseOptions {
    std::vector<std::string> args; // script arguments, for $1 and @1
    bool privileged = false;       // library text or -g: primitives and embedded code are allowed
    bool guru = false;
    std::string kernel_release; // for %( kernel_v ... %)
    std::string arch;
    // --compatible: the SystemTap version that the script was written for.
    std::string compatible{systemtap_version};
    // Whether `compatible` is older than the version, such as "4.0".
    bool older_than(const char* version) const;
    // The value of `systemtap_v` in conditionals. Library files are written in the newest language and ask for the
    // version that the script wants. Empty: `compatible`.
    std::string asked_version;
    // Called when a conditional needs the kernel's configuration. An option that does not exist is "" as a string and 0
    // as a number. May be empty.
    std::function<const KernelConfig&()> kernel_config;
    // The library's macros; null if none. A macro of the file itself takes precedence.
    const MacroTable* macros = nullptr;
};

// Parses a whole file. Reports errors to `diags`; the tree then holds the parts that could be parsed. Never null. The
// arena owns the tree.
ast::File* parse_file(FileId file, const Sources& sources, const ParseOptions& options, Arena& arena,
                      Diagnostics& diags);

// Parses the argument of -l and -L: probe points separated by commas.
std::vector<ast::ProbePoint*> parse_probe_points(FileId file, const Sources& sources, const ParseOptions& options,
                                                 Arena& arena, Diagnostics& diags);

// Parses the argument of --why: `$x` with members. Returns null after reporting an error.
const ast::TargetExpr* parse_target(FileId file, const Sources& sources, const ParseOptions& options, Arena& arena,
                                    Diagnostics& diags);

} // namespace sonde
