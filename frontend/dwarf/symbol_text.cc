#include "frontend/dwarf/symbol_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/demangle.h"
#include "base/glob.h"

namespace sonde {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

// Where the parameters begin; npos without any. `operator()` is a name, and so is `(anonymous namespace)::f`.
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

// What is between `<` and its `>`, both of them too; `at` is the `<`.
size_t bracket_end(std::string_view text, size_t at) {
    int depth = 0;
    for (size_t i = at; i < text.size(); i++) {
        depth += text[i] == '<';
        // The `>` of a function's result is none.
        if (text[i] == '>' && text[i - 1] != '-' && --depth == 0)
            return i + 1;
    }
    return text.size();
}

// "a<int>::f<T>" to "a::f"; the brackets of "<T as Trait>::f" stay.
std::string without_arguments(std::string_view name) {
    std::string out;
    for (size_t i = 0; i < name.size(); i++) {
        if (name[i] == '<' && i > 0 && is_word(name[i - 1]) && !name.substr(0, i).ends_with("operator"))
            i = bracket_end(name, i) - 1;
        else
            out += name[i];
    }
    return out;
}

// The whole, or an end of it after a `::`.
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

// The longest word, which a symbol has in it whatever its mangling.
std::string_view longest_word(std::string_view pattern) {
    std::string_view best;
    for (size_t i = 0; i < pattern.size();) {
        if (pattern[i] == '[') { // one of these characters
            i = std::min(pattern.find(']', i), pattern.size() - 1) + 1;
            continue;
        }
        size_t end = i;
        while (end < pattern.size() && is_word(pattern[end]))
            end++;
        if (end - i > best.size())
            best = pattern.substr(i, end - i);
        i = std::max(end, i + 1);
    }
    return best;
}

// `const char` to `char const`.
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

// One spelling for one list of parameters.
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
    // What templates take without being told.
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

std::string symbol_parameters(const std::string& demangled) {
    size_t at = parameters_at(demangled);
    return at == std::string::npos ? "" : demangled.substr(at);
}

std::string symbol_name(const std::string& demangled) {
    std::string name = demangled.substr(0, parameters_at(demangled));
    // A template's result stands before it.
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
    return name.substr(begin);
}

bool symbol_matches(std::string_view pattern, std::string_view symbol) {
    if ((!symbol.starts_with("_Z") && !symbol.starts_with("_R")) ||
        symbol.find(longest_word(pattern)) == std::string_view::npos)
        return false;
    std::optional<std::string> demangled = demangle(symbol);
    if (!demangled)
        return false;
    std::string name = symbol_name(*demangled), wanted(pattern);
    return matches_end(wanted, name) || matches_end(wanted, without_arguments(name));
}

bool same_parameters(std::string_view one, std::string_view other) { return normalized(one) == normalized(other); }

} // namespace sonde
