// Functions for demangled symbols: their names, which patterns are matched with, and their parameters, which
// distinguish overloads.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// Whether a pattern matches the function of a mangled symbol: `C::f` and `f` match "ns::C::f(int)", with and without
// template arguments.
bool symbol_matches(std::string_view pattern, std::string_view symbol);
// The same for a function's name as text: "ns::C::f<int>".
bool matches_name(std::string_view pattern, std::string_view name);
// For "void ns::C::f(int)", the text of a mangled symbol, the name is "ns::C::f" and the parameters are "(int)". The
// name of a thunk keeps the words before the function's name ("virtual thunk to C::f"). The name of a part of a
// coroutine ends in its kind ("f.resume").
std::string symbol_name(const std::string& demangled);
std::string symbol_parameters(const std::string& demangled);
// Converts "a<int>::f<T>" to "a::f". The brackets in "<T as Trait>::f" remain.
std::string without_all_template_arguments(std::string_view name);
// Whether both texts mean the same parameters: "(const char *)" and "(char const*)".
bool same_parameters(std::string_view one, std::string_view other);

} // namespace sonde
