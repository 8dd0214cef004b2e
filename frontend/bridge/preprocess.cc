// Processes the text line by line, and overwrites finished lines with blanks. The result has the length of the
// original, so an offset in it is also the place in the user's script.
//
// Scripts of bpftrace test names because some machines have BTF and others only kernel headers:
//
//     #ifndef BPFTRACE_HAVE_BTF
//     #include <linux/sched.h>
//     #endif
//
// sonde always uses BTF, so BPFTRACE_HAVE_BTF is defined, and the example becomes three blank lines.
//
// A condition such as `#if VERSION > 5` cannot be evaluated. Its first branch remains, and so does the `#if` line
// itself. The reader turns that line into an aside, which the user sees as a gap.
#include "frontend/bridge/preprocess.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

namespace sonde::bridge {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_word(char c) { return c == '_' || isalnum(static_cast<unsigned char>(c)) != 0; }

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back()))
        text.remove_suffix(1);
    return text;
}

// Removes the first word from the text and returns it.
std::string_view take_word(std::string_view& text) {
    text = trimmed(text);
    const auto end = std::ranges::find_if_not(text, is_word);
    const std::string_view word = text.substr(0, static_cast<size_t>(end - text.begin()));
    text.remove_prefix(word.size());
    return word;
}

class Preprocessor {
  public:
    explicit Preprocessor(std::string_view text) { out_.text = std::string(text); }

    Preprocessed run() {
        for (size_t begin = 0; begin < out_.text.size();) {
            size_t end = std::min(out_.text.find('\n', begin), out_.text.size());
            const std::string_view line = std::string_view(out_.text).substr(begin, end - begin);
            const bool is_directive =
                !in_comment_ && trimmed(line).starts_with('#') && !trimmed(line).starts_with("#!");
            while (is_directive && end < out_.text.size() && out_.text[end - 1] == '\\')
                end = std::min(out_.text.find('\n', end + 1), out_.text.size());
            const std::string whole = out_.text.substr(begin, end - begin);
            const bool done = is_directive ? take_directive(trimmed(whole).substr(1)) : !is_active();
            if (!is_directive)
                note_comments(whole);
            if (done)
                std::replace_if(
                    out_.text.begin() + static_cast<std::ptrdiff_t>(begin),
                    out_.text.begin() + static_cast<std::ptrdiff_t>(end), [](char c) { return c != '\n'; }, ' ');
            begin = end + 1;
        }
        return std::move(out_);
    }

  private:
    struct Branch {
        bool taken = false; // some branch of the condition has been taken
        bool active = false;
    };

    bool is_active() const { return std::ranges::all_of(branches_, &Branch::active); }
    bool is_defined(std::string_view name) const {
        return name == "BPFTRACE_HAVE_BTF" || out_.values.contains(std::string(name));
    }
    // Notes whether a `/* */` comment continues on the next line. A `#` inside of such a comment does not begin a
    // directive.
    void note_comments(std::string_view line) {
        for (size_t i = 0; i + 1 < line.size(); i++) {
            const std::string_view two = line.substr(i, 2);
            if (!in_comment_ && two == "//")
                return;
            if (two == (in_comment_ ? "*/" : "/*"))
                in_comment_ = !in_comment_, i++;
        }
    }

    // 0, 1, defined(X), !defined X
    std::optional<bool> evaluate(std::string_view text) const {
        text = trimmed(text);
        if (text == "0" || text == "1")
            return text == "1";
        const bool negated = text.starts_with('!');
        text.remove_prefix(negated ? 1 : 0);
        if (take_word(text) != "defined")
            return {};
        std::string name(trimmed(text));
        std::erase_if(name, [](char c) { return c == '(' || c == ')' || is_blank(c); });
        return std::ranges::all_of(name, is_word) ? std::optional(is_defined(name) != negated) : std::nullopt;
    }

    // Processes a directive. Returns whether nothing of the line remains.
    bool take_directive(std::string_view text) {
        const std::string_view what = take_word(text);
        if (what == "ifdef" || what == "ifndef" || what == "if") {
            std::string_view name = text;
            const std::optional<bool> decided =
                what == "if" ? evaluate(text) : std::optional(is_defined(take_word(name)) == (what == "ifdef"));
            const bool outside = is_active();
            branches_.push_back({decided.value_or(true), decided.value_or(true)});
            return decided.has_value() || !outside;
        }
        if ((what == "else" || what == "elif") && !branches_.empty()) {
            Branch& branch = branches_.back();
            const bool wanted = what == "else" || evaluate(text).value_or(true);
            branch.active = !branch.taken && wanted;
            branch.taken |= branch.active;
            return true;
        }
        if (what == "endif" && !branches_.empty())
            return branches_.pop_back(), true;
        if (!is_active())
            return true;
        if (what == "undef")
            return out_.values.erase(std::string(take_word(text))), true;
        if (what != "define")
            return false;
        const std::string name(take_word(text));
        if (name.empty() || text.starts_with('('))
            return false; // a macro with parameters
        text = text.substr(0, std::min(text.find("//"), text.find("/*")));
        std::string value(trimmed(text));
        for (size_t at = 0; (at = value.find("\\\n", at)) != std::string::npos;) // the line continues
            value.replace(at, 2, " ");
        out_.values[name] = std::move(value);
        return true;
    }

    Preprocessed out_;
    std::vector<Branch> branches_;
    bool in_comment_ = false;
};

} // namespace

Preprocessed preprocess(std::string_view text) { return Preprocessor(text).run(); }

} // namespace sonde::bridge
