// Checks the script's C before clang reads it.
//
// The text is read like in the first phases of the preprocessor (C11 5.1.1.2): continued lines are joined, a comment is
// a blank, and a line that begins with `#` is a directive. Directives are checked here because they would also affect
// sonde's own C around the script's text. For example, a macro could replace a keyword, and `#line` would move all
// messages.
//
// Braces are counted because a function's body is placed between two braces of sonde's. A missing brace would be
// reported at a line that does not exist in the script.
#include "codegen/c/text.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "codegen/c/prelude.h"

namespace sonde {
namespace {

constexpr std::string_view own_prefix = "sonde_";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Reader {
  public:
    Reader(const hir::CText& code, Diagnostics& diags) : code_(code), diags_(diags), text_(code.text) {}

    std::string run() {
        bool at_line_begin = true;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (skip_continuation() || skip_comment())
                continue;
            if (c == '\n') {
                at_line_begin = true;
                at_++;
            } else if (c == '"' || c == '\'') {
                at_line_begin = false;
                skip_literal(c);
            } else if (at_line_begin && (c == '#' || text_.compare(at_, 2, "%:") == 0)) {
                read_directive();
            } else if (is_word(c)) {
                at_line_begin = false;
                const size_t begin = at_;
                const std::string word = take_word();
                check_name(word, begin);
                if (word == "sizeof")
                    measure_string(begin);
            } else {
                at_line_begin = at_line_begin && std::isspace(static_cast<unsigned char>(c));
                count_brace(c);
                at_++;
            }
        }
        if (!has_conditions_ && !open_.empty())
            report(open_.back(), open_.back() + 1, "this `{` has no `}`");
        return std::move(text_);
    }

  private:
    DiagBuilder report(size_t begin, size_t end, const std::string& message) {
        const uint32_t first = code_.range.begin + 2;
        return diags_.report(
            DiagId::EmbeddedCode,
            {code_.range.file, first + static_cast<uint32_t>(begin), first + static_cast<uint32_t>(end)}, message);
    }

    // clang also accepts a backslash followed by blanks at the end of a line.
    bool skip_continuation() {
        if (text_[at_] != '\\')
            return false;
        const size_t end = std::min(text_.find_first_not_of(" \t\r\v\f", at_ + 1), text_.size());
        if (end < text_.size() && text_[end] != '\n')
            return false;
        at_ = std::min(end + 1, text_.size());
        return true;
    }
    bool skip_comment() {
        if (text_.compare(at_, 2, "/*") == 0) {
            const size_t end = text_.find("*/", at_ + 2);
            if (end == std::string::npos)
                report(at_, at_ + 2, "this comment has no `*/`");
            at_ = end == std::string::npos ? text_.size() : end + 2;
            return true;
        }
        if (text_.compare(at_, 2, "//") != 0)
            return false;
        while (at_ < text_.size() && text_[at_] != '\n')
            if (!skip_continuation())
                at_++;
        return true;
    }
    void skip_literal(char quote) {
        for (at_++; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n';)
            if (!skip_continuation())
                at_ = std::min(at_ + (text_[at_] == '\\' ? 2 : 1), text_.size());
        if (at_ < text_.size() && text_[at_] == quote)
            at_++;
    }
    std::string take_word() {
        std::string out;
        while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '\\')) {
            if (skip_continuation())
                continue;
            if (text_[at_] == '\\')
                break;
            out += text_[at_++];
        }
        return out;
    }
    void skip_blanks() {
        while (at_ < text_.size() && text_[at_] != '\n')
            if (!skip_continuation() && !skip_comment()) {
                if (!std::isspace(static_cast<unsigned char>(text_[at_])))
                    break;
                at_++;
            }
    }

    // Whether this is a name like `<linux/sched.h>`, not a path in the file system.
    static bool is_header(std::string_view name) {
        return name.starts_with('<') && !name.starts_with("</") && name.find("..") == std::string_view::npos;
    }

    void read_directive() {
        const size_t begin = at_;
        at_ += text_[at_] == '#' ? 1 : 2;
        skip_blanks();
        const std::string directive = take_word();
        skip_blanks();
        const size_t line_end = std::min(text_.find('\n', begin), text_.size());
        if (directive == "include" && at_ < line_end && text_[line_end - 1] != '\\' &&
            is_header(std::string_view(text_).substr(at_, line_end - at_))) {
            std::fill(text_.begin() + static_cast<ptrdiff_t>(begin), text_.begin() + static_cast<ptrdiff_t>(line_end),
                      ' ');
            at_ = line_end;
            return;
        }
        if (directive == "include" || directive == "include_next" || directive == "import" || directive == "embed") {
            report(begin, line_end, "C in a script cannot include other files")
                .help("remove the `#include`: the kernel's types are always available");
        } else if (directive == "line" ||
                   (!directive.empty() && std::isdigit(static_cast<unsigned char>(directive[0])))) {
            report(begin, line_end, "C in a script cannot change its line numbers").help("remove this line");
        } else if (directive == "define" || directive == "undef") {
            const size_t name = at_;
            const std::string word = take_word();
            if (is_c_keyword(word))
                report(name, at_, fmt::format("`{}` is a keyword of C, which cannot be a macro", word))
                    .help("use another name");
            else
                check_name(word, name);
        } else if (directive.starts_with("if")) {
            has_conditions_ = true;
        }
        // Names in the rest of the directive are read as usual. Braces in a macro are not counted.
        while (at_ < text_.size() && text_[at_] != '\n') {
            if (skip_continuation() || skip_comment())
                continue;
            if (text_[at_] == '"' || text_[at_] == '\'')
                skip_literal(text_[at_]);
            else if (const size_t word = at_; is_word(text_[at_]))
                check_name(take_word(), word);
            else
                at_++;
        }
    }

    void check_name(const std::string& word, size_t begin) {
        if (word.starts_with(own_prefix))
            report(begin, at_, fmt::format("names that begin with `{}` are reserved for sonde's own C", own_prefix))
                .help("use another name");
    }

    // `sizeof(STAP_RETVALUE)`, `sizeof(STAP_ARG_x)`, `sizeof(THIS->x)`: a string is a pointer here, but the script
    // means its size. Replaces `sizeof` by a name of the prelude with the same number of characters.
    void measure_string(size_t begin) {
        size_t at = at_;
        auto skip = [&] {
            while (at < text_.size() && std::isspace(static_cast<unsigned char>(text_[at])))
                at++;
        };
        skip();
        if (at == text_.size() || text_[at] != '(')
            return;
        at++;
        skip();
        const size_t name = at;
        while (at < text_.size() && (is_word(text_[at]) || text_.compare(at, 2, "->") == 0))
            at += is_word(text_[at]) ? 1 : 2;
        const std::string_view measured = std::string_view(text_).substr(name, at - name);
        skip();
        if (at < text_.size() && text_[at] == ')' &&
            (measured == "STAP_RETVALUE" || measured.starts_with("STAP_ARG_") || measured.starts_with("THIS->")))
            text_.replace(begin, c_size_of_string.size(), c_size_of_string);
    }

    void count_brace(char c) {
        if (c == '{')
            open_.push_back(at_);
        if (c != '}' || has_conditions_)
            return;
        if (open_.empty())
            report(at_, at_ + 1, "this `}` has no `{`");
        else
            open_.pop_back();
    }

    const hir::CText& code_;
    Diagnostics& diags_;
    std::string text_;
    size_t at_ = 0;
    std::vector<size_t> open_; // positions of open braces
    bool has_conditions_ = false;
};

} // namespace

bool is_c_keyword(std::string_view word) {
    // C11 6.4.1, GNU extensions, and members of THIS.
    static constexpr std::string_view words[] = {"auto",
                                                 "break",
                                                 "case",
                                                 "char",
                                                 "const",
                                                 "continue",
                                                 "default",
                                                 "do",
                                                 "double",
                                                 "else",
                                                 "enum",
                                                 "extern",
                                                 "float",
                                                 "for",
                                                 "goto",
                                                 "if",
                                                 "inline",
                                                 "int",
                                                 "long",
                                                 "register",
                                                 "restrict",
                                                 "return",
                                                 "short",
                                                 "signed",
                                                 "sizeof",
                                                 "static",
                                                 "struct",
                                                 "switch",
                                                 "typedef",
                                                 "union",
                                                 "unsigned",
                                                 "void",
                                                 "volatile",
                                                 "while",
                                                 "_Alignas",
                                                 "_Alignof",
                                                 "_Atomic",
                                                 "_BitInt",
                                                 "_Bool",
                                                 "_Complex",
                                                 "_Float16",
                                                 "_Generic",
                                                 "_Imaginary",
                                                 "_Noreturn",
                                                 "_Static_assert",
                                                 "_Thread_local",
                                                 "asm",
                                                 "typeof",
                                                 "defined",
                                                 "__asm",
                                                 "__asm__",
                                                 "__attribute",
                                                 "__attribute__",
                                                 "__alignof",
                                                 "__alignof__",
                                                 "__auto_type",
                                                 "__complex__",
                                                 "__const",
                                                 "__const__",
                                                 "__extension__",
                                                 "__float128",
                                                 "__func__",
                                                 "__FUNCTION__",
                                                 "__imag__",
                                                 "__inline",
                                                 "__inline__",
                                                 "__int128",
                                                 "__label__",
                                                 "__real__",
                                                 "__restrict",
                                                 "__restrict__",
                                                 "__signed",
                                                 "__signed__",
                                                 "__thread",
                                                 "__typeof",
                                                 "__typeof__",
                                                 "__volatile",
                                                 "__volatile__",
                                                 "__builtin_offsetof",
                                                 "_Pragma",
                                                 "__VA_ARGS__",
                                                 "__PRETTY_FUNCTION__",
                                                 "__status",
                                                 "__retvalue"};
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::string prepare_c_text(const hir::CText& code, Diagnostics& diags) { return Reader(code, diags).run(); }

} // namespace sonde
