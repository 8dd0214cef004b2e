// An expression is translated word by word. C, C++, Rust, Go and Python differ little here: a name is a variable, `.`
// and
// `->` lead to a member, and `[]` to an element. A variable with its members is one part:
//
//     left < 3 && order.name == "tea"     [$left] [<] [3] [&&] [$order->name] [==] ["tea"]
//
// A part that stands alone, or that is compared with a string, is needed as text. Everything else is a number.
#include "frontend/bridge/log_text.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sonde {
namespace {

bool is_letter(char c) { return isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return isdigit(static_cast<unsigned char>(c)); }

struct Part {
    enum Kind { Variable, String, Comparison, Other } kind;
    std::string text;
};

// Names that are not variables.
constexpr std::pair<std::string_view, std::string_view> words[] = {
    {"true", "1"}, {"True", "1"}, {"false", "0"}, {"False", "0"}, {"NULL", "0"}, {"nullptr", "0"},
    {"null", "0"}, {"nil", "0"},  {"and", "&&"},  {"or", "||"},   {"not", "!"},
};

constexpr std::string_view operators[] = {"==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "<", ">", "+",
                                          "-",  "*",  "/",  "%",  "&",  "|",  "^",  "!",  "~", "(", ")"};

class Expression {
  public:
    explicit Expression(std::string_view text) : text_(text) {}

    Result<std::vector<Part>> parts() {
        std::vector<Part> out;
        bool needs_operand = true;
        for (skip_blanks(); at_ < text_.size(); skip_blanks()) {
            Result<Part> part = next(needs_operand);
            if (!part)
                return std::move(part).error().in(fmt::format("`{}`", text_));
            needs_operand = part->kind == Part::Comparison ||
                            (part->kind == Part::Other && part->text != ")" && !is_digit(part->text[0]));
            out.push_back(*std::move(part));
        }
        if (out.empty())
            return Error("an expression is empty");
        compare_texts(out);
        return out;
    }

  private:
    bool is_at(std::string_view text) const { return text_.substr(at_).starts_with(text); }
    void skip_blanks() {
        while (at_ < text_.size() && isspace(static_cast<unsigned char>(text_[at_])))
            at_++;
    }
    std::string name() {
        const size_t begin = at_;
        while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_])))
            at_++;
        return std::string(text_.substr(begin, at_ - begin));
    }

    Result<Part> next(bool needs_operand) {
        const char c = text_[at_];
        if (is_letter(c))
            return variable();
        if (is_digit(c))
            return number();
        if (c == '"' || c == '\'')
            return string();
        if (needs_operand && (c == '*' || (c == '&' && !is_at("&&")))) {
            at_++;
            skip_blanks();
            if (at_ >= text_.size() || !is_letter(text_[at_]))
                return Error(fmt::format("a variable must follow `{}`", c));
            Result<Part> out = variable();
            if (!out || out->kind != Part::Variable)
                return out ? Result<Part>(Error(fmt::format("a variable must follow `{}`", c))) : out;
            return c == '*' ? Part{Part::Variable, out->text + "->*"} : Part{Part::Other, "&" + out->text};
        }
        for (const std::string_view one : operators)
            if (is_at(one) && !is_at("++") && !is_at("--")) {
                if (text_.substr(at_ + one.size()).starts_with('=') && one != "==" && one != "!=")
                    break;
                at_ += one.size();
                const bool compares = one == "==" || one == "!=";
                return Part{compares ? Part::Comparison : Part::Other, std::string(one)};
            }
        if (c == '=' || is_at("++") || is_at("--") || text_.substr(at_ + 1).starts_with('='))
            return Error("sonde does not change the program; `==` compares");
        return Error(fmt::format("sonde does not know `{}` in an expression", c));
    }

    // A variable with its members and elements.
    Result<Part> variable() {
        std::string word = name();
        const auto* known = std::ranges::find(words, word, &std::pair<std::string_view, std::string_view>::first);
        if (known != std::end(words))
            return Part{Part::Other, std::string(known->second)};
        std::string out = "$" + word;
        while (is_at("::") && at_ + 2 < text_.size() && is_letter(text_[at_ + 2])) {
            at_ += 2;
            word += "::" + name();
            out = fmt::format("@var(\"{}\")", word);
        }
        for (skip_blanks(); at_ < text_.size(); skip_blanks()) {
            if (is_at("(") || is_at("::"))
                return Error(fmt::format("`{}` is a function, and sonde calls no functions of the program", word));
            if (is_at("[")) {
                Result<std::string> index = element();
                if (!index)
                    return index.error();
                out += *index;
            } else if (is_at("->") || is_at(".")) {
                at_ += is_at(".") ? 1 : 2;
                skip_blanks();
                word = name();
                if (word.empty())
                    return Error("the name of a member must follow `.` and `->`");
                // The members of a tuple in Rust are numbers.
                out += is_digit(word[0]) ? "->__" + word : "->" + word;
            } else {
                break;
            }
        }
        return Part{Part::Variable, out};
    }

    // `[i + 1]`
    Result<std::string> element() {
        const size_t begin = ++at_;
        for (int depth = 1; at_ < text_.size(); at_++) {
            depth += text_[at_] == '[' ? 1 : text_[at_] == ']' ? -1 : 0;
            if (depth > 0)
                continue;
            Result<std::string> inner = log_condition(text_.substr(begin, at_++ - begin));
            return inner ? Result("[" + *inner + "]") : inner;
        }
        return Error("a `[` is not closed");
    }

    Result<Part> number() {
        std::string word = name();
        if (is_at("."))
            return Error("sonde compares integers, not numbers such as " + word + ".0");
        if (!word.starts_with("0x"))
            while (!is_digit(word.back())) // 3u, 10L
                word.pop_back();
        return Part{Part::Other, word};
    }

    // A text, or the number of one character of C.
    Result<Part> string() {
        const char quote = text_[at_++];
        std::string out;
        for (; at_ < text_.size(); at_++) {
            if (text_[at_] == quote) {
                at_++;
                if (quote == '\'' && out.size() == 1)
                    return Part{Part::Other, std::to_string(+static_cast<unsigned char>(out[0]))};
                return Part{Part::String, fmt::format("\"{}\"", out)};
            }
            if (text_[at_] == '\\' && at_ + 1 < text_.size())
                out += text_[at_++];
            else if (text_[at_] == '"')
                out += '\\';
            out += text_[at_];
        }
        return Error(fmt::format("a {} is not closed", quote));
    }

    // Variables that are compared with a string are needed as texts.
    static void compare_texts(std::vector<Part>& parts) {
        for (size_t i = 1; i + 1 < parts.size(); i++) {
            Part &left = parts[i - 1], &right = parts[i + 1];
            if (parts[i].kind != Part::Comparison || (left.kind == Part::String) == (right.kind == Part::String))
                continue;
            Part& variable = left.kind == Part::String ? right : left;
            if (variable.kind == Part::Variable)
                variable = {Part::Other, fmt::format("__log_text({}$)", variable.text)};
        }
    }

    std::string_view text_;
    size_t at_ = 0;
};

std::string joined(const std::vector<Part>& parts) {
    std::string out;
    for (const Part& part : parts)
        out += (out.empty() ? "" : " ") + part.text;
    return out;
}

// Returns the end of the expression that begins at `at`: its `}`, outside of strings.
std::optional<size_t> end_of_expression(std::string_view text, size_t at) {
    for (char quote = 0; at < text.size(); at++) {
        if (quote && text[at] == '\\')
            at++;
        else if (quote ? text[at] == quote : text[at] == '"' || text[at] == '\'')
            quote = quote ? '\0' : text[at];
        else if (!quote && text[at] == '}')
            return at;
    }
    return std::nullopt;
}

// The expression as the name of its value in a format: `}` is doubled, and the format is a string of the script.
std::string name_of(std::string_view expression) {
    const size_t begin = std::min(expression.find_first_not_of(" \t\n"), expression.size());
    expression = expression.substr(begin, expression.find_last_not_of(" \t\n") + 1 - begin);
    std::string out;
    for (const char c : expression) {
        if (c == '}' || c == '\\')
            out += c;
        out += c == '"' ? "\\\"" : std::string(1, isspace(static_cast<unsigned char>(c)) ? ' ' : c);
    }
    return out;
}

} // namespace

Result<std::string> log_condition(std::string_view text) {
    Result<std::vector<Part>> parts = Expression(text).parts();
    return parts ? Result(joined(*parts)) : parts.error();
}

Result<std::string> show_expressions(std::string_view text) {
    std::string out;
    char quote = 0;
    for (size_t begin = 0, at = 0, depth = 0; at <= text.size(); at++) {
        const char c = at < text.size() ? text[at] : ',';
        if (quote && at < text.size()) {
            quote = c == quote ? '\0' : quote;
            continue;
        }
        quote = c == '"' || c == '\'' ? c : '\0';
        depth += c == '[' || c == '(' ? 1 : (c == ']' || c == ')') && depth > 0 ? -1 : 0;
        if (c != ',' || (depth > 0 && at < text.size()))
            continue;
        const std::string_view expression = text.substr(begin, at - begin);
        Result<std::vector<Part>> parts = Expression(expression).parts();
        if (!parts)
            return parts.error();
        const bool is_value = parts->size() == 1 && (*parts)[0].kind == Part::Variable;
        std::string name;
        for (const char letter : name_of(expression))
            name += letter == '%' ? "%%" : std::string(1, letter);
        out += fmt::format("printf(\"  {} = {}\\n\", {}{}) ", name, is_value ? "%s" : "%d", joined(*parts),
                           is_value ? "$" : "");
        begin = at + 1;
    }
    return out;
}

bool logs_all_variables(std::string_view text) {
    for (size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at)) {
        if (text.substr(at).starts_with("{{")) {
            at += 2;
            continue;
        }
        const size_t end = end_of_expression(text, at + 1).value_or(text.size());
        if (name_of(text.substr(at + 1, end - at - 1)) == "*")
            return true;
        at = end;
    }
    return false;
}

Result<std::string> log_format(std::string_view text, std::string_view place, const PlaceVariables& variables) {
    std::string format, arguments;
    const auto add_all = [&] {
        if (variables.is_python) {
            format += "%{arguments}s";
            arguments += ", $$parms";
        } else if (variables.names.empty()) {
            format += "(no variables)";
        }
        for (const std::string& name : variables.names) {
            format += fmt::format("{0}{1}=%{{{1}}}v", &name == variables.names.data() ? "" : " ", name);
            arguments += fmt::format(R"(, @defined(${0}$) ? ${0}$ : "?")", name);
        }
    };
    if (!place.empty()) {
        format = "%{place}#v";
        arguments = fmt::format(", \"{}\"", place);
    }
    for (size_t at = 0; at < text.size(); at++) {
        const char c = text[at];
        const bool is_double = text.substr(at + 1).starts_with(c);
        if ((c == '{' || c == '}') && is_double) {
            format += c;
            at++;
        } else if (c == '}') {
            return Error(fmt::format("`{}`: a `}}` without its `{{`; `}}}}` is the character", text));
        } else if (c == '{') {
            const std::optional<size_t> end = end_of_expression(text, at + 1);
            if (!end)
                return Error(fmt::format("`{}`: a `{{` is not closed; `{{{{` is the character", text));
            const std::string name = name_of(text.substr(at + 1, *end - at - 1));
            const size_t begin = at + 1;
            at = *end;
            if (name == "*") {
                add_all();
                continue;
            }
            Result<std::vector<Part>> parts = Expression(text.substr(begin, *end - begin)).parts();
            if (!parts)
                return parts.error();
            const bool is_value = parts->size() == 1 && (*parts)[0].kind == Part::Variable;
            format += fmt::format("%{{{}}}{}", name, is_value ? 'v' : 'd');
            arguments += is_value ? fmt::format(", {}$", (*parts)[0].text) : ", " + joined(*parts);
        } else if (c == '\\') { // `\n` and `\t` are as in scripts
            format += at + 1 < text.size() ? text.substr(at++, 2) : "\\\\";
        } else {
            format += c == '%' ? "%%" : c == '"' ? "\\\"" : c == '\n' ? "\\n" : std::string(1, c);
        }
    }
    return fmt::format("\"{}\\n\"{}", format, arguments);
}

} // namespace sonde
