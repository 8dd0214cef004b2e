// The text of a mangled symbol: the name, which patterns are compared with, and the parameters, which tell overloads
// apart.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// Whether a pattern means the function that a mangled symbol stands for: `C::f` and `f` for "ns::C::f(int)", with and
// without template arguments.
bool symbol_matches(std::string_view pattern, std::string_view symbol);
// The same for the function's name as text: "ns::C::f<int>".
bool matches_name(std::string_view pattern, std::string_view name);
// "ns::C::f" for "void ns::C::f(int)", the text of a mangled symbol; its parameters are "(int)". A thunk keeps the
// words before its function's name ("virtual thunk to C::f"), a part of a coroutine has its kind after it ("f.resume").
std::string symbol_name(const std::string& demangled);
std::string symbol_parameters(const std::string& demangled);
// "a<int>::f<T>" to "a::f"; the brackets of "<T as Trait>::f" stay.
std::string without_all_template_arguments(std::string_view name);
// Whether both name the same parameters: "(const char *)" and "(char const*)".
bool same_parameters(std::string_view one, std::string_view other);

} // namespace sonde
