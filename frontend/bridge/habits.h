// Single words of other languages in a script that is ours otherwise: other tracers', C's, Python's, awk's. What to
// write instead, as a help for the message about the word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde::bridge {

// Of a function, a name or an operator (`@x`) that is not known; empty if it is nobody's.
std::string function_habit(std::string_view name);
std::string name_habit(std::string_view name);
std::string point_habit(std::string_view first); // of a point's first word
// Of a later word of a point (`.exit`), where one of `allowed` can stand.
std::string component_habit(std::string_view name, const std::vector<std::string>& allowed);
// `called`: arguments follow it.
std::string operator_habit(std::string_view name, bool called);
// Of a word that begins a statement elsewhere, and is no keyword of ours or one of another place: `int x`, `print "a"`.
std::string statement_habit(std::string_view name);
// Of a point's word that takes no argument, or another one, and has one: `timer(1)`.
std::string argument_habit(std::string_view name);
// Of a command line of another tracer: `perf stat`, `break f`; `next` is the word after it. Empty: it is nobody's.
std::string command_habit(std::string_view name, std::string_view next);
// Whether a command's name is a tracer's, and no word that something here may be called.
bool is_tracer(std::string_view name);
// Where the grammar expects something else: `got` is the token that is there, `before` the one in front of it.
std::string syntax_habit(std::string_view before, std::string_view got);

} // namespace sonde::bridge
