// Sorts what a user types in an interactive session, and finds the globals that it creates. Nothing here runs anything.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/ast/ast.h"
#include "runtime/values/array_values.h"

namespace sonde::repl {

// The commands of the session.
struct CommandRow {
    const char *name, *arguments; // as in `NAME ARGUMENTS`
    const char* help;
};
constexpr CommandRow command_rows[] = {
    {"list", "", "list the probes, with their hits and their cost"},
    {"drop", "NUMBER...", "remove probes; `drop all` removes all of them"},
    {"pause", "", "let no handler run, until `resume`"},
    {"resume", "", "let the handlers run again"},
    {"run", "", "start the command of -c"},
    {"wait", "[SECONDS]", "wait until the command or the process of -x has ended, or a handler calls exit()"},
    {"top", "[ARRAY] [NUMBER]", "print the largest elements of arrays (10)"},
    {"hist", "[STATISTIC]", "draw the histograms of statistics"},
    {"save", "[-f] FILE", "write the session's probes as a script; -f replaces a file"},
    {"help", "", "explain the session"},
    {"quit", "", "end the session; Ctrl-D does the same"},
};

enum class TypedKind : uint8_t {
    Nothing,      // blanks and comments
    Command,      // `drop 2`
    Declarations, // probes, globals, functions, aliases
    Points,       // `process.function("f*")`, to be listed
    Statements,   // `hits["x"]`, `delete hits`
};
struct Typed {
    TypedKind kind = TypedKind::Nothing;
    std::string command, arguments; // of a Command
};
// `is_point`: whether a word is the first component of probe points: the name of a kind, or of an alias. `is_global`:
// whether it is a global, which hides a command and a point.
Typed sort_typed(const std::string& text, const std::function<bool(std::string_view)>& is_point,
                 const std::function<bool(std::string_view)>& is_global);

// Whether the text is complete: false if brackets are open, or if a probe or a function has no body yet.
bool is_finished(const std::string& text);

// Returns the names in a handler's body that become new globals of the session, sorted. These are undeclared names that
// the body
//
// * changes as an array or a statistic: `n[k]++`, `s <<< v`
// * increments without an earlier assignment: `n++`, `sum += v`
// * assigns, if `is_at_prompt`: the statements are not part of a probe, so a local variable would be useless
//
// Other names stay what they are in a script: local variables, or mistakes. `known`: the globals of the session. Names
// in the texts of macros do not count: only those in the file `file`.
std::vector<std::string> find_new_globals(const ast::BlockStmt& body, FileId file, const std::set<std::string>& known,
                                          bool is_at_prompt);

// A global or one of its elements, as a user names it: `by`, `by["tea", 3]`.
struct NamedValue {
    std::string name;
    std::vector<KeyValue> keys; // none: the whole global
};
// Reads a name. Returns nullopt for other texts, also if a key is an expression.
std::optional<NamedValue> read_named_value(const std::string& text);

// Returns a global's declaration, without `global`: `hits[100]`, `limit=5`.
std::string declaration_of(const ast::Global& global);

} // namespace sonde::repl
