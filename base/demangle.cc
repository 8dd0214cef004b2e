// Demangles symbols.
//
// The C++ runtime demangles C++ symbols, because it is always there. LLVM demangles those that the runtime does not
// know.
//
// A demangled function has parameters, and for templates also a result. A stack should show only the name:
//
//     _ZN4shop4findIiEEiT_        the symbol
//     int shop::find<int>(int)    demangled
//     shop::find<int>             readable
//
// So readable_symbol() removes the last pair of parentheses, and the text before the last blank outside of brackets.
// Operators and conversion functions contain blanks and brackets themselves (`operator<`, `operator int`), so the
// search for the beginning stops at the word `operator`.
#include "base/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

#include "base/demangle_rust.h"

namespace sonde {

std::optional<std::string> demangle(std::string_view symbol) {
    if (std::optional<std::string> rust = demangle_rust(symbol))
        return rust;
    if (!symbol.starts_with("_Z"))
        return std::nullopt;
    int status = 0;
    std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status), &std::free);
    if (status == 0 && text)
        return text.get();
    // The installed runtime may not know what newer compilers generate.
    return demangle_cxx_by_llvm(symbol);
}

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Whether the word `operator` begins at this position. Spaces and brackets after it belong to the name.
bool is_operator(std::string_view text, size_t at) {
    constexpr std::string_view word = "operator";
    return text.substr(at).starts_with(word) && (at == 0 || !is_word(text[at - 1])) &&
           (at + word.size() == text.size() || !is_word(text[at + word.size()]));
}

// A template function's symbol includes its result's type, because overloads can differ in it. The same holds for
// symbols of things within such a function (Itanium ABI, section 5.1.5.3, function signatures). The name begins after
// the last space outside of brackets, except for the space in `f() const::{lambda()#1}`.
size_t name_begin(std::string_view text) {
    std::string open;
    size_t begin = 0;
    for (size_t at = 0; at < text.size() && !(open.empty() && is_operator(text, at)); at++) {
        char c = text[at];
        if (c == '<' || c == '(' || c == '{' || c == '[')
            open += c;
        else if ((c == '>' && open.ends_with('<')) || (c == ')' && open.ends_with('(')) ||
                 (c == '}' && open.ends_with('{')) || (c == ']' && open.ends_with('[')))
            open.pop_back();
        else if (c == ' ' && open.empty() &&
                 !(at > 0 && text[at - 1] == ')' && text.substr(at + 1).find("::") < text.substr(at + 1).find(' ') &&
                   (text.substr(at).starts_with(" const") || text.substr(at).starts_with(" volatile"))))
            begin = at + 1;
    }
    // `int (*f<int>())(char)` returns a pointer to a function; keep it unchanged.
    return text.substr(begin).starts_with("(*") || text.substr(begin).starts_with("(&") ? 0 : begin;
}

} // namespace

std::string readable_symbol(std::string_view symbol) {
    std::optional<std::string> text =
        symbol.starts_with("_Z") || symbol.starts_with("_R") ? demangle(symbol) : std::nullopt;
    if (!text)
        return std::string(symbol);
    // Thunks and similar symbols are described in English.
    bool may_have_result = !symbol.starts_with("_ZT") && !symbol.starts_with("_ZG") && !demangle_rust(symbol);
    // The last pair of parentheses contains the parameters; `const` and others may follow.
    size_t close = text->rfind(')');
    if (symbol.starts_with("_R") || close == std::string::npos || text->find("::", close) != std::string::npos)
        return *text;
    int depth = 0;
    for (size_t at = close + 1; at-- > 0;) {
        depth += (*text)[at] == ')' ? 1 : (*text)[at] == '(' ? -1 : 0;
        if (depth != 0 || (*text)[at] != '(' || at == 0)
            continue;
        std::string name = text->substr(0, at);
        return may_have_result ? name.substr(name_begin(name)) : name;
    }
    return *text;
}

} // namespace sonde
