// Compares names in the form that demanglers print. A symbol such as _ZN2ns1CIiE1fEPKc demangles to "ns::C<int>::f(char
// const*)". A user may write `f`, `C::f`, `ns::C<int>::f`, or the name with `(const char *)`, so parts of the name can
// be omitted, and parameters are compared in a normalized form.
//
// Demangling millions of symbols takes seconds. symbol_matches() therefore first checks whether the mangled name
// contains the longest word of the pattern; mangling leaves words unchanged.
#include "frontend/dwarf/symbol_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "base/demangle.h"
#include "base/glob.h"

namespace sonde {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

// Returns the beginning of the parameters, or npos. `operator()` is a name, and so is `(anonymous namespace)::f`.
size_t parameters_at(std::string_view text) {
    for (std::string_view suffix : {" const", " volatile", " const volatile", " &", " &&"})
        if (text.ends_with(")" + std::string(suffix)))
            text.remove_suffix(suffix.size());
    if (!text.ends_with(')'))
        return std::string_view::npos;
    int depth = 0;
    for (size_t i = text.size(); i-- > 0;) {
        depth += text[i] == ')';
        if (text[i] == '(' && --depth == 0)
            return i == 0 || text.substr(0, i).ends_with("operator") ? std::string_view::npos : i;
    }
    return std::string_view::npos;
}

// Returns the index after the `>` that closes the `<` at `at`.
size_t bracket_end(std::string_view text, size_t at) {
    int depth = 0;
    for (size_t i = at; i < text.size(); i++) {
        depth += text[i] == '<';
        // The `>` of `->` is not a bracket.
        if (text[i] == '>' && text[i - 1] != '-' && --depth == 0)
            return i + 1;
    }
    return text.size();
}

// Whether the pattern matches the whole name, or the part after a `::`.
bool matches_end(const std::string& pattern, std::string_view name) {
    if (name == pattern || glob_match(pattern, name))
        return true;
    for (size_t i = 0; i + 2 < name.size(); i++) {
        if (name[i] == '<' && (i == 0 || !name.substr(0, i).ends_with("operator"))) {
            i = bracket_end(name, i) - 1;
        } else if (name[i] == ':' && name[i + 1] == ':') {
            std::string_view end = name.substr(i + 2);
            if (end == pattern || glob_match(pattern, end))
                return true;
        }
    }
    return false;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
}

// Words that symbols encode as single letters: types and keywords of C++ and Rust.
bool is_encoded(std::string_view word) {
    constexpr std::string_view words[] = {
        "operator", "new",   "delete", "anonymous", "namespace", "lambda", "unnamed", "type", "int", "long",
        "short",    "char",  "bool",   "double",    "float",     "signed", "void",    "auto", "as",  "dyn",
        "i8",       "i16",   "i32",    "i64",       "i128",      "isize",  "u8",      "u16",  "u32", "u64",
        "u128",     "usize", "f32",    "f64",       "str",       "mut",    "const",   "fn",   "std", "string",
        "unsigned", "impl",  "string", "allocator", "ostream",   "istream"};
    return std::ranges::find(words, word) != std::ranges::end(words);
}

// Returns the longest word of the pattern. It must be part of the symbol, however the symbol is mangled.
std::string_view longest_word(std::string_view pattern) {
    std::string_view best;
    for (size_t i = 0; i < pattern.size();) {
        // Skip a character class, and Rust's `{closure#0}`.
        if (pattern[i] == '[' || pattern[i] == '{') {
            i = std::min(pattern.find(pattern[i] == '[' ? ']' : '}', i), pattern.size() - 1) + 1;
            continue;
        }
        size_t end = i;
        while (end < pattern.size() && is_word(pattern[end]))
            end++;
        if (end - i > best.size() && !is_encoded(pattern.substr(i, end - i)))
            best = pattern.substr(i, end - i);
        i = std::max(end, i + 1);
    }
    return best;
}

// Changes `const char` to `char const`.
void move_const(std::string& text) {
    constexpr std::string_view word = "const ";
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at++) {
        if (at > 0 && (is_word(text[at - 1]) || text[at - 1] == ' '))
            continue;
        text.erase(at, word.size());
        size_t end = at;
        while (end < text.size() && (is_word(text[end]) || text[end] == ':' || text[end] == ' ' || text[end] == '<'))
            end = text[end] == '<' ? bracket_end(text, end) : end + 1;
        text.insert(end, " const");
    }
}

// The text before a symbol's suffix in demangled names: "f(int) [clone .cold]".
constexpr std::string_view clone_mark = " [clone ";

// Returns ".resume" for "f(int) [clone .resume]".
std::string_view part_of_clone(std::string_view demangled) {
    for (std::string_view part : {".resume", ".destroy", ".cleanup", ".actor"})
        if (demangled.ends_with(']') && demangled.substr(0, demangled.size() - 1).ends_with(part))
            return part;
    return {};
}

// Returns the words before the function's name in the names of thunks and similar functions.
std::string_view description_of(std::string_view demangled) {
    for (std::string_view what :
         {"non-virtual thunk to ", "virtual thunk to ", "covariant return thunk to ", "TLS wrapper function for ",
          "TLS init function for ", "transaction clone for ", "non-transaction clone for "})
        if (demangled.starts_with(what))
            return what;
    return {};
}

// Prints template arguments as compilers do: "f<'x'>" instead of "f<(char)120>".
std::string with_characters(std::string name) {
    constexpr std::string_view cast = "(char)";
    for (size_t at = 0; (at = name.find(cast, at)) != std::string::npos; at++) {
        const size_t number = at + cast.size();
        const size_t end = std::min(name.find_first_not_of("0123456789", number), name.size());
        const int code = end - number > 0 && end - number <= 3 ? std::stoi(name.substr(number, end - number)) : 0;
        if (code >= ' ' && code < 0x7f && code != '\'' && code != '\\')
            name.replace(at, end - at, fmt::format("'{}'", static_cast<char>(code)));
    }
    return name;
}

// Converts lists of parameters to one spelling.
std::string normalized(std::string_view parameters) {
    std::string text;
    for (size_t i = 0; i < parameters.size(); i++) {
        bool between_words =
            !text.empty() && is_word(text.back()) && i + 1 < parameters.size() && is_word(parameters[i + 1]);
        if (parameters[i] != ' ' || between_words)
            text += parameters[i];
    }
    replace_all(text, ">const", "> const");
    for (std::string_view inline_namespace : {"std::__cxx11::", "std::__1::"})
        replace_all(text, inline_namespace, "std::");
    // Default arguments of standard templates.
    for (std::string_view argument : {",std::allocator<", ",std::char_traits<", ",std::less<", ",std::hash<",
                                      ",std::equal_to<", ",std::default_delete<"})
        for (size_t at; (at = text.find(argument)) != std::string::npos;)
            text.erase(at, bracket_end(text, at + argument.size() - 1) - at);
    replace_all(text, "std::basic_string<char>", "std::string");
    replace_all(text, "std::basic_string_view<char>", "std::string_view");
    for (std::string_view keyword : {"struct ", "class ", "union ", "enum "})
        replace_all(text, keyword, "");
    if (text == "(void)")
        text = "()";
    move_const(text);
    return text;
}

} // namespace

std::string without_all_template_arguments(std::string_view name) {
    std::string out;
    for (size_t i = 0; i < name.size(); i++) {
        if (name[i] == '<' && i > 0 && is_word(name[i - 1]) && !name.substr(0, i).ends_with("operator"))
            i = bracket_end(name, i) - 1;
        else
            out += name[i];
    }
    return out;
}

std::string symbol_parameters(const std::string& demangled) {
    const std::string text = demangled.substr(0, demangled.find(clone_mark));
    size_t at = parameters_at(text);
    return at == std::string::npos ? "" : text.substr(at);
}

std::string symbol_name(const std::string& demangled) {
    std::string_view what = description_of(demangled);
    const std::string text = demangled.substr(what.size(), demangled.find(clone_mark) - what.size());
    std::string name = text.substr(0, parameters_at(text));
    // The result type of a function template precedes its name.
    size_t end = name.rfind("operator");
    end = end == std::string::npos || (end > 0 && is_word(name[end - 1])) ? name.size() : end;
    size_t begin = 0;
    for (size_t i = 0; i < end; i++) {
        if (name[i] == '<')
            i = bracket_end(name, i) - 1;
        else if (name[i] == '(')
            i = std::min(name.find(')', i), end);
        else if (name[i] == ' ')
            begin = i + 1;
    }
    return fmt::format("{}{}{}", what, with_characters(name.substr(begin)), part_of_clone(demangled));
}

bool matches_name(std::string_view pattern, std::string_view name) {
    std::string wanted(pattern);
    if (std::string_view what = description_of(name); !what.empty())
        return glob_match(wanted, name) ||
               (wanted.starts_with(what) && matches_name(wanted.substr(what.size()), name.substr(what.size())));
    std::string text(name);
    if (pattern.find('<') != std::string_view::npos) { // blanks between arguments do not matter
        std::erase(wanted, ' ');
        std::erase(text, ' ');
    }
    return matches_end(wanted, text) || matches_end(wanted, without_all_template_arguments(text));
}

bool symbol_matches(std::string_view pattern, std::string_view symbol) {
    // The built-in types are single letters in a symbol.
    const std::string named = without_all_template_arguments(pattern.substr(description_of(pattern).size()));
    if ((!symbol.starts_with("_Z") && !symbol.starts_with("_R")) ||
        (symbol.find(longest_word(named)) == std::string_view::npos && pattern.find("thunk") == std::string_view::npos))
        return false;
    std::optional<std::string> demangled = demangle(symbol);
    if (!demangled)
        return false;
    return matches_name(pattern, symbol_name(*demangled));
}

bool same_parameters(std::string_view one, std::string_view other) { return normalized(one) == normalized(other); }

} // namespace sonde
