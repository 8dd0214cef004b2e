#include "languages/python/source.h"

#include <algorithm>
#include <cctype>

#include "base/glob.h"

namespace sonde {
namespace {

bool is_name(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }

class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(text) {}

    std::vector<PythonFunction> scan() {
        while (at_ < text_.size())
            scan_line();
        return std::move(out_);
    }

  private:
    // A class or function around the current line.
    struct Scope {
        size_t indent;
        std::string name;
        bool is_function;
    };

    // A logical line: it goes on in brackets, in long strings, and after a backslash.
    void scan_line() {
        size_t indent = 0;
        for (; at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\f'); at_++)
            indent = text_[at_] == '\t' ? (indent / 8 + 1) * 8 : indent + 1;
        const char first = at_ < text_.size() ? text_[at_] : '\n';
        if (first != '\n' && first != '\r' && first != '#') {
            while (!scopes_.empty() && scopes_.back().indent >= indent)
                scopes_.pop_back();
            std::string_view word = take_word();
            if (word == "async")
                word = take_word();
            if (word == "def" || word == "class")
                enter(indent, word == "def");
        }
        skip_to_end_of_line();
    }

    void enter(size_t indent, bool is_function) {
        const int line = line_;
        const std::string_view word = take_word();
        if (word.empty())
            return;
        std::string name(word);
        if (!scopes_.empty())
            name = scopes_.back().name + (scopes_.back().is_function ? ".<locals>." : ".") + name;
        if (is_function)
            out_.push_back({name, line, parameters()});
        scopes_.push_back({indent, std::move(name), is_function});
    }

    // Returns the names between the parentheses that follow the function's name.
    std::vector<std::string> parameters() {
        std::vector<std::string> out;
        while (at_ < text_.size() && text_[at_] != '(' && text_[at_] != '\n')
            step(); // the parameters of a type: def f[T](x)
        if (at_ == text_.size() || text_[at_] != '(')
            return out;
        const int around = depth_;
        step();
        std::string name;
        bool is_complete = false; // the rest is an annotation or a default
        while (at_ < text_.size() && depth_ > around) {
            const char c = text_[at_];
            if (depth_ == around + 1 && (c == ',' || c == ')')) {
                if (!name.empty() && name.back() != '*' && name != "/")
                    out.push_back(name.substr(name.find_first_not_of('*')));
                name.clear();
                is_complete = false;
            } else if (depth_ == around + 1 && (c == ':' || c == '=')) {
                is_complete = true;
            } else if (!is_complete && (is_name(c) || c == '*' || c == '/')) {
                name += c;
            }
            step();
        }
        return out;
    }

    std::string_view take_word() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t'))
            at_++;
        const size_t from = at_;
        while (at_ < text_.size() && is_name(text_[at_]))
            at_++;
        return text_.substr(from, at_ - from);
    }

    void skip_to_end_of_line() {
        while (at_ < text_.size() && (text_[at_] != '\n' || depth_ > 0))
            step();
        if (at_ < text_.size())
            step();
    }

    // Skips a character, a string or a comment.
    void step() {
        const char c = text_[at_];
        if (c == '#') {
            at_ = std::min(text_.find('\n', at_), text_.size());
            return;
        }
        if (c == '"' || c == '\'')
            return skip_string(c);
        if (c == '\\' && at_ + 1 < text_.size()) {
            line_ += text_[at_ + 1] == '\n';
            at_ += 2;
            return;
        }
        line_ += c == '\n';
        if (c == '(' || c == '[' || c == '{')
            depth_++;
        else if ((c == ')' || c == ']' || c == '}') && depth_ > 0)
            depth_--;
        at_++;
    }

    void skip_string(char quote) {
        const std::string three(3, quote);
        const bool is_long = text_.substr(at_, 3) == three;
        at_ += is_long ? 3 : 1;
        while (at_ < text_.size()) {
            if (is_long ? text_.substr(at_, 3) == three : text_[at_] == quote || text_[at_] == '\n') {
                at_ += is_long ? 3 : text_[at_] == quote ? 1 : 0;
                return;
            }
            line_ += text_[at_] == '\n';
            if (text_[at_] == '\\' && at_ + 1 < text_.size())
                line_ += text_[++at_] == '\n';
            at_++;
        }
        at_ = std::min(at_, text_.size());
    }

    std::string_view text_;
    size_t at_ = 0;
    int line_ = 1, depth_ = 0; // depth_: of brackets
    std::vector<Scope> scopes_;
    std::vector<PythonFunction> out_;
};

} // namespace

std::vector<PythonFunction> python_functions(std::string_view source) { return Scanner(source).scan(); }

PythonFilePattern python_file_pattern(const std::string& pattern) {
    if (pattern == "*" || pattern == "**")
        return {.is_any = true};
    if (pattern.ends_with(".py") || pattern.find_first_of("/*<") != std::string::npos)
        return {.is_ending = !pattern.starts_with('/'), .paths = {pattern}};
    std::string file = pattern;
    std::ranges::replace(file, '.', '/');
    return {.is_ending = true, .paths = {file + ".py", file + "/__init__.py"}};
}

bool is_python_file(const std::string& pattern, const std::string& path) {
    const PythonFilePattern meant = python_file_pattern(pattern);
    return meant.is_any || std::ranges::any_of(meant.paths, [&](const std::string& one) {
               return glob_match(one, path) || (meant.is_ending && glob_match("*/" + one, path));
           });
}

} // namespace sonde
