// Recognizes words of other languages (other tracers, C, Python, awk) in a script in our language. Returns the
// replacement, as a help for the message about the word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde::hints {

// For an unknown function, name or operator (`@x`); empty if no other language has it.
std::string function_hint(std::string_view name);
std::string name_hint(std::string_view name);
std::string point_hint(std::string_view first); // of a point's first word
// For a later word of a point (`.exit`); one of `allowed` is possible there.
std::string component_hint(std::string_view name, const std::vector<std::string>& allowed);
// `called`: arguments follow.
std::string operator_hint(std::string_view name, bool called);
// For a word that begins a statement in other languages, but not in ours: `int x`, `print "a"`.
std::string statement_hint(std::string_view name);
// For a word of a point that has an argument but takes none, or takes another one: `timer(1)`.
std::string argument_hint(std::string_view name);
// For a command line of another tracer: `perf stat`, `break f`. `next`: the following word. Empty if it is unknown.
std::string command_hint(std::string_view name, std::string_view next);
// Whether this is the name of a tracer, and could not be the name of anything else here.
bool is_tracer(std::string_view name);
// For a syntax error. `got`: the token that is wrong; `before`: the one before it.
std::string syntax_hint(std::string_view before, std::string_view got);

} // namespace sonde::hints
