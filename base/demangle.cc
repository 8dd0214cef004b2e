// C++'s names are left to the C++ runtime, and to LLVM what that does not know.
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
    // What newer compilers write and the runtime that is installed does not know yet.
    return demangle_cxx_by_llvm(symbol);
}

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Where the word `operator` begins at `at`, after which spaces and brackets belong to the name.
bool is_operator(std::string_view text, size_t at) {
    constexpr std::string_view word = "operator";
    return text.substr(at).starts_with(word) && (at == 0 || !is_word(text[at - 1])) &&
           (at + word.size() == text.size() || !is_word(text[at + word.size()]));
}

// A template function's symbol says what it returns, so that overloads by their results differ, and so does one of
// something inside (Itanium ABI, section 5.1.5.3, function signatures). The name begins after the last space outside
// of brackets that is not the one in `f() const::{lambda()#1}`.
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
    // `int (*f<int>())(char)` returns a pointer to a function: left as it is.
    return text.substr(begin).starts_with("(*") || text.substr(begin).starts_with("(&") ? 0 : begin;
}

} // namespace

std::string readable_symbol(std::string_view symbol) {
    std::optional<std::string> text =
        symbol.starts_with("_Z") || symbol.starts_with("_R") ? demangle(symbol) : std::nullopt;
    if (!text)
        return std::string(symbol);
    // Thunks and their like are described by words.
    bool may_have_result = !symbol.starts_with("_ZT") && !symbol.starts_with("_ZG") && !demangle_rust(symbol);
    // The last parentheses that are closed hold the parameters; after them stand `const` and the like.
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
